import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { UserError } from "../core/errors.ts";

/**
 * Finds out whether `port` of `host` is free; port 0 gives a free one. Router threads share their port, so that a
 * second region would not fail but take half of the first one's connections: it has to be asked before.
 * Errors: UserError that names who has the port where the system tells.
 */
export async function claimPort(host: string, port: number): Promise<number> {
  const probe = createServer();
  try {
    await new Promise<void>((resolve, reject) => {
      probe.once("error", reject);
      probe.listen({ host, port, exclusive: true }, resolve);
    });
    return (probe.address() as AddressInfo).port;
  } catch (error) {
    throw explain(host, port, error as NodeJS.ErrnoException);
  } finally {
    probe.close();
  }
}

function explain(host: string, port: number, error: NodeJS.ErrnoException): UserError {
  if (error.code === "EADDRINUSE") {
    return new UserError(
      "PENSTOCK_PORT_IN_USE",
      `Port ${port} of ${host} is in use${listenerOf(port)}`,
      "Stop that program, or choose another port with --port (0: any free one).",
    );
  }
  if (error.code === "EACCES") {
    return new UserError(
      "PENSTOCK_PORT_NOT_ALLOWED",
      `This user may not listen on port ${port}`,
      "Choose a port of 1024 or above with --port.",
    );
  }
  return new UserError(
    "PENSTOCK_HOST_UNUSABLE",
    `Listening on ${host}:${port} failed: ${error.message}`,
    "Give an address of this machine as host, or leave it out for 127.0.0.1.",
  );
}

/** ` by process 123 (node server.js)`, or nothing where the system does not tell. */
function listenerOf(port: number): string {
  const inodes = new Set(["tcp", "tcp6"].flatMap((table) => listeningInodes(table, port)));
  const pids = quietly(() => readdirSync("/proc"), []).filter((name) => /^\d+$/.test(name));
  const pid = pids.find((candidate) => socketsOf(candidate).some((inode) => inodes.has(inode)));
  if (pid === undefined) return "";
  const command = quietly(() => readFileSync(`/proc/${pid}/cmdline`, "utf8"), "")
    .replaceAll("\0", " ")
    .trim();
  return ` by process ${pid} (${command.slice(0, 120)})`;
}

/** Inodes of the sockets that listen on a port, from /proc/net (proc_net(5): state 0A is LISTEN). */
function listeningInodes(table: string, port: number): string[] {
  const suffix = `:${port.toString(16).toUpperCase().padStart(4, "0")}`;
  return quietly(() => readFileSync(`/proc/net/${table}`, "utf8"), "")
    .split("\n")
    .map((line) => line.trim().split(/\s+/))
    .filter(([, local, , state]) => local?.endsWith(suffix) && state === "0A")
    .map((fields) => fields[9] ?? "");
}

function socketsOf(pid: string): string[] {
  return quietly(() => readdirSync(`/proc/${pid}/fd`), []).flatMap((fd) => {
    const target = quietly(() => readlinkSync(`/proc/${pid}/fd/${fd}`), "");
    const inode = /^socket:\[(\d+)\]$/.exec(target)?.[1];
    return inode ? [inode] : [];
  });
}

/** Processes and files of /proc end while they are read, and some belong to others. */
function quietly<T>(read: () => T, otherwise: T): T {
  try {
    return read();
  } catch {
    return otherwise;
  }
}
