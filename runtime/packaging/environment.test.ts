import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { choosePython } from "./choose-python.ts";
import { readEnvironmentRequest } from "./environment-request.ts";

describe("which Python", () => {
  const installed = ["3.10.13", "3.11.2", "3.11.7", "3.12.1", "3.14.1"].map((version) => ({ path: version, version }));

  test.each<readonly [wanted: string | null, expected: string | null, why: string]>([
    ["3.11.2", "3.11.2", "the very version"],
    ["3.11.9", "3.11.7", "else the newest patch of its minor"],
    ["3.12", "3.12.1", "a minor alone takes its newest patch"],
    ["3.9.1", null, "another minor never stands in"],
    [null, "3.12.1", "none asked: the newest that has wheels of MLflow"],
  ])("%s gives %s: %s", (wanted, expected, _why) => {
    expect(choosePython(installed, wanted)?.version ?? null).toBe(expected);
  });
});

describe("what a model asks for", () => {
  let folder: string;

  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), "penstock-env-"));
  });

  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const put = (name: string, text: string): void => writeFileSync(join(folder, name), text);

  test("python_env.yaml with the requirements it points at, comments left out", async () => {
    put("python_env.yaml", "python: 3.11.7\ndependencies:\n- -r requirements.txt\n");
    put("requirements.txt", "# pinned\nmlflow==3.17.2\nnumpy==2.4.6\n");
    expect(await readEnvironmentRequest(folder)).toEqual({
      pythonVersion: "3.11.7",
      requirements: ["mlflow==3.17.2", "numpy==2.4.6", "fastapi", "uvicorn"],
    });
  });

  test("conda.yaml where there is nothing newer, with the MLflow that saved the model", async () => {
    put("conda.yaml", "dependencies:\n- python=3.10.13\n- pip\n- pip:\n  - scikit-learn==1.5\n");
    put("MLmodel", "mlflow_version: 2.9.0\n");
    expect(await readEnvironmentRequest(folder)).toEqual({
      pythonVersion: "3.10.13",
      requirements: ["scikit-learn==1.5", "mlflow==2.9.0", "fastapi", "uvicorn"],
    });
  });

  test("a version that YAML would read as a number stays text", async () => {
    put("python_env.yaml", "python: 3.12\ndependencies: [mlflow]\n");
    expect((await readEnvironmentRequest(folder)).pythonVersion).toBe("3.12");
  });

  test("no file at all is an error that names the files", async () => {
    await expect(readEnvironmentRequest(folder)).rejects.toMatchObject({
      code: "PENSTOCK_NO_REQUIREMENTS",
      message: expect.stringContaining("python_env.yaml, requirements.txt or conda.yaml"),
    });
  });
});
