import { claimPort } from "../../adapters/claim-port.ts";
import type { ReplicaLaunch } from "../../contract/wire/launch.ts";

/** The port that a launch asks for, or any free one where somebody else has it by now. */
export function replicaPort({ host, port }: Pick<ReplicaLaunch, "host" | "port">): Promise<number> {
  return claimPort(host, port).catch(() => claimPort(host, 0));
}
