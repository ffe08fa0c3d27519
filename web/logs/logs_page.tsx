/** The page Logs: search, histogram, then rows or their patterns, and what the answer cost. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { useKeys } from "../frame/keys.tsx";
import { usePlace } from "../frame/router.ts";
import { HistogramView } from "./histogram_view.tsx";
import {
  cost,
  hasMore,
  isRunning,
  loadOlder,
  patterns,
  range,
  readAddress,
  rows,
  searched,
  searchRange,
  show,
  toggleTerm,
  typed,
  view,
} from "./log_state.ts";
import { PATTERN_ROWS } from "./log_statements.ts";
import { patternTerm } from "./pattern_term.ts";
import { RowView } from "./row_view.tsx";
import { SearchBar } from "./search_bar.tsx";

export function LogsPage(): JSX.Element {
  usePlace("", readAddress);
  useKeys([
    { key: "/", does: "goes to the search", run: () => document.getElementById("search")?.focus() },
    { key: "j", does: "goes to the next row", run: () => focusLine(1) },
    { key: "k", does: "goes to the row before", run: () => focusLine(-1) },
  ]);
  return (
    <>
      <SearchBar />
      <HistogramView />
      <nav class="views" aria-label="View">
        <ViewButton name="rows" label="Rows" />
        <ViewButton name="patterns" label="Patterns" />
      </nav>
      <main aria-busy={isRunning.value}>{view.value === "rows" ? <Rows /> : <Patterns />}</main>
      <CostLine />
    </>
  );
}

function focusLine(by: 1 | -1): void {
  const lines = [...document.querySelectorAll<HTMLElement>(".row > .line")];
  lines[lines.findIndex((line) => line === document.activeElement) + by]?.focus();
}

function ViewButton({ name, label }: {
  readonly name: "rows" | "patterns";
  readonly label: string;
}): JSX.Element {
  return (
    <button type="button" aria-pressed={view.value === name} onClick={() => show(name)}>
      {label}
    </button>
  );
}

function Rows(): JSX.Element {
  const end = useRef<HTMLLIElement>(null);
  useEffect(() => {
    if (end.current === null) return;
    const observer = new IntersectionObserver(([entry]) => {
      if (entry?.isIntersecting === true) loadOlder();
    }, { rootMargin: "600px" });
    observer.observe(end.current);
    return () => observer.disconnect();
  }, [rows.value, hasMore.value]);
  const shown = rows.value;
  if (shown === undefined) return <Waiting />;
  if (shown.length === 0) return <Nothing />;
  return (
    <ol class="rows">
      {shown.map((row) => <RowView key={row.place.timestampNs} row={row} />)}
      <li ref={end} class="end">{hasMore.value ? "Loading older rows…" : "These are all rows."}</li>
    </ol>
  );
}

/** Before the first answer; what failed is told beside the search. */
function Waiting(): JSX.Element {
  return <p class="empty" aria-live="polite">{isRunning.value ? "Searching…" : ""}</p>;
}

/** Why there may be nothing, and what to do. */
function Nothing(): JSX.Element {
  const current = range.value;
  const isShort = current.kind === "last" && current.ms < 30 * 86_400_000;
  return (
    <section class="empty" aria-live="polite">
      <h2>No rows</h2>
      {searched.value !== "" && (
        <p>
          No row of this time is found by <code>{searched.value}</code>.{" "}
          <button type="button" onClick={() => (typed.value = "", show("rows"))}>
            Search for everything
          </button>
        </p>
      )}
      {isShort && (
        <p>
          Rows may be older.{" "}
          <button type="button" onClick={() => searchRange({ kind: "last", ms: 30 * 86_400_000 })}>
            Look at 30 days
          </button>
        </p>
      )}
      <p>Nothing was sent yet? Send a log with curl, to the ingest server:</p>
      <pre>{EXAMPLE}</pre>
    </section>
  );
}

const EXAMPLE =
  `curl http://${location.hostname}:8088/v1/logs -H 'content-type: application/json' -d '
{"resourceLogs":[{"scopeLogs":[{"logRecords":[{"severityText":"INFO",
 "timeUnixNano":"'$(date +%s)'000000000","body":{"stringValue":"hello"}}]}]}]}'`;

function Patterns(): JSX.Element {
  const shown = patterns.value;
  if (shown === undefined) return <Waiting />;
  if (shown.length === 0) return <Nothing />;
  const total = shown.reduce((sum, { count }) => sum + count, 0);
  return (
    <table class="patterns">
      <caption>
        Shapes of the newest {PATTERN_ROWS.toLocaleString()} rows, the most frequent first
      </caption>
      <thead>
        <tr>
          <th scope="col">Rows</th>
          <th scope="col">Share</th>
          <th scope="col">Pattern</th>
        </tr>
      </thead>
      <tbody>
        {shown.map(({ text, count, example }) => {
          const term = patternTerm(text);
          return (
            <tr key={text}>
              <td>{count.toLocaleString()}</td>
              <td>{(100 * count / total).toFixed(1)} %</td>
              <td title={example}>
                {term === undefined ? text : (
                  <button
                    type="button"
                    title={`Only such rows, for example: ${example}`}
                    onClick={() => (view.value = "rows", toggleTerm(term))}
                  >
                    {text}
                  </button>
                )}
              </td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

function CostLine(): JSX.Element {
  const answer = cost.value;
  if (answer === undefined) return <footer class="cost" />;
  const { stats, cost: { files_considered, files_to_scan }, serverMs } = answer;
  const parts = [
    `served by ${stats.served_by}`,
    `${files_to_scan} of ${files_considered} files`,
    `${stats.rows_scanned.toLocaleString()} rows scanned`,
    bytesText(stats.bytes_scanned),
    ...serverMs === undefined ? [] : [`${serverMs.toFixed(0)} ms`],
  ];
  return <footer class="cost">{parts.join(" · ")}</footer>;
}

function bytesText(bytes: number): string {
  const units = ["B", "KiB", "MiB", "GiB"];
  const at = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${(bytes / 2 ** (10 * at)).toFixed(at === 0 ? 0 : 1)} ${units[at]}`;
}
