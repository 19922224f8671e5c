import type { EndpointView } from "../../../views/endpoint-view.ts";
import type { Action } from "./action-dialog.tsx";
import { hasPredecessor } from "./split.ts";

/** What can be done to an endpoint; each opens a dialog that says what will happen. */
export function ActionBar({
  endpoint,
  onAction,
}: {
  readonly endpoint: EndpointView;
  readonly onAction: (action: Action) => void;
}) {
  const { spec, versions } = endpoint;
  const ofFile =
    spec.origin === "file" ? "It is set by the region file; change it there and restart the region." : null;
  const noVersion = versions.length === 0 ? "There is no version yet." : null;
  const noPredecessor = hasPredecessor(versions) ? null : "No version before this one is kept.";
  const buttons: readonly { action: Action; label: string; hindrance: string | null }[] = [
    { action: "split", label: "Split traffic", hindrance: ofFile ?? noVersion },
    { action: "rollback", label: "Roll back", hindrance: ofFile ?? noPredecessor },
    { action: "scale", label: "Set bounds", hindrance: ofFile },
    { action: "redeploy", label: "Redeploy", hindrance: null },
    { action: "delete", label: "Delete…", hindrance: ofFile },
  ];
  return (
    <div class="actions" role="toolbar" aria-label="Actions">
      {buttons.map(({ action, label, hindrance }) => (
        <button
          key={action}
          type="button"
          class={action === "delete" ? "danger-quiet" : ""}
          disabled={hindrance !== null}
          title={hindrance ?? undefined}
          onClick={() => onAction(action)}
        >
          {label}
        </button>
      ))}
    </div>
  );
}
