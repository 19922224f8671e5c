import fc from "fast-check";
import { expect, test } from "vitest";
import { z } from "zod";
import { celRules } from "../rules.ts";
import { settings } from "../settings.ts";
import { structuralSchema } from "./structural.ts";

test("limits, defaults and descriptions are those of the schema; a null default is left out, for that is what missing means", () => {
  const schema = settings({
    count: z.int().min(1).max(9).default(3).describe("How many"),
    limit: z.int().min(1).nullable().default(null),
    model: z.string().min(1).default(""),
  });
  expect(structuralSchema(schema)).toEqual({
    type: "object",
    properties: {
      count: { type: "integer", format: "int64", minimum: 1, maximum: 9, default: 3, description: "How many" },
      limit: { type: "integer", format: "int64", minimum: 1, nullable: true },
      model: { type: "string", minLength: 1 },
    },
  });
});

test("a rule between fields stands where its schema does, also under a default", () => {
  const rules = [{ rule: "self.min <= self.max", message: "min must not be above max" }];
  const range = settings({ min: z.int().default(0), max: z.int().default(1) }).register(celRules, { rules });
  const schema = structuralSchema(settings({ range: range.prefault({}) }));
  expect(schema.properties?.range).toMatchObject({ default: {}, "x-kubernetes-validations": rules });
});

test("a union becomes one object: a field belongs to its variant, a needed one is asked for, none has a default", () => {
  const union = z.discriminatedUnion("kind", [
    settings({ kind: z.literal("latest"), canary: z.int().min(1).default(100) }),
    settings({ kind: z.literal("split"), parts: z.array(z.string()) }),
  ]);
  expect(structuralSchema(union)).toEqual({
    type: "object",
    required: ["kind"],
    properties: {
      kind: { type: "string", enum: ["latest", "split"] },
      canary: { type: "integer", format: "int64", minimum: 1 },
      parts: { type: "array", items: { type: "string" } },
    },
    "x-kubernetes-validations": [
      { rule: "self.kind == 'latest' || !has(self.canary)", message: "canary goes with kind: latest only" },
      { rule: "self.kind == 'split' || !has(self.parts)", message: "parts goes with kind: split only" },
      { rule: "self.kind != 'split' || has(self.parts)", message: "kind: split needs parts" },
    ],
  });
});

test("a union that nothing tells apart is refused: a structural schema has one type for each value", () => {
  expect(() => structuralSchema(z.union([z.object({ a: z.int() }), z.object({ b: z.int() })]))).toThrow();
});

test.each<[string, z.ZodType]>([
  ["a tuple", settings({ pair: z.tuple([z.int(), z.string()]) })],
  ["a refinement that no rule says again", settings({ even: z.int().refine((one) => one % 2 === 0) })],
  ["a map whose names are limited by no rule", settings({ env: z.record(z.string().regex(/^[A-Z]+$/), z.string()) })],
  ["anything at all", settings({ any: z.unknown() })],
])("%s is refused when the schema is made, not by the API server or by nobody", (_what, schema) => {
  expect(() => structuralSchema(schema)).toThrow();
});

test("no value of a structural schema has two types, whatever the schema is made of", () => {
  const leaf = fc.constantFrom<z.ZodType>(z.int(), z.string().nullable().default(null), z.boolean(), z.number().max(1));
  const tree: fc.Arbitrary<z.ZodType> = fc.letrec<{ node: z.ZodType }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4 },
      leaf,
      fc.dictionary(fc.constantFrom("a", "b", "c"), tie("node")).map((shape) => settings(shape)),
      tie("node").map((item) => z.array(item)),
      tie("node").map((value) => z.record(z.string(), value)),
    ),
  })).node;
  const check = (schema: ReturnType<typeof structuralSchema>): void => {
    expect(["object", "array", "string", "integer", "number", "boolean"]).toContain(schema.type);
    for (const key of ["anyOf", "oneOf", "allOf", "$ref"]) expect(schema).not.toHaveProperty(key);
    for (const below of Object.values(schema.properties ?? {})) check(below);
    if (schema.items !== undefined) check(schema.items);
    if (schema.additionalProperties !== undefined) check(schema.additionalProperties);
  };
  fc.assert(fc.property(tree, (schema) => check(structuralSchema(schema))));
});
