import { getLlama, LlamaLogLevel, resolveChatWrapper, specializedChatWrapperTypeNames } from "node-llama-cpp";
import { expect, test } from "vitest";
import { formsOfTemplate, resolveChatForm } from "./chat-form.ts";
import { findTestModel, HOW_TO_GET_TEST_MODEL } from "./test-model.ts";

const path = findTestModel();

test("a template's marks name forms that the library has; a template without marks names none", () => {
  const all = "<|im_start|> <|start_header_id|> [INST] <start_of_turn> <|turn> <|channel|> <seed:bos>";
  expect(specializedChatWrapperTypeNames).toEqual(expect.arrayContaining(formsOfTemplate(all).split(" ")));
  expect(formsOfTemplate("{{ '<|im_start|>' + message['role'] }}")).toBe("chatML qwen");
  expect(formsOfTemplate("{{ message }}")).toBe("");
});

test.skipIf(path === null)(
  `the form is the one the library finds when it tries all (${path === null ? HOW_TO_GET_TEST_MODEL : "SmolLM2-135M"})`,
  async () => {
    const llama = await getLlama({ gpu: false, build: "never", logLevel: LlamaLogLevel.error, maxThreads: 1 });
    const model = await llama.loadModel({ modelPath: path!, gpuLayers: 0 });
    const form = resolveChatForm(model, llama);
    expect(form.wrapperName).toBe("ChatML");
    expect(form.wrapperName).toBe(resolveChatWrapper(model).wrapperName);
    await llama.dispose();
  },
);
