import { existsSync, readdirSync } from "node:fs";
import { homedir } from "node:os";
import { join } from "node:path";

const FILE = "SmolLM2-135M-Instruct.Q4_1.gguf";

/** The small language model of the tests in the model cache, or null where it has not been fetched. */
export function findTestModel(): string | null {
  const cache = join(homedir(), ".cache", "penstock", "models");
  if (!existsSync(cache)) return null;
  const paths = readdirSync(cache).map((digest) => join(cache, digest, FILE));
  return paths.find((path) => existsSync(path)) ?? null;
}

/** Said by a test that is skipped for want of the model. */
export const HOW_TO_GET_TEST_MODEL = `${FILE} is not in the model cache; \`npm start\` fetches it once`;
