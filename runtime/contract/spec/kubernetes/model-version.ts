import { z } from "zod";
import { endpointName, runSettings, runtimeKind } from "../endpoint.ts";
import { celRules } from "../rules.ts";
import { settings } from "../settings.ts";
import { observed } from "./condition.ts";

/** The record of a version: what a rollback needs. Never changed once written. */
export const modelVersionSpec = settings({
  endpoint: endpointName.describe("The endpoint it is a version of"),
  runtime: runtimeKind.exclude(["auto"]).describe("How it runs"),
  artifact: settings({
    source: z.string().min(1).max(4096).describe("Where it was fetched from"),
    digest: z
      .string()
      .regex(/^[0-9a-f]{64}$/)
      .describe("SHA-256 over the artifact's files"),
    sizeBytes: z.int().min(0),
  }),
  environmentHash: z
    .string()
    .regex(/^[0-9a-f]{64}$/)
    .nullable()
    .default(null)
    .describe("Hash of its locked environment"),
  image: z
    .string()
    .min(1)
    .max(1024)
    .nullable()
    .default(null)
    .describe("Image with artifact and environment, by digest"),
  run: runSettings,
}).register(celRules, { rules: [{ rule: "self == oldSelf", message: "a version never changes: deploy a new one" }] });

/** How a version fares. */
export const modelVersionStatus = settings({
  ...observed,
  phase: z.enum(["staging", "serving", "draining", "kept", "failed"]).optional(),
  weightPercent: z.int().min(0).max(100).optional().describe("Share of the endpoint's traffic"),
  wantedReplicas: z.int().min(0).optional(),
  readyReplicas: z.int().min(0).optional(),
  targetConcurrency: z.number().min(0).optional().describe("Requests in flight that one replica should carry: learned"),
  startupMs: z.int().min(0).optional().describe("Longest measured time from start to ready"),
});
