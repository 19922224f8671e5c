import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { numberText } from "../../../../core/format.ts";
import type { EndpointView } from "../../../views/endpoint-view.ts";
import { useConsole } from "../live/console-context.ts";
import { Dialog } from "../parts/dialog.tsx";
import { ErrorNotice } from "../parts/notice.tsx";
import { draftOf, problemOf, type SplitDraft, trafficOf } from "./split.ts";

/** What can be done to an endpoint. */
export type Action = "split" | "rollback" | "scale" | "redeploy" | "delete";

/** What every action's form gets. */
interface FormProps {
  readonly endpoint: EndpointView;
  /** Called with what to say once the region has accepted the change. */
  readonly onDone: (said: string) => void;
  readonly onClose: () => void;
}

const TITLES: Readonly<Record<Action, string>> = {
  split: "Split the traffic of",
  rollback: "Roll back",
  scale: "Set the bounds of",
  redeploy: "Redeploy",
  delete: "Delete",
};

const FORMS: Readonly<Record<Action, (props: FormProps) => ComponentChildren>> = {
  split: SplitForm,
  rollback: RollbackForm,
  scale: ScaleForm,
  redeploy: RedeployForm,
  delete: DeleteForm,
};

/** The dialog of an action: what will happen, and the button that makes it so. */
export function ActionDialog({ action, ...props }: FormProps & { readonly action: Action }) {
  const Form = FORMS[action];
  return (
    <Dialog title={`${TITLES[action]} ${props.endpoint.name}`} onClose={props.onClose}>
      <Form {...props} />
    </Dialog>
  );
}

function SplitForm({ endpoint, onDone, onClose }: FormProps) {
  const { api } = useConsole();
  const [draft, setDraft] = useState<SplitDraft>(() => draftOf(endpoint.versions));
  const problem = problemOf(draft);
  const send = async (): Promise<void> => {
    await api.change("PUT", `/endpoints/${endpoint.name}/traffic`, trafficOf(draft));
    onDone("Split accepted; traffic moves once every version of it has its replicas ready.");
  };
  return (
    <ConfirmForm label="Split traffic" hindrance={problem} onConfirm={send} onClose={onClose}>
      <p>Traffic moves once every version named has its replicas ready. No replica restarts.</p>
      {Object.entries(draft).map(([version, percent]) => (
        <label key={version} class="field">
          <code>{version}</code>
          <input
            type="number"
            min="0"
            max="100"
            value={percent}
            onInput={(event) => setDraft({ ...draft, [version]: event.currentTarget.valueAsNumber })}
          />
          %
        </label>
      ))}
    </ConfirmForm>
  );
}

function RollbackForm({ endpoint, onDone, onClose }: FormProps) {
  const { api } = useConsole();
  const [version, setVersion] = useState<string | null>(null);
  const able = endpoint.versions.filter(({ phase }) => phase === "serving" || phase === "draining" || phase === "kept");
  const send = async (): Promise<void> => {
    await api.change("POST", `/endpoints/${endpoint.name}/rollback`, { version });
    onDone("Rollback accepted; traffic moves once that version is ready.");
  };
  return (
    <ConfirmForm label="Roll back" hindrance={null} onConfirm={send} onClose={onClose}>
      <p>All traffic goes to the version chosen once its replicas are ready; until then nothing changes.</p>
      <label class="field">
        To
        <select value={version ?? ""} onChange={(event) => setVersion(event.currentTarget.value || null)}>
          <option value="">the version before</option>
          {able.map(({ id, phase, weight }) => (
            <option key={id} value={id}>
              {id} ({phase}, {weight} %)
            </option>
          ))}
        </select>
      </label>
    </ConfirmForm>
  );
}

function ScaleForm({ endpoint, onDone, onClose }: FormProps) {
  const { api } = useConsole();
  const [bounds, setBounds] = useState(endpoint.spec.concurrency);
  const send = async (): Promise<void> => {
    await api.change("PUT", `/endpoints/${endpoint.name}/concurrency`, bounds);
    onDone(`Bounds set: ${bounds.min} to ${bounds.max} requests in flight.`);
  };
  const isWhole = Number.isInteger(bounds.min) && Number.isInteger(bounds.max) && bounds.min >= 0 && bounds.max >= 1;
  const hindrance = !isWhole ? "Give whole numbers." : bounds.min > bounds.max ? "The least is above the most." : null;
  const field = (key: "min" | "max", label: string) => (
    <label class="field">
      {label}
      <input
        type="number"
        min={key === "min" ? 0 : 1}
        value={bounds[key]}
        onInput={(event) => setBounds({ ...bounds, [key]: event.currentTarget.valueAsNumber })}
      />
      in flight
    </label>
  );
  return (
    <ConfirmForm label="Set bounds" hindrance={hindrance} onConfirm={send} onClose={onClose}>
      <p>
        Requests in flight over the whole endpoint; the learned target turns them into replicas. A least of 0 lets it
        sleep. No replica restarts.
      </p>
      {field("min", "Always provisioned")}
      {field("max", "At most")}
    </ConfirmForm>
  );
}

function RedeployForm({ endpoint, onDone, onClose }: FormProps) {
  const { api } = useConsole();
  const send = async (): Promise<void> => {
    await api.change("POST", `/endpoints/${endpoint.name}/redeploy`);
    onDone("The artifact is being looked at again; changed files make a new version.");
  };
  return (
    <ConfirmForm label="Redeploy" hindrance={null} onConfirm={send} onClose={onClose}>
      <p>
        The artifact at <code>{endpoint.spec.model || "its source"}</code> is looked at again. Changed files make a new
        version, which takes the traffic once it is ready; unchanged ones change nothing.
      </p>
    </ConfirmForm>
  );
}

function DeleteForm({ endpoint, onDone, onClose }: FormProps) {
  const { api } = useConsole();
  const { name, load, scale } = endpoint;
  const [typed, setTyped] = useState("");
  const send = async (): Promise<void> => {
    await api.change("DELETE", `/endpoints/${name}`);
    onDone(`${name} is deleted; its replicas finish what they hold, then end.`);
  };
  const isBusy = load.qps > 0 || load.inFlight > 0;
  const hindrance = typed === name ? null : typed === "" ? "" : `That is not “${name}”.`;
  return (
    <ConfirmForm label="Delete" tone="danger" hindrance={hindrance} onConfirm={send} onClose={onClose}>
      <p>
        The endpoint, its {countText(endpoint.versions.length, "version")} and its{" "}
        {countText(scale.existing, "replica")} go, and requests to it are answered 404. This can't be undone; deploying
        the model again makes it anew.
      </p>
      {isBusy && (
        <p class="warn-text">
          It serves now: {numberText(load.qps)} requests/s, {numberText(load.inFlight)} in flight.
        </p>
      )}
      <label class="field stacked">
        <span>
          Type <code>{name}</code> to confirm
        </span>
        <input
          type="text"
          value={typed}
          autocomplete="off"
          spellcheck={false}
          onInput={(event) => setTyped(event.currentTarget.value.trim())}
        />
      </label>
    </ConfirmForm>
  );
}

function countText(count: number, noun: string): string {
  return `${count} ${noun}${count === 1 ? "" : "s"}`;
}

function ConfirmForm({
  label,
  tone = "primary",
  hindrance,
  onConfirm,
  onClose,
  children,
}: {
  readonly label: string;
  readonly tone?: "primary" | "danger";
  /** Why it can't be confirmed yet (empty: that is plain to see), or null. */
  readonly hindrance: string | null;
  readonly onConfirm: () => Promise<void>;
  readonly onClose: () => void;
  readonly children: ComponentChildren;
}) {
  const [error, setError] = useState<Error | null>(null);
  const [isSending, setSending] = useState(false);
  const submit = (event: Event): void => {
    event.preventDefault();
    setSending(true);
    setError(null);
    onConfirm()
      .catch(setError)
      .finally(() => setSending(false));
  };
  return (
    <form onSubmit={submit}>
      {children}
      {error !== null && <ErrorNotice error={error} />}
      <p class="hindrance warn-text" role="status">
        {hindrance}
      </p>
      <footer>
        <button type="button" onClick={onClose}>
          Cancel
        </button>
        <button type="submit" class={tone} disabled={hindrance !== null || isSending}>
          {isSending ? "Sending…" : label}
        </button>
      </footer>
    </form>
  );
}
