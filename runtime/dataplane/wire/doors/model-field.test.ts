import fc from "fast-check";
import { expect, test } from "vitest";
import { findModel } from "./model-field.ts";

const find = (text: string) => findModel(Buffer.from(text, "utf8"));

test.each([
  ['{"model":"iris"}', "iris"],
  [' {\n "messages" : [{"content":"a \\" } ] model"}], "model" : "iris" , "x":1}', "iris"],
  ['{"nested":{"model":"no"},"model":"yes"}', "yes"],
  ['{"a":[1,[2,{"model":"no"}]],"b":null,"c":-1.5e3,"model":"yes"', "yes"],
  ['{"model":"\\u0069ris"}', "iris"],
  ['{"a":"ends with a backslash \\\\","model":"yes"}', "yes"],
])("finds the top-level model in %s", (text, model) => {
  expect(find(text)).toEqual({ kind: "found", model });
});

test.each([
  ["[]", "malformed"],
  ["hello", "malformed"],
  ['{"model":5}', "malformed"],
  ['{"model":{"x":1}}', "malformed"],
  ['{"model":"\\x"}', "malformed"],
  ["{model:1}", "malformed"],
  ['{"a" 1}', "malformed"],
  ["{}", "absent"],
  ['{"a":{"model":"x"}}', "absent"],
  ["", "more"],
  ['{"model":"ir', "more"],
  ['{"a":[1,2', "more"],
])("says of %s that it is %s", (text, kind) => {
  expect(find(text).kind).toBe(kind);
});

test("agrees with JSON.parse on any object, and asks for more on any cut before the model's end", () => {
  const members = fc.dictionary(
    fc.string({ maxLength: 8 }).filter((key) => key !== "model"),
    fc.jsonValue(),
    { maxKeys: 5 },
  );
  fc.assert(
    fc.property(members, members, fc.string({ maxLength: 12 }), fc.nat(), (before, after, model, cut) => {
      const rest = (part: object) => JSON.stringify(part).slice(1, -1);
      const text = `{${[rest(before), `"model":${JSON.stringify(model)}`, rest(after)].filter((part) => part !== "").join(",")}}`;
      expect(find(text)).toEqual({ kind: "found", model: (JSON.parse(text) as { model: string }).model });
      const modelEnd = (rest(before) === "" ? 1 : rest(before).length + 2) + 8 + JSON.stringify(model).length;
      const head = text.slice(0, cut % modelEnd);
      // A cut in the middle of a surrogate pair would change bytes before it.
      if (!/[\ud800-\udbff]$/.test(head)) expect(find(head).kind).toBe("more");
    }),
    { numRuns: 1_000 },
  );
});
