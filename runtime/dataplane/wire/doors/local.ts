import type { SnapshotEndpoint } from "../../../domain/snapshot.ts";
import type { Identity } from "../auth.ts";
import { mayCall } from "../auth.ts";
import type { Directory } from "../directory.ts";
import { jsonAnswer, type LocalAnswer } from "../http1/answers.ts";
import { type Problem, problemAnswer } from "./problem.ts";
import type { LocalQuery } from "./route.ts";

/** Answers a question about endpoints from the snapshot, in its door's shape. `headers` are whole lines put before. */
export function answerLocally(
  query: LocalQuery,
  directory: Directory,
  identity: Identity,
  headers: string,
): LocalAnswer {
  const { about, door, endpoint: name } = query;
  const json = (value: unknown) => jsonAnswer(200, value, headers);
  if (name !== null) {
    const endpoint = mayCall(identity, name) ? directory.endpoint(name) : null;
    if (endpoint === null) return problemAnswer(door, unknownEndpoint(name, directory, identity), headers);
    switch (about) {
      case "openai-models":
        return json(openaiModel(endpoint));
      case "serving-endpoints":
        return json(servingEndpoint(endpoint));
      case "deployment-endpoints":
        return json(deploymentEndpoint(endpoint));
      default:
        // KServe's readiness: 200 also where replicas sleep, since the first request wakes them.
        return isServable(endpoint) ? json({ name, ready: true }) : problemAnswer(door, notServable(endpoint), headers);
    }
  }
  switch (about) {
    case "openai-models":
      return json({ object: "list", data: directory.list(identity, "openai").map(openaiModel) });
    case "serving-endpoints":
      return json({ endpoints: directory.list(identity, null).map(servingEndpoint) });
    case "deployment-endpoints":
      return json({ endpoints: directory.list(identity, null).map(deploymentEndpoint), next_page_token: null });
    case "server-live":
      return json({ live: true });
    case "server-ready":
      return json({ ready: true });
    case "server-metadata":
      return json({ name: "penstock", version: "2", extensions: ["binary_tensor_data"] });
    default:
      return json(
        directory.list(identity, "kserve").map((endpoint) => ({ name: endpoint.name, state: stateOf(endpoint) })),
      );
  }
}

/** Endpoint names that are shown in an error; a region may have thousands. */
const MAX_NAMES_SHOWN = 20;

/** The 404 that lists what there is, as far as the caller may see it. */
export function unknownEndpoint(name: string, directory: Directory, identity: Identity): Problem {
  const names = directory.list(identity, null).map((endpoint) => endpoint.name);
  const shown = names.slice(0, MAX_NAMES_SHOWN).join(", ");
  const more = names.length > MAX_NAMES_SHOWN ? ` and ${names.length - MAX_NAMES_SHOWN} more` : "";
  const known =
    names.length === 0 ? "there are none yet; deploy one with `penstock deploy`" : `there are: ${shown}${more}`;
  return {
    status: 404,
    code: "PENSTOCK_UNKNOWN_ENDPOINT",
    message: `no endpoint is named "${name.slice(0, 80)}"; ${known}`,
  };
}

/** Why an endpoint can't be called at all now. */
export function notServable(endpoint: SnapshotEndpoint): Problem {
  return {
    status: 503,
    code: "PENSTOCK_ENDPOINT_NOT_READY",
    message: endpoint.problem ?? `endpoint "${endpoint.name}" has no version that is ready yet; try again soon`,
    retryAfterSeconds: 5,
  };
}

/** Whether a request may be sent or held for it. */
function isServable(endpoint: SnapshotEndpoint): boolean {
  return endpoint.problem === null && endpoint.split.length > 0;
}

function stateOf(endpoint: SnapshotEndpoint): string {
  return isServable(endpoint) ? "READY" : "UNAVAILABLE";
}

function openaiModel(endpoint: SnapshotEndpoint): unknown {
  return { id: endpoint.name, object: "model", created: 0, owned_by: "penstock" };
}

/** As Databricks' REST API describes a serving endpoint. */
function servingEndpoint(endpoint: SnapshotEndpoint): unknown {
  return {
    name: endpoint.name,
    state: { ready: isServable(endpoint) ? "READY" : "NOT_READY", config_update: "NOT_UPDATING" },
    config: {
      served_entities: endpoint.split.map(({ version }) => ({ name: version, entity_name: endpoint.name })),
      traffic_config: {
        routes: endpoint.split.map(({ version, weight }) => ({
          served_model_name: version,
          traffic_percentage: weight,
        })),
      },
    },
  };
}

/** As MLflow's own deployments server describes an endpoint. */
function deploymentEndpoint(endpoint: SnapshotEndpoint): unknown {
  return {
    name: endpoint.name,
    endpoint_type: endpoint.doors.includes("openai") ? "llm/v1/chat" : "model/v1/invocations",
    model: { name: endpoint.name, provider: "penstock" },
    endpoint_url: `/endpoints/${endpoint.name}/invocations`,
    limit: null,
  };
}
