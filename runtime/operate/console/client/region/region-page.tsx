import { bytesText, durationText } from "../../../../core/format.ts";
import type { RegionView } from "../../../api/routes/region.ts";
import type { Check } from "../../../views/checks.ts";
import { useConsole } from "../live/console-context.ts";
import { usePolled } from "../live/use-polled.ts";
import { ErrorNotice } from "../parts/notice.tsx";
import { Prose } from "../parts/prose.tsx";

const EVERY_MS = 2_000;

/** The region as a whole: what the doctor finds, its routers and machines, and where it keeps its state. */
export function RegionPage() {
  const { api } = useConsole();
  const region = usePolled(() => api.get<RegionView>("/region"), EVERY_MS, "region");
  const checks = usePolled(() => api.get<{ checks: readonly Check[] }>("/checks"), EVERY_MS, "checks");
  const error = region.error ?? checks.error;
  return (
    <>
      <div class="page-head">
        <h1>Region {region.value?.region ?? ""}</h1>
        <nav class="elsewhere" aria-label="Elsewhere in the region">
          <a href="/docs">API</a>
          <a href="/metrics">metrics</a>
        </nav>
      </div>
      {error !== null && <ErrorNotice error={error} />}
      {checks.value !== null && <Checks checks={checks.value.checks} />}
      {region.value !== null && <Routers region={region.value} />}
      {region.value !== null && <Machines region={region.value} />}
      {region.value !== null && <Facts region={region.value} />}
    </>
  );
}

const VERDICT_TONE: Readonly<Record<Check["verdict"], string>> = { pass: "good", warn: "warn", fail: "bad" };
const WORST_FIRST: readonly Check["verdict"][] = ["fail", "warn", "pass"];

function Checks({ checks }: { readonly checks: readonly Check[] }) {
  const ordered = checks.toSorted((a, b) => WORST_FIRST.indexOf(a.verdict) - WORST_FIRST.indexOf(b.verdict));
  const notGood = checks.filter(({ verdict }) => verdict !== "pass").length;
  return (
    <section aria-labelledby="checks-title">
      <h2 id="checks-title">
        Checks <span class="faint">{notGood === 0 ? "all pass" : `${notGood} of ${checks.length} need a look`}</span>
      </h2>
      <table class="grid checks">
        <caption class="unseen">What the doctor finds, worst first</caption>
        <thead>
          <tr>
            <th scope="col" class="c-phase">
              Verdict
            </th>
            <th scope="col" class="c-check">
              What
            </th>
            <th scope="col">Found</th>
          </tr>
        </thead>
        <tbody>
          {ordered.map(({ name, verdict, message, todo }) => (
            <tr key={name}>
              <td>
                <span class={`status ${VERDICT_TONE[verdict]}`}>
                  <span class="mark" aria-hidden="true" />
                  {verdict}
                </span>
              </td>
              <th scope="row">{name}</th>
              <td class="wraps">
                {message}
                {todo !== null && (
                  <span class="faint">
                    {" "}
                    <Prose text={todo} />
                  </span>
                )}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function Routers({ region }: { readonly region: RegionView }) {
  const { snapshot } = region;
  const routers = Object.entries(region.routers);
  return (
    <section aria-labelledby="routers-title">
      <h2 id="routers-title">
        Routers <span class="faint">snapshot published: {generationText(snapshot)}</span>
      </h2>
      {routers.length === 0 ? (
        <p class="faint">No router has reported yet.</p>
      ) : (
        <table class="grid short">
          <thead>
            <tr>
              <th scope="col">Router</th>
              <th scope="col" class="num">
                Serves by snapshot
              </th>
              <th scope="col" class="num">
                Start
              </th>
              <th scope="col" class="num">
                Last report
              </th>
            </tr>
          </thead>
          <tbody>
            {routers.map(([name, { epoch, holds, silentMs }]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class={`num ${generationText(holds) === generationText(snapshot) ? "" : "warn-text"}`}>
                  {generationText(holds)}
                </td>
                <td class="num">{epoch}</td>
                <td class="num">{silentMs < 2_000 ? "now" : `${durationText(silentMs)} ago`}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Machines({ region }: { readonly region: RegionView }) {
  const machines = Object.entries(region.machines);
  return (
    <section aria-labelledby="machines-title">
      <h2 id="machines-title">Machines</h2>
      {machines.length === 0 ? (
        <p class="faint">No machine has reported yet.</p>
      ) : (
        <table class="grid short">
          <thead>
            <tr>
              <th scope="col">Machine</th>
              <th scope="col" class="num">
                Cores
              </th>
              <th scope="col" class="num">
                Memory
              </th>
              <th scope="col" class="num">
                Available
              </th>
            </tr>
          </thead>
          <tbody>
            {machines.map(([name, { cpuCount, memoryBytes, memoryAvailableBytes }]) => (
              <tr key={name}>
                <th scope="row">{name}</th>
                <td class="num">{cpuCount}</td>
                <td class="num">{bytesText(memoryBytes)}</td>
                <td class="num">{bytesText(memoryAvailableBytes)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </section>
  );
}

function Facts({ region }: { readonly region: RegionView }) {
  const facts: readonly (readonly [string, string])[] = [
    ["address", region.baseUrl],
    ["region file", region.regionFile],
    ["data folder", region.dataDir],
    ["controller started", new Date(region.startedAtMs).toLocaleString()],
    ["controller incarnation", String(region.incarnation)],
  ];
  return (
    <section aria-labelledby="facts-title">
      <h2 id="facts-title">About</h2>
      <table class="pairs">
        <tbody>
          {facts.map(([name, text]) => (
            <tr key={name}>
              <th scope="row">{name}</th>
              <td>{text}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

function generationText(generation: RegionView["snapshot"]): string {
  return generation === null ? "none yet" : `${generation.incarnation}.${generation.number}`;
}
