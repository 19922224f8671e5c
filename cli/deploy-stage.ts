import { type EndpointSpec, modelKeyOf } from "../runtime/domain/endpoint.ts";
import type { EndpointView } from "../runtime/operate/views/endpoint-view.ts";
import type { VersionView } from "../runtime/operate/views/version-view.ts";

/** Where a deploy stands. `doneRatio` is null where there is nothing to measure. */
export type DeployStage =
  | { readonly kind: "under-way"; readonly doing: string; readonly doneRatio: number | null }
  | { readonly kind: "done"; readonly version: string; readonly weight: number }
  | {
      readonly kind: "failed";
      readonly why: string;
      readonly todo: string;
      readonly lastLog: readonly string[];
    };

/** The stage of the deploy that was accepted as `deployed`, read from the endpoint's present view. */
export function deployStage(view: EndpointView, deployed: EndpointSpec): DeployStage {
  const { name, prepared, preparedDeployNumber, versions, spec } = view;
  const { deployNumber } = deployed;
  if (spec.deployNumber > deployNumber && modelKeyOf(spec) !== modelKeyOf(deployed)) {
    const todo = `See \`penstock describe ${name}\`; deploy again to bring this one back.`;
    return { kind: "failed", why: "a later deploy took its place", todo, lastLog: [] };
  }
  if (prepared === null || (preparedDeployNumber ?? 0) < deployNumber) return underWay("waiting to be prepared");
  switch (prepared.kind) {
    case "failed":
      return { kind: "failed", why: prepared.why, todo: view.status.todo ?? prepared.todo, lastLog: [] };
    case "working": {
      const { doing, doneBytes, totalBytes } = prepared;
      return underWay(doing, doneBytes === null || !totalBytes ? null : doneBytes / totalBytes);
    }
    case "ready": {
      const version = versions.find(({ id }) => id === prepared.version.id);
      if (version === undefined) return underWay("placing the version");
      return sentElsewhere(view, version, deployed) ?? versionStage(view, version);
    }
  }
}

/** The stage of a version that a split gives nothing: the deploy's own, which is then done, or one that was made meanwhile. */
function sentElsewhere({ name, spec }: EndpointView, { id }: VersionView, deployed: EndpointSpec): DeployStage | null {
  const { traffic } = spec;
  if (traffic.kind !== "split" || traffic.parts.some(({ version, percent }) => version === id && percent > 0))
    return null;
  if (deployed.traffic.kind === "split") return { kind: "done", version: id, weight: 0 };
  const others = traffic.parts.map(({ version, percent }) => `${version} ${percent} %`).join(", ");
  const todo = `To follow the newest version again: penstock split ${name} --latest.`;
  return { kind: "failed", why: `its traffic was given to ${others} meanwhile`, todo, lastLog: [] };
}

function versionStage(view: EndpointView, version: VersionView): DeployStage {
  const { id, phase, weight, scale, failure } = version;
  const { traffic } = view.spec;
  if (phase === "failed") {
    const why = failure?.why ?? `${id} never got ready`;
    return { kind: "failed", why, todo: view.status.todo ?? "", lastLog: failure?.lastLog ?? [] };
  }
  if (phase !== "serving") return underWay(startingText(view, version));
  const soleVersion = view.versions.every((other) => other === version || other.weight === 0);
  const wantedWeight = traffic.kind === "latest" && !soleVersion ? traffic.canaryPercent : weight;
  if (weight < wantedWeight) return underWay(`moving traffic (${weight} %)`, weight / wantedWeight);
  const asleep = scale.wanted === 0;
  return scale.ready > 0 || asleep ? { kind: "done", version: id, weight } : underWay(startingText(view, version));
}

function startingText(view: EndpointView, version: VersionView): string {
  const own = view.replicas.filter((replica) => replica.version === version.id);
  const inState = (word: string) => own.filter((replica) => replica.word === word).length;
  const [warming, ready] = [inState("warming"), inState("ready")];
  const crashed = own.reduce((sum, replica) => sum + replica.failedStarts, 0);
  const trouble = crashed === 0 ? "" : `, ${crashed} failed ${crashed === 1 ? "start" : "starts"}`;
  const verb = warming > 0 ? "warming up" : "starting replicas";
  return `${verb} (${ready} of ${version.scale.wanted ?? "?"} ready${trouble})`;
}

function underWay(doing: string, doneRatio: number | null = null): DeployStage {
  return { kind: "under-way", doing, doneRatio };
}
