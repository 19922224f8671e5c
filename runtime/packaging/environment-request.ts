import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { parse } from "yaml";
import { UserError } from "../core/errors.ts";

/** The Python environment a model asks for, as its own files say. */
export interface EnvironmentRequest {
  /** `3.11.7`, or null where the model names none. */
  readonly pythonVersion: string | null;
  /** Lines of a requirements file. */
  readonly requirements: readonly string[];
}

/** What the scoring server needs beside the model's own requirements; MLflow 3 brings both, so they then change nothing. */
const SERVER_REQUIREMENTS = ["fastapi", "uvicorn"];

/**
 * Reads what an MLflow model asks for: python_env.yaml with requirements.txt, or else conda.yaml. Where MLflow itself
 * is not named, the version that saved the model is added. Errors: UserError where there is no such file or it can't be read.
 */
export async function readEnvironmentRequest(modelDir: string): Promise<EnvironmentRequest> {
  const asked = (await readPythonEnv(modelDir)) ?? (await readCondaEnv(modelDir)) ?? (await readPlain(modelDir));
  if (asked === null) {
    throw new UserError(
      "PENSTOCK_NO_REQUIREMENTS",
      `${modelDir} has no python_env.yaml, requirements.txt or conda.yaml: its environment can't be made`,
      "Save the model again with MLflow, which writes them.",
    );
  }
  const namesMlflow = asked.requirements.some((line) => /^mlflow(?:-skinny)?\b/i.test(line));
  const saved = namesMlflow ? [] : await readSavedWith(modelDir);
  return { ...asked, requirements: [...asked.requirements, ...saved, ...SERVER_REQUIREMENTS] };
}

async function readPythonEnv(modelDir: string): Promise<EnvironmentRequest | null> {
  const file = (await readYaml(join(modelDir, "python_env.yaml"))) as {
    python?: unknown;
    dependencies?: unknown;
  } | null;
  if (file === null) return null;
  const requirements: string[] = [];
  for (const line of textsOf(file.dependencies)) {
    const included = /^-r\s+(.+)$/.exec(line)?.[1];
    if (included === undefined) requirements.push(line);
    else requirements.push(...((await readLines(join(modelDir, included))) ?? []));
  }
  return { pythonVersion: file.python === undefined ? null : String(file.python), requirements };
}

async function readCondaEnv(modelDir: string): Promise<EnvironmentRequest | null> {
  const file = (await readYaml(join(modelDir, "conda.yaml"))) as { dependencies?: unknown } | null;
  if (file === null) return null;
  const entries = Array.isArray(file.dependencies) ? (file.dependencies as readonly unknown[]) : [];
  const python = textsOf(entries).find((line) => /^python\s*=/.test(line));
  const pip = entries.flatMap((entry) =>
    entry !== null && typeof entry === "object" ? textsOf((entry as { pip?: unknown }).pip) : [],
  );
  return { pythonVersion: python?.replace(/^python\s*=+\s*/, "") ?? null, requirements: pip };
}

async function readPlain(modelDir: string): Promise<EnvironmentRequest | null> {
  const lines = await readLines(join(modelDir, "requirements.txt"));
  return lines === null ? null : { pythonVersion: null, requirements: lines };
}

async function readSavedWith(modelDir: string): Promise<readonly string[]> {
  const file = (await readYaml(join(modelDir, "MLmodel"))) as { mlflow_version?: unknown } | null;
  return typeof file?.mlflow_version === "string" ? [`mlflow==${file.mlflow_version}`] : ["mlflow"];
}

async function readYaml(path: string): Promise<unknown> {
  const text = await readText(path);
  if (text === null) return null;
  try {
    return parse(text) as unknown;
  } catch (error) {
    const [firstLine] = (error as Error).message.split("\n");
    throw new UserError("PENSTOCK_MLMODEL_BROKEN", `${path} is not readable YAML: ${firstLine}`, "Correct the file.");
  }
}

async function readLines(path: string): Promise<readonly string[] | null> {
  const lines = (await readText(path))?.split("\n").map((line) => line.trim());
  return lines?.filter((line) => line !== "" && !line.startsWith("#")) ?? null;
}

async function readText(path: string): Promise<string | null> {
  try {
    return await readFile(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw error;
  }
}

function textsOf(value: unknown): readonly string[] {
  return Array.isArray(value) ? value.filter((item): item is string => typeof item === "string") : [];
}
