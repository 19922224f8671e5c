import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { detectArtifact } from "./detect.ts";

let folder: string;

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), "penstock-detect-"));
});

afterEach(() => rmSync(folder, { recursive: true, force: true }));

function put(files: Readonly<Record<string, string>>): void {
  for (const [path, text] of Object.entries(files)) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), text);
  }
}

const PYFUNC = "flavors:\n  python_function:\n    loader_module: mlflow.sklearn\n";

describe("what an artifact is", () => {
  test("a folder with MLmodel is MLflow's, with all its files", async () => {
    put({ MLmodel: PYFUNC, "model.pkl": "x", "code/mine.py": "" });
    expect(await detectArtifact(folder, "auto")).toEqual({
      runtime: "mlflow",
      root: folder,
      files: ["MLmodel", "code/mine.py", "model.pkl"],
      entry: "",
    });
  });

  test("an .onnx file takes along its external data and nothing else", async () => {
    put({ "a.onnx": "x", "a.onnx.data": "x", "b.onnx": "x", "notes.txt": "x" });
    const detected = await detectArtifact(join(folder, "a.onnx"), "auto");
    expect(detected).toMatchObject({ runtime: "onnx", files: ["a.onnx", "a.onnx.data"], entry: "a.onnx" });
  });

  test("a folder with one .onnx is that model with the files around it", async () => {
    put({ "model.onnx": "x", "labels.json": "{}" });
    const detected = await detectArtifact(folder, "onnx");
    expect(detected).toMatchObject({ runtime: "onnx", files: ["labels.json", "model.onnx"], entry: "model.onnx" });
  });

  test("the shards of one GGUF are one model, opened at the first", async () => {
    const shards = ["m-00001-of-00002.gguf", "m-00002-of-00002.gguf"];
    put({ [shards[0]!]: "x", [shards[1]!]: "x" });
    const asFolder = await detectArtifact(folder, "auto");
    const asFile = await detectArtifact(join(folder, shards[0]!), "auto");
    expect(asFolder).toMatchObject({ runtime: "gguf", files: shards, entry: shards[0] });
    expect(asFile).toEqual(asFolder);
  });

  test("histories and caches of a folder do not count; links to files do", async () => {
    put({ MLmodel: PYFUNC, ".git/HEAD": "x", "code/__pycache__/a.pyc": "x" });
    symlinkSync(join(folder, "MLmodel"), join(folder, "linked"));
    symlinkSync(join(folder, "nowhere"), join(folder, "dangling"));
    expect((await detectArtifact(folder, "auto")).files).toEqual(["MLmodel", "linked"]);
  });

  test("anything is custom when the endpoint says so", async () => {
    put({ "agent.mjs": "", "lib/x.mjs": "" });
    const detected = await detectArtifact(folder, "custom");
    expect(detected).toMatchObject({ runtime: "custom", files: ["agent.mjs", "lib/x.mjs"], entry: "" });
  });
});

describe("what can't be served is an error with the way on", () => {
  test("nothing there", async () => {
    await expect(detectArtifact(join(folder, "no"), "auto")).rejects.toMatchObject({
      code: "PENSTOCK_MODEL_NOT_FOUND",
    });
  });

  test("a pipe or a device, which a reader would wait for or never see the end of", async () => {
    execFileSync("mkfifo", [join(folder, "pipe.onnx"), join(folder, "a.onnx.data")]);
    for (const path of [join(folder, "pipe.onnx"), "/dev/zero"]) {
      await expect(detectArtifact(path, "auto")).rejects.toMatchObject({
        code: "PENSTOCK_NOT_A_MODEL",
        message: `${path} is neither a file nor a folder`,
      });
    }
    put({ "a.onnx": "x" });
    expect((await detectArtifact(join(folder, "a.onnx"), "auto")).files).toEqual(["a.onnx"]);
  });

  test("a Hugging Face folder says which runtime it needs", async () => {
    put({ "config.json": "{}", "model.safetensors": "x" });
    await expect(detectArtifact(folder, "auto")).rejects.toMatchObject({
      code: "PENSTOCK_RUNTIME_NOT_HERE",
      message: expect.stringContaining("vllm"),
      todo: expect.stringContaining("GGUF"),
    });
  });

  test("two models in one folder are both named", async () => {
    put({ "a.onnx": "x", "b.gguf": "x" });
    await expect(detectArtifact(folder, "auto")).rejects.toMatchObject({
      code: "PENSTOCK_ARTIFACT_AMBIGUOUS",
      message: `${folder} holds 2 models: a.onnx, b.gguf`,
    });
  });

  test("a pickle names what was seen, what is allowed and how to save it instead", async () => {
    put({ "model.pkl": "x" });
    await expect(detectArtifact(folder, "auto")).rejects.toMatchObject({
      code: "PENSTOCK_NOT_A_MODEL",
      message: expect.stringMatching(/it holds model\.pkl\. Allowed is .*MLmodel.*\.onnx.*\.gguf.*run\.command/),
      todo: expect.stringContaining("mlflow.sklearn.save_model"),
    });
  });

  test("a folder around the model names the folder of the model", async () => {
    put({ "artifacts/model/MLmodel": PYFUNC });
    await expect(detectArtifact(folder, "auto")).rejects.toMatchObject({
      code: "PENSTOCK_MODEL_IN_SUBFOLDER",
      todo: `Name that folder: ${join(folder, "artifacts/model")}`,
    });
  });

  test("an MLflow model without the Python flavour", async () => {
    put({ MLmodel: "flavors:\n  mleap: {}\n" });
    await expect(detectArtifact(folder, "auto")).rejects.toMatchObject({
      code: "PENSTOCK_MLMODEL_NO_PYFUNC",
      message: expect.stringContaining("it has: mleap"),
    });
  });

  test("an MLmodel that is no YAML", async () => {
    put({ MLmodel: "flavors: [" });
    await expect(detectArtifact(folder, "auto")).rejects.toMatchObject({ code: "PENSTOCK_MLMODEL_BROKEN" });
  });

  test("a runtime that does not fit", async () => {
    put({ "a.onnx": "x" });
    await expect(detectArtifact(folder, "gguf")).rejects.toMatchObject({ code: "PENSTOCK_RUNTIME_MISMATCH" });
  });
});
