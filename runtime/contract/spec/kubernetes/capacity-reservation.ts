import { z } from "zod";
import { endpointName } from "../endpoint.ts";
import { celRules } from "../rules.ts";
import { settings } from "../settings.ts";
import { observed } from "./condition.ts";

/** A wish for guaranteed capacity; `capacity` grants it or says why not. */
export const capacityReservationSpec = settings({
  endpoint: endpointName,
  tenant: z.string().min(1).max(63).nullable().default(null).describe("Whose requests it is for; null = everybody's"),
  pool: z.string().min(1).max(63).describe("Name of the AcceleratorPool that it is taken from"),
  tier: z.int().min(1).max(9).default(1).describe("1 is kept longest when capacity is lost"),
  muPerMinute: z.number().positive().nullable().default(null).describe("Guaranteed throughput in model units a minute"),
  accelerators: z.int().min(1).max(100_000).nullable().default(null).describe("Guaranteed accelerators"),
})
  .refine(
    (wish) => (wish.muPerMinute === null) !== (wish.accelerators === null),
    "give one of muPerMinute and accelerators",
  )
  .register(celRules, {
    rules: [
      {
        rule: "has(self.muPerMinute) != has(self.accelerators)",
        message: "give one of muPerMinute and accelerators",
      },
      {
        rule: "self.endpoint == oldSelf.endpoint && self.pool == oldSelf.pool",
        message: "endpoint and pool stay: make a new reservation",
      },
    ],
  });

/** Whether it was granted, and how much of it. */
export const capacityReservationStatus = settings({
  ...observed,
  phase: z.enum(["Pending", "Granted", "Degraded", "Refused"]).optional(),
  grantedMuPerMinute: z.number().min(0).optional(),
  grantedAccelerators: z.int().min(0).optional(),
});
