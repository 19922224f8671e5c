import { z } from "zod";
import { settings } from "../settings.ts";

const condition = settings({
  type: z.string().min(1).max(316),
  status: z.enum(["True", "False", "Unknown"]),
  observedGeneration: z.int().min(0).optional(),
  lastTransitionTime: z.string().describe("RFC 3339"),
  reason: z.string().min(1).max(1024).describe("One word, for programs"),
  message: z.string().max(32_768).describe("A sentence, for people: with the numbers that decided"),
});

/** What every status holds: how far the controllers have seen the spec, and what they say of it. */
export const observed = {
  observedGeneration: z.int().min(0).optional().describe("The generation of the spec that this status answers"),
  leaderEpoch: z
    .int()
    .min(0)
    .optional()
    .describe("The epoch of the leader that wrote this status: an older leader's write is refused"),
  conditions: z.array(condition).max(32).optional(),
} as const;
