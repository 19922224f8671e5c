import { describe, expect, it } from "vitest";
import { type CapacityMemory, decideCapacity } from "./decide.ts";
import type { CapacityWorld, VersionNeed } from "./world.ts";

const MiB = 2 ** 20;
const GiB = 2 ** 30;

const needOf = (id: string, change: Partial<VersionNeed> = {}): VersionNeed => ({
  id,
  cpuCount: 1,
  allottedBytes: GiB,
  artifactBytes: 0,
  residentBytes: null,
  wanted: 100,
  guaranteed: 0,
  held: 0,
  leaving: 0,
  ...change,
});

function worldOf(versions: readonly VersionNeed[], machines: Partial<CapacityWorld["machines"]> = {}): CapacityWorld {
  const memoryBytes = 100 * GiB;
  return { machines: { cpuCount: 1_000, memoryBytes, memoryAvailableBytes: memoryBytes, ...machines }, versions };
}

function decide(world: CapacityWorld, memory: CapacityMemory = { measured: {} }) {
  const verdict = decideCapacity(world, memory);
  return { ...verdict, granted: verdict.output?.v?.replicas ?? null };
}

describe("capacity", () => {
  it("grants nine tenths of the machines' memory", () => {
    // Nine run, and nothing but the share of the memory keeps a tenth from starting.
    const memory = { memoryBytes: 10 * GiB, memoryAvailableBytes: 10 * GiB };
    expect(decide(worldOf([needOf("v", { held: 9 })], memory)).granted).toBe(9);
    expect(decide(worldOf([needOf("v", { held: 8 })], memory)).granted).toBe(9);
  });

  it("grants four allotted cores for each real one", () => {
    expect(decide(worldOf([needOf("v")], { cpuCount: 2 })).granted).toBe(8);
  });

  it("starts no more at a time than leaves a twentieth of the memory free, whatever else took it", () => {
    // 10 GiB with 2.5 GiB available: half a GiB stays free, so that two of 1 GiB start.
    const memory = { memoryBytes: 10 * GiB, memoryAvailableBytes: 2.5 * GiB };
    expect(decide(worldOf([needOf("v")], memory)).granted).toBe(2);
  });

  it("takes a replica nobody measured for 256 MiB and its artifact", () => {
    // Nine tenths of 1,000 MiB hold two of 256 + 100 MiB.
    const memory = { memoryBytes: 1_000 * MiB, memoryAvailableBytes: 1_000 * MiB };
    const need = needOf("v", { allottedBytes: null, artifactBytes: 100 * MiB });
    expect(decide(worldOf([need], memory)).granted).toBe(2);
  });

  it("goes by the most that was measured of a version, and forgets it with the version", () => {
    const memory = { memoryBytes: 1_000 * MiB, memoryAvailableBytes: 1_000 * MiB };
    const measured = (residentBytes: number | null) =>
      worldOf([needOf("v", { allottedBytes: null, residentBytes })], memory);
    const large = decide(measured(300 * MiB));
    expect(large.granted).toBe(3);
    const smaller = decide(measured(50 * MiB), large.memory);
    expect([smaller.granted, smaller.memory]).toEqual([3, { measured: { v: 300 * MiB } }]);
    expect(decide(measured(null), smaller.memory).granted).toBe(3);
    expect(decide(worldOf([], memory), smaller.memory).memory).toEqual({ measured: {} });
  });

  it("grants nothing and takes nothing before a machine has told of itself", () => {
    const verdict = decide({ ...worldOf([needOf("v", { held: 2 })]), machines: null });
    expect([verdict.output, verdict.because.reason]).toEqual([null, "hold: no machine"]);
  });

  it("says whether all got what they want", () => {
    const reasonOf = (wanted: number) => decide(worldOf([needOf("v", { wanted })], { cpuCount: 2 })).because.reason;
    expect([reasonOf(8), reasonOf(9)]).toEqual(["grant: all as wanted", "grant: short of capacity"]);
  });
});
