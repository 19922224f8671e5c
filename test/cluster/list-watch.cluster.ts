import { afterAll, beforeAll, expect, test } from "vitest";
import { systemClock } from "../../runtime/adapters/clock.ts";
import { applyObject, deleteObject } from "../../runtime/adapters/kube/apply.ts";
import type { KubeClient } from "../../runtime/adapters/kube/kube-client.ts";
import { ListWatch } from "../../runtime/adapters/kube/list-watch.ts";
import type { KubeObject, ResourceType } from "../../runtime/adapters/kube/objects.ts";
import { createLog } from "../../runtime/adapters/log.ts";
import { systemRandom } from "../../runtime/adapters/random.ts";
import { connectToTestCluster, makeNamespace, until } from "./kube.ts";

const NAMESPACE = "test-list-watch";
const CONFIG_MAPS: ResourceType = { group: "", version: "v1", plural: "configmaps" };
/** What a namespace holds by itself. */
const ROOT_CERTIFICATE = "kube-root-ca.crt";

interface ConfigMap extends KubeObject {
  readonly data?: Readonly<Record<string, string>>;
}

let client: KubeClient;
let endNamespace: () => Promise<void>;

beforeAll(async () => {
  client = connectToTestCluster();
  endNamespace = await makeNamespace(client, NAMESPACE);
});
afterAll(async () => {
  await endNamespace();
  client.close();
});

const apply = (name: string, value: string): Promise<ConfigMap> =>
  applyObject<ConfigMap>(client, CONFIG_MAPS, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name, namespace: NAMESPACE },
    data: { value },
  });
const remove = (name: string): Promise<void> => deleteObject(client, CONFIG_MAPS, { name, namespace: NAMESPACE });

/** What one watcher was told, as a picture of the objects, and how often it was told that it is whole. */
function watchWith(through: KubeClient) {
  const picture = new Map<string, string>();
  const uids = new Map<string, string>();
  const told = { synced: 0, gone: [] as string[] };
  const watch = new ListWatch<ConfigMap>(
    {
      client: through,
      type: CONFIG_MAPS,
      namespace: NAMESPACE,
      clock: systemClock,
      random: systemRandom,
      log: createLog({ level: "error", human: false }),
    },
    {
      changed: ({ metadata, data }) => {
        if (metadata.name === ROOT_CERTIFICATE) return;
        // An object of the same name that was made anew is told only once its predecessor is gone.
        expect(uids.get(metadata.name) ?? metadata.uid).toBe(metadata.uid);
        uids.set(metadata.name, metadata.uid!);
        picture.set(metadata.name, data?.value ?? "");
      },
      gone: ({ metadata }) => {
        told.gone.push(metadata.name);
        uids.delete(metadata.name);
        picture.delete(metadata.name);
      },
      synced: () => {
        told.synced += 1;
      },
    },
  );
  return { picture, told, close: () => watch.close() };
}

test("what is there, what comes, changes and goes is told", async () => {
  await apply("before", "1");
  const { picture, told, close } = watchWith(client);
  await until(() => told.synced === 1);
  expect(Object.fromEntries(picture)).toEqual({ before: "1" });
  await apply("after", "1");
  await apply("before", "2");
  await until(() => picture.get("after") === "1" && picture.get("before") === "2");
  await remove("before");
  await remove("after");
  await until(() => picture.size === 0);
  close();
});

test("a watch that broke, or whose place the server has forgotten, is made good by a new list: also what went and what was made anew", async () => {
  await apply("goes", "1");
  await apply("anew", "1");
  const cut = cuttable(client);
  const { picture, told, close } = watchWith(cut.client);
  await until(() => told.synced === 1);
  for (const [round, how] of (["reset", "forgotten"] as const).entries()) {
    cut.hold(how);
    await remove("goes");
    await remove("anew");
    await apply("anew", `again ${round}`);
    await apply(`came-${round}`, "1");
    cut.release();
    await until(() => told.synced === round + 2);
    expect(picture.get("anew")).toBe(`again ${round}`);
    expect(picture.get(`came-${round}`)).toBe("1");
    expect(picture.has("goes")).toBe(false);
    expect(told.gone).toContain("anew");
    await apply("goes", "2");
    await until(() => picture.get("goes") === "2");
  }
  close();
});

/** A client whose watches can be ended, and not begun again before they are released. */
function cuttable(real: KubeClient) {
  let end: (() => void) | null = null;
  let held = Promise.withResolvers<void>();
  held.resolve();
  const through: KubeClient = {
    close: () => real.close(),
    send: async (asked) => {
      await held.promise;
      return real.send(asked);
    },
    stream: async (asked, silenceMs, take) => {
      await held.promise;
      const stopped = new AbortController();
      let how: "reset" | "forgotten" | null = null;
      const cut = new Promise<void>((resolve) => {
        end = () => {
          how = wanted;
          stopped.abort(new Error("the connection was reset"));
          resolve();
        };
      });
      const signal = AbortSignal.any([stopped.signal, ...(asked.signal === undefined ? [] : [asked.signal])]);
      const streamed = real.stream({ ...asked, signal }, silenceMs, take);
      await Promise.race([streamed, cut]).catch(() => {});
      if (how === "forgotten") take({ type: "ERROR", object: { code: 410, reason: "Expired", message: "too old" } });
      else await streamed;
    },
  };
  let wanted: "reset" | "forgotten" = "reset";
  return {
    client: through,
    hold: (how: "reset" | "forgotten") => {
      wanted = how;
      held = Promise.withResolvers<void>();
      end?.();
    },
    release: () => held.resolve(),
  };
}
