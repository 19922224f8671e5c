import fc from "fast-check";
import { expect, test } from "vitest";
import { hrefOf, parseRoute, type Route } from "./route.ts";

const text = fc.string({ unit: "binary", maxLength: 20 });
const route: fc.Arbitrary<Route> = fc.oneof(
  fc.constantFrom<Route>({ page: "endpoints" }, { page: "region" }),
  fc.record({ page: fc.constant("endpoint" as const), name: text.filter((name) => name !== "") }),
  fc.record({ page: fc.constant("logs" as const), source: text }),
  fc.record({
    page: fc.constant("decisions" as const),
    controller: text,
    key: text,
    id: fc.option(fc.nat(), { nil: null }),
  }),
);

test("an address is its route again", () => {
  fc.assert(
    fc.property(route, (one) => {
      expect(parseRoute(hrefOf(one))).toEqual(one);
    }),
  );
});

test.each(["", "#", "#/", "#/nowhere", "#/endpoints/"])("%j is the list of endpoints", (fragment) => {
  expect(parseRoute(fragment)).toEqual({ page: "endpoints" });
});

test("an address that somebody mangled still opens a page", () => {
  expect(parseRoute("#/endpoints/%E0%A4%A")).toEqual({ page: "endpoint", name: "%E0%A4%A" });
  expect(parseRoute("#/decisions?id=-1")).toEqual({ page: "decisions", controller: "", key: "", id: null });
});
