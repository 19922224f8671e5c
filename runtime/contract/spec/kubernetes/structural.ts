import { z } from "zod";
import { type CelRule, celRules } from "../rules.ts";

/** A structural schema as a CustomResourceDefinition holds it (OpenAPI v3, each value with one type). */
export interface Structural {
  type?: string;
  description?: string;
  default?: unknown;
  nullable?: boolean;
  enum?: readonly unknown[];
  properties?: Record<string, Structural>;
  required?: readonly string[];
  items?: Structural;
  additionalProperties?: Structural;
  oneOf?: readonly Structural[];
  minItems?: number;
  maxItems?: number;
  minLength?: number;
  maxLength?: number;
  maxProperties?: number;
  minimum?: number;
  maximum?: number;
  format?: string;
  pattern?: string;
  "x-kubernetes-validations"?: CelRule[];
}

/**
 * The structural schema of what a zod schema accepts as input: its limits, defaults and descriptions, and its rules
 * between fields as CEL. Errors: throws for a shape that no structural schema can say (a union without a discriminator),
 * and for a refinement that no rule says again.
 */
export function structuralSchema(schema: z.ZodType): Structural {
  const unruled = new Set<z.core.$ZodType>();
  /** What a chain of refinements made on its way: only its end is a schema of its own, and has the rules. */
  const steps = new Set<z.core.$ZodType>();
  const json = z.toJSONSchema(schema, {
    io: "input",
    target: "openapi-3.0",
    reused: "inline",
    override: ({ zodSchema, jsonSchema }) => {
      const { rules, maxProperties } = celRules.get(zodSchema) ?? {};
      if (rules === undefined && needsRule(zodSchema)) unruled.add(zodSchema);
      if (zodSchema._zod.parent !== undefined) steps.add(zodSchema._zod.parent);
      if (rules !== undefined) (jsonSchema as Structural)["x-kubernetes-validations"] = [...rules];
      if (maxProperties !== undefined) (jsonSchema as Structural).maxProperties = maxProperties;
    },
  });
  for (const one of unruled.difference(steps)) {
    throw new Error(
      `a refinement or a limit on a map's names needs a rule in celRules: ${JSON.stringify(z.toJSONSchema(one, { io: "input" }))}`,
    );
  }
  return structural(json as Structural & { additionalProperties?: false });
}

/** What a structural schema can say; a schema that says more would be refused by the API server, or checked by half. */
const SAYABLE = new Set(
  (
    "type description default nullable enum properties required items additionalProperties oneOf format pattern minItems maxItems " +
    "minLength maxLength minProperties maxProperties minimum maximum exclusiveMinimum exclusiveMaximum multipleOf x-kubernetes-validations"
  ).split(" "),
);

type Json = Omit<Structural, "additionalProperties"> & { additionalProperties?: Structural | boolean };

/** Whether a schema checks what no schema language says: by a refinement, or the names of a map. */
function needsRule(schema: z.core.$ZodTypes): boolean {
  const { def } = schema._zod;
  if (def.checks?.some((one) => one._zod.def.check === "custom")) return true;
  if (def.type !== "record") return false;
  const names = z.toJSONSchema(def.keyType as z.core.$ZodType);
  return Object.keys(names).some((word) => !["$schema", "type", "description"].includes(word));
}

function structural(json: Json): Structural {
  const unsayable = Object.keys(json).filter((word) => !SAYABLE.has(word));
  if (unsayable.length > 0)
    throw new Error(`a structural schema has no ${unsayable.join(", ")}: ${JSON.stringify(json)}`);
  const { additionalProperties, oneOf, properties, items, default: byDefault, ...rest } = json;
  if (json.type === undefined && oneOf === undefined) throw new Error(`one type is needed: ${JSON.stringify(json)}`);
  const schema: Structural = { ...rest };
  if (oneOf !== undefined) Object.assign(schema, mergedUnion(oneOf.map(structural), schema));
  if (properties !== undefined) {
    schema.properties = Object.fromEntries(Object.entries(properties).map(([name, one]) => [name, structural(one)]));
  }
  if (items !== undefined) schema.items = structural(items);
  if (typeof additionalProperties === "object") schema.additionalProperties = structural(additionalProperties);
  // A default of null is what a missing value means already; one that its own limits refuse stands for "not given".
  const given = byDefault !== undefined && byDefault !== null && !(byDefault === "" && (json.minLength ?? 0) > 0);
  if (given) schema.default = filledIn(byDefault, schema);
  if (json.type === "integer") {
    schema.format = "int64";
    if (json.minimum === Number.MIN_SAFE_INTEGER) delete schema.minimum;
    if (json.maximum === Number.MAX_SAFE_INTEGER) delete schema.maximum;
  }
  if (json.type === "number" && json.minimum !== undefined && !Number.isInteger(json.minimum)) {
    // The server compares a whole number with the whole part of the limit: 0 would pass a minimum of 0.1.
    const least = { rule: `self >= ${json.minimum}`, message: `must be at least ${json.minimum}` };
    schema["x-kubernetes-validations"] = [...(json["x-kubernetes-validations"] ?? []), least];
  }
  return schema;
}

/** A default with the defaults of what it leaves out: an API server checks it by the rules before it fills anything in. */
function filledIn(byDefault: unknown, schema: Structural): unknown {
  if (schema.properties === undefined || typeof byDefault !== "object" || byDefault === null) return byDefault;
  const inside = Object.entries(schema.properties).flatMap(([name, one]) =>
    one.default === undefined ? [] : [[name, one.default] as const],
  );
  return { ...Object.fromEntries(inside), ...byDefault };
}

/**
 * One object for a union told apart by the first property whose values differ: all variants' fields, and a rule for each
 * variant on what it needs and what is not its own. Fields lose their defaults: a default would stand in every variant.
 */
function mergedUnion(variants: readonly Structural[], union: Structural): Structural {
  const tag = Object.keys(variants[0]?.properties ?? {}).find((name) =>
    variants.every((variant) => variant.properties?.[name]?.enum?.length === 1),
  );
  if (tag === undefined) throw new Error(`a union needs a discriminator: ${JSON.stringify(union)}`);
  const kindOf = (variant: Structural): unknown => variant.properties?.[tag]?.enum?.[0];
  const fields: Record<string, Structural> = {};
  const rules: CelRule[] = [...(union["x-kubernetes-validations"] ?? [])];
  for (const variant of variants) {
    const kind = kindOf(variant);
    for (const [name, { default: _, ...field }] of Object.entries(variant.properties ?? {})) {
      if (name === tag) continue;
      if (fields[name] !== undefined) throw new Error(`the union's ${name} stands in two variants`);
      fields[name] = field;
      rules.push({
        rule: `self.${tag} == '${kind}' || !has(self.${name})`,
        message: `${name} goes with ${tag}: ${kind} only`,
      });
      if (variant.required?.includes(name)) {
        rules.push({ rule: `self.${tag} != '${kind}' || has(self.${name})`, message: `${tag}: ${kind} needs ${name}` });
      }
    }
  }
  return {
    type: "object",
    properties: { [tag]: { type: "string", enum: variants.map(kindOf) }, ...fields },
    required: [tag],
    "x-kubernetes-validations": rules,
  };
}
