import type { Machine } from "../../domain/replica.ts";
import type { KubeObject } from "./objects.ts";
import { parseQuantity } from "./quantity.ts";

/** The parts of a node that Penstock reads. */
export interface Node extends KubeObject {
  readonly spec?: { readonly unschedulable?: boolean };
  readonly status?: {
    readonly allocatable?: Readonly<Record<string, string>>;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
  };
}

/** What the nodes that take pods have to give, together. What pods ask for is not taken off: the scheduler does that. */
export function machineOf(nodes: readonly Node[]): Machine {
  const usable = nodes.filter(({ spec, status }) => {
    const isReady = status?.conditions?.some((one) => one.type === "Ready" && one.status === "True") ?? false;
    return isReady && spec?.unschedulable !== true;
  });
  const total = (name: string): number =>
    usable.reduce((sum, { status }) => sum + parseQuantity(status?.allocatable?.[name] ?? "0"), 0);
  const memoryBytes = total("memory");
  return { cpuCount: total("cpu"), memoryBytes, memoryAvailableBytes: memoryBytes, bootId: "cluster" };
}
