import { z } from "zod";
import { settings } from "../settings.ts";
import { observed } from "./condition.ts";

const coefficient = z.number().min(0);

/** What the work of a model costs on an accelerator, in units of 1,000 uncached input tokens; fitted by `penstock bench`. */
export const modelProfileSpec = settings({
  model: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .describe("Digest of the artifact"),
  accelerator: z.string().min(1).max(63).describe("Kind of accelerator, as the pools name it"),
  perRequest: coefficient.describe("g: cost of a request by itself"),
  perInputToken: coefficient.describe("a: cost of an uncached input token"),
  perOutputToken: coefficient.describe("b: cost of an output token"),
  cachedDiscountRatio: coefficient.max(1).describe("d: share of an input token's cost that the prefix cache saves"),
  perImage: coefficient.default(0).describe("m: cost of an image"),
  shapes: z
    .array(
      settings({
        inputTokens: z.int().min(1).describe("Mean input of this mix"),
        outputTokens: z.int().min(1).describe("Mean output of this mix"),
        muPerMinute: z.number().positive().describe("What one replica does within the objective"),
        muInFlightMax: z.number().positive().describe("What one replica may hold at once"),
      }),
    )
    .min(1)
    .max(64),
});

/** What is known of a profile's fit. */
export const modelProfileStatus = settings({
  ...observed,
  relativeError: z.number().min(0).optional().describe("Mean error of the fit, over the cost"),
});
