import { z } from "zod";
import { endpointInput, endpointName } from "./endpoint.ts";
import { settings } from "./settings.ts";

/** Name of a shadow: stands in URLs and in the decision log. */
export const shadowName = z
  .string()
  .regex(/^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$/, "must be lower-case letters, digits and '-', at most 40");

/** A region file: process settings of a local region and the endpoints it applies with `origin: file`. */
export const regionFile = settings({
  region: z
    .string()
    .regex(/^[a-z](?:[a-z0-9-]{0,38}[a-z0-9])?$/, "must be lower-case letters, digits and '-'")
    .default("local"),
  host: z.string().min(1).default("127.0.0.1").describe("Address to listen on; other than loopback needs keys"),
  port: z.int().min(0).max(65_535).default(8080),
  dataDir: z.string().min(1).nullable().default(null),
  routerThreads: z.int().min(1).max(64).default(2),
  keys: z
    .array(
      settings({
        name: z.string().min(1).max(80),
        sha256: z.string().regex(/^[0-9a-f]{64}$/, "must be the output of `penstock key hash`"),
        endpoints: z.array(endpointName).nullable().default(null),
        admin: z.boolean().default(false),
      }),
    )
    .default([]),
  shadows: z
    .array(
      settings({
        name: shadowName,
        module: z.string().min(1).describe("File whose default export is a Controller; relative to the region file"),
      }),
    )
    .default([])
    .refine(
      (list) => new Set(list.map((shadow) => shadow.name)).size === list.length,
      "each shadow name may stand once",
    )
    .describe("Laws that decide beside the live ones and only show what they would have done"),
  endpoints: z
    .array(endpointInput)
    .default([])
    .superRefine((list, context) => {
      const names = list.map((endpoint) => endpoint.name);
      const twice = new Set(names.filter((name, index) => names.indexOf(name) !== index));
      for (const name of twice) context.addIssue(`each endpoint name may stand once, and ${name} stands more often`);
    }),
}).describe("Region file");

/** Parsed form of a region file. */
export type RegionFile = z.infer<typeof regionFile>;
