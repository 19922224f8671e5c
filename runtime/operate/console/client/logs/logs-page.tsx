import { useEffect, useRef, useState } from "preact/hooks";
import { momentText } from "../../../../core/format.ts";
import { usePicture } from "../live/console-context.ts";
import { LogText } from "../parts/log-text.tsx";
import { Empty, ErrorNotice } from "../parts/notice.tsx";
import { goTo } from "../shell/use-route.ts";
import { SEARCH_ATTRIBUTE } from "../shell/use-shortcuts.ts";
import { matchingLines } from "./log-lines.ts";
import { useLog } from "./use-log.ts";

const REGION_SOURCES = ["agent", "controller", "router"];

/** Log lines of replicas and of the region's own processes as they are written. */
export function LogsPage({ source }: { readonly source: string }) {
  const { lines, error } = useLog(source);
  const [text, setText] = useState("");
  const [isFollowing, setFollowing] = useState(true);
  const box = useRef<HTMLDivElement>(null);
  const shown = matchingLines(lines, text);
  useEffect(() => {
    if (isFollowing && shown.length > 0 && box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  }, [isFollowing, shown]);
  const noticeScroll = (): void => {
    const { scrollTop = 0, clientHeight = 0, scrollHeight = 0 } = box.current ?? {};
    setFollowing(scrollTop + clientHeight >= scrollHeight - 4);
  };
  return (
    <div class="logs">
      <div class="page-head">
        <h1>Logs</h1>
        <SourceSelect source={source} />
        <input
          type="search"
          class="filter"
          placeholder="Lines that hold… ( / )"
          aria-label="Only lines that hold this text"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
          {...{ [SEARCH_ATTRIBUTE]: "" }}
        />
        <label class="check">
          <input
            type="checkbox"
            checked={isFollowing}
            onChange={(event) => setFollowing(event.currentTarget.checked)}
          />
          follow
        </label>
      </div>
      {error !== null && <ErrorNotice error={error} />}
      {shown.length === 0 ? (
        <Empty title={lines.length === 0 ? "No line yet" : `No line holds “${text}”`}>
          <p>{lines.length === 0 ? "New lines appear here as they are written." : `${lines.length} lines are here.`}</p>
        </Empty>
      ) : (
        // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reachable for who has no mouse.
        <div ref={box} class="log-box" onScroll={noticeScroll} tabIndex={0} role="log" aria-label="Log lines">
          {shown.map(({ number, atMs, source: from, line }) => (
            <div key={number} class="log-line">
              <time>{momentText(atMs, Date.now())}</time>
              {source === "" && <span class="from">{from}</span>}
              <LogText line={line} />
            </div>
          ))}
        </div>
      )}
    </div>
  );
}

function SourceSelect({ source }: { readonly source: string }) {
  const { endpoints } = usePicture();
  const replicas = (endpoints ?? []).map(({ name, replicas: own }) => [name, own.map(({ id }) => id)] as const);
  const known = [...REGION_SOURCES, ...replicas.flatMap(([, ids]) => ids)];
  return (
    <select
      aria-label="Source"
      value={source}
      onChange={(event) => goTo({ page: "logs", source: event.currentTarget.value })}
    >
      <option value="">everything</option>
      {source !== "" && !known.includes(source) && <option value={source}>{source}</option>}
      <optgroup label="region">
        {REGION_SOURCES.map((name) => (
          <option key={name} value={name}>
            {name}
          </option>
        ))}
      </optgroup>
      {replicas
        .filter(([, ids]) => ids.length > 0)
        .map(([name, ids]) => (
          <optgroup key={name} label={name}>
            {ids.map((id) => (
              <option key={id} value={id}>
                {id}
              </option>
            ))}
          </optgroup>
        ))}
    </select>
  );
}
