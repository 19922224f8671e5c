import { z } from "zod";
import { celRules } from "../rules.ts";
import { settings } from "../settings.ts";
import { observed } from "./condition.ts";

const price = z.number().min(0).nullable().default(null);

/** Nodes of one accelerator kind; a rack with one fast network between its accelerators is a pool of its own. */
export const acceleratorPoolSpec = settings({
  accelerator: z.string().min(1).max(63).describe("Kind of accelerator; `cpu` where there is none"),
  resource: z.string().min(1).max(253).nullable().default(null).describe("What nodes call it, e.g. nvidia.com/gpu"),
  nodeSelector: z.record(z.string(), z.string()).describe("Labels of its nodes"),
  acceleratorsPerNode: z.int().min(0).max(64),
  rack: settings({
    nodes: z.int().min(1).max(1_024).describe("Nodes that share its fast network and fail together"),
    label: z.string().min(1).max(317).describe("Node label whose value names the rack"),
  })
    .nullable()
    .default(null),
  capacity: z.enum(["onDemand", "spot", "reserved"]).default("onDemand"),
  priceUsdPerHour: settings({ onDemand: price, spot: price, reserved: price })
    .prefault({})
    .describe("Of one accelerator; null = unknown"),
  reserveRatio: z.number().min(0).max(0.9).default(0.1).describe("Share that is never sold"),
}).register(celRules, {
  rules: [
    { rule: "self.accelerator == oldSelf.accelerator", message: "a pool keeps its accelerator: make a new pool" },
  ],
});

/** What a pool has, and what of it is sold. */
export const acceleratorPoolStatus = settings({
  ...observed,
  nodes: z.int().min(0).optional(),
  readyNodes: z.int().min(0).optional(),
  totalAccelerators: z.int().min(0).optional(),
  soldAccelerators: z.int().min(0).optional(),
  usedAccelerators: z.int().min(0).optional(),
});
