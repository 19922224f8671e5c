import { expect, test } from "vitest";
import { FakeClock } from "../../../test/support/fake-clock.ts";
import { preparedOf, specOf } from "../../../test/support/specs.ts";
import { Board } from "../../driver/board.ts";
import { publisher } from "./controller.ts";

test.each([
  ["there is nothing at ./x.onnx", "there is nothing at ./x.onnx. Check the path."],
  ["the resolver says:\n  no such version.", "the resolver says:\n  no such version. Check the path."],
])("why a model can't be prepared and what to do are two sentences (%s)", (why, problem) => {
  const board = new Board(new FakeClock());
  const spec = specOf("iris");
  board.writer("spec").set("iris", spec);
  const state = { kind: "failed", code: "PENSTOCK_NO_MODEL", why, todo: "Check the path." } as const;
  board.writer("prepared").set("iris", { ...preparedOf(spec), state });
  expect(publisher.observe(board, "iris").endpoint).toMatchObject({ prepareProblem: problem });
});
