import { z } from "zod";
import { settings } from "../settings.ts";
import { observed } from "./condition.ts";

/** How an endpoint fares. Its spec is the endpoint of a region file without the name, which is the object's. */
export const modelEndpointStatus = settings({
  ...observed,
  url: z.string().optional().describe("Where its clients reach it inside the cluster"),
  wantedReplicas: z.int().min(0).optional(),
  readyReplicas: z.int().min(0).optional(),
  targetConcurrency: z.number().min(0).optional(),
  traffic: z
    .array(settings({ version: z.string(), percent: z.int().min(0).max(100) }))
    .max(16)
    .optional()
    .describe("The split as it is now"),
  decision: z.string().max(1_024).optional().describe("The newest decision on its scale, with its reason"),
});
