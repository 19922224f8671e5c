import type { z } from "zod";
import { ENDPOINT_NAME_PATTERN } from "../../../domain/names.ts";
import { endpointInput } from "../endpoint.ts";
import type { CelRule } from "../rules.ts";
import { acceleratorPoolSpec, acceleratorPoolStatus } from "./accelerator-pool.ts";
import { capacityReservationSpec, capacityReservationStatus } from "./capacity-reservation.ts";
import { modelEndpointStatus } from "./model-endpoint.ts";
import { modelProfileSpec, modelProfileStatus } from "./model-profile.ts";
import { modelVersionSpec, modelVersionStatus } from "./model-version.ts";
import { API_VERSION, GROUP } from "./names.ts";
import { type Structural, structuralSchema } from "./structural.ts";

interface Column {
  readonly name: string;
  readonly type: "string" | "integer" | "number" | "date";
  readonly jsonPath: string;
  readonly description?: string;
  readonly priority?: number;
}

interface Resource {
  readonly kind: string;
  readonly plural: string;
  readonly shortNames: readonly string[];
  readonly scope: "Namespaced" | "Cluster";
  readonly description: string;
  readonly spec: Structural;
  readonly status: z.ZodType;
  readonly columns: readonly Column[];
  readonly rules: readonly CelRule[];
}

const condition = (type: string, field: string): string => `.status.conditions[?(@.type=="${type}")].${field}`;
const READY: readonly Column[] = [
  { name: "Ready", type: "string", jsonPath: condition("Ready", "status") },
  { name: "Reason", type: "string", jsonPath: condition("Ready", "reason") },
];
const AGE: Column = { name: "Age", type: "date", jsonPath: ".metadata.creationTimestamp" };
const column = (name: string, jsonPath: string, type: Column["type"] = "string"): Column => ({ name, type, jsonPath });

const RESOURCES: readonly Resource[] = [
  {
    kind: "ModelEndpoint",
    plural: "modelendpoints",
    shortNames: ["mep"],
    scope: "Namespaced",
    description: "A named model service with its traffic split over versions: what a client calls.",
    spec: endpointSpec(),
    status: modelEndpointStatus,
    columns: [
      ...READY,
      column("Replicas", ".status.readyReplicas", "integer"),
      column("Wanted", ".status.wantedReplicas", "integer"),
      column("Target", ".status.targetConcurrency", "number"),
      { ...column("Model", ".spec.model"), priority: 1 },
      { ...column("Decision", ".status.decision"), priority: 1 },
      AGE,
    ],
    rules: [
      {
        rule: `self.metadata.name.matches('${ENDPOINT_NAME_PATTERN.source}')`,
        message: "the name must be 1 to 40 of a-z, 0-9 and '-', start with a letter and end with a letter or digit",
      },
    ],
  },
  {
    kind: "ModelVersion",
    plural: "modelversions",
    shortNames: ["mver"],
    scope: "Namespaced",
    description:
      "An immutable version of an endpoint: artifact, environment and run settings. Written by the controller.",
    spec: structuralSchema(modelVersionSpec),
    status: modelVersionStatus,
    columns: [
      column("Endpoint", ".spec.endpoint"),
      column("Phase", ".status.phase"),
      column("Traffic", ".status.weightPercent", "integer"),
      column("Ready", ".status.readyReplicas", "integer"),
      column("Wanted", ".status.wantedReplicas", "integer"),
      AGE,
    ],
    rules: [],
  },
  {
    kind: "ModelProfile",
    plural: "modelprofiles",
    shortNames: ["mprof"],
    scope: "Cluster",
    description: "What the work of a model costs on an accelerator, in model units.",
    spec: structuralSchema(modelProfileSpec),
    status: modelProfileStatus,
    columns: [column("Accelerator", ".spec.accelerator"), column("Error", ".status.relativeError", "number"), AGE],
    rules: [],
  },
  {
    kind: "CapacityReservation",
    plural: "capacityreservations",
    shortNames: ["capres"],
    scope: "Namespaced",
    description: "Guaranteed capacity for an endpoint: asked for here, granted by the controller.",
    spec: structuralSchema(capacityReservationSpec),
    status: capacityReservationStatus,
    columns: [
      column("Endpoint", ".spec.endpoint"),
      column("Pool", ".spec.pool"),
      column("Tier", ".spec.tier", "integer"),
      column("Phase", ".status.phase"),
      AGE,
    ],
    rules: [],
  },
  {
    kind: "AcceleratorPool",
    plural: "acceleratorpools",
    shortNames: ["apool"],
    scope: "Cluster",
    description: "Nodes of one accelerator kind: what they are, cost, and how much of them is sold.",
    spec: structuralSchema(acceleratorPoolSpec),
    status: acceleratorPoolStatus,
    columns: [
      column("Accelerator", ".spec.accelerator"),
      column("Nodes", ".status.readyNodes", "integer"),
      column("Total", ".status.totalAccelerators", "integer"),
      column("Sold", ".status.soldAccelerators", "integer"),
      column("Used", ".status.usedAccelerators", "integer"),
      AGE,
    ],
    rules: [],
  },
];

/** A custom resource definition as an API server takes it. */
export interface CustomResourceDefinition {
  readonly apiVersion: "apiextensions.k8s.io/v1";
  readonly kind: "CustomResourceDefinition";
  readonly metadata: { readonly name: string };
  readonly spec: object;
}

/** The definitions of Penstock's resources: schemas, defaults and rules come from what the region file is checked by. */
export function customResourceDefinitions(): readonly CustomResourceDefinition[] {
  return RESOURCES.map((resource) => ({
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${resource.plural}.${GROUP}` },
    spec: {
      group: GROUP,
      scope: resource.scope,
      names: {
        kind: resource.kind,
        listKind: `${resource.kind}List`,
        plural: resource.plural,
        singular: resource.kind.toLowerCase(),
        shortNames: resource.shortNames,
        categories: ["penstock"],
      },
      versions: [
        {
          name: API_VERSION,
          served: true,
          storage: true,
          subresources: { status: {} },
          additionalPrinterColumns: resource.columns,
          schema: { openAPIV3Schema: objectSchema(resource) },
        },
      ],
    },
  }));
}

function objectSchema(resource: Resource): Structural {
  return {
    type: "object",
    description: resource.description,
    required: ["spec"],
    properties: {
      apiVersion: { type: "string" },
      kind: { type: "string" },
      metadata: { type: "object" },
      spec: resource.spec,
      status: structuralSchema(resource.status),
    },
    ...(resource.rules.length > 0 ? { "x-kubernetes-validations": [...resource.rules] } : {}),
  };
}

/** An endpoint as a region file holds it, but for its name: that is the object's. */
function endpointSpec(): Structural {
  const { properties, required = [], ...rest } = structuralSchema(endpointInput);
  const { name: _name, ...others } = properties ?? {};
  const needed = required.filter((field) => field !== "name");
  return { ...rest, ...(needed.length > 0 ? { required: needed } : {}), properties: others };
}
