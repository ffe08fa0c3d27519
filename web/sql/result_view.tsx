/** What came of a run: rows as table or chart, a plan, a cost, a job, or an error. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { PlaceLink } from "../frame/place_link.tsx";
import { localWork } from "../local/local_tables.ts";
import { bytesText } from "../view/bytes_text.ts";
import { durationText, rowsText, wholeText } from "../view/number_text.ts";
import { ChartView } from "./chart_view.tsx";
import { resultColumns } from "./column_kind.ts";
import { costText } from "./cost_dialog.tsx";
import { editor } from "./editor_view.tsx";
import { withoutQuote } from "./error_place.ts";
import { ResultActions } from "./result_actions.tsx";
import { ResultTable } from "./result_table.tsx";
import {
  isRunning,
  type Outcome,
  ROWS_MAX,
  type Run,
  runs,
  shownRun,
  staleRun,
} from "./sql_state.ts";

const view = signal<"table" | "chart">("table");

export function ResultView(): JSX.Element {
  const all = runs.value;
  const chosen = all[shownRun.value];
  const isStale = staleRun.value !== undefined && all.length === 1 &&
    chosen?.outcome === undefined && localWork.value === undefined;
  const run = isStale ? staleRun.value : chosen;
  return (
    <section
      class="sql-result"
      data-stale={isStale}
      aria-label="Result"
      aria-busy={isRunning.value}
    >
      {all.length > 1 && (
        <div class="run-tabs" role="group" aria-label="Results">
          {all.map(({ id, statement }, at) => (
            <button
              key={id}
              type="button"
              aria-pressed={at === shownRun.value}
              title={statement.sql}
              onClick={() => shownRun.value = at}
            >
              {at + 1}
            </button>
          ))}
        </div>
      )}
      {run === undefined ? <Nothing /> : <Shown key={run.id} run={run} />}
      <CostLine run={run} />
    </section>
  );
}

function Nothing(): JSX.Element {
  return (
    <div class="sql-empty">
      <p>
        Write a statement and press <kbd>Ctrl</kbd> <kbd>Enter</kbd>. A selection runs alone.
      </p>
      <pre>{EXAMPLE}</pre>
    </div>
  );
}

const EXAMPLE = `SELECT date_bin(INTERVAL '1 minute', timestamp) AS minute, source, count(*) AS n
FROM events WHERE timestamp > now() - INTERVAL 1 HOUR
GROUP BY ALL ORDER BY minute`;

function Shown({ run }: { readonly run: Run }): JSX.Element {
  const { outcome } = run;
  switch (outcome?.kind) {
    case undefined:
      return <p class="sql-waiting">{localWork.value ?? "Running …"}</p>;
    case "rows":
      return <Rows run={run} answer={outcome.answer} />;
    case "plan":
      return <pre class="plan" tabIndex={0} aria-label="Plan">{outcome.plan}</pre>;
    case "cost":
      return <Estimate outcome={outcome} />;
    case "job":
      return <Job outcome={outcome} />;
    case "failed":
      return <Failure run={run} outcome={outcome} />;
    case "stopped":
      return <p class="sql-waiting">Stopped.</p>;
  }
}

type OutcomeOf<Kind extends Outcome["kind"]> = Extract<Outcome, { readonly kind: Kind }>;

function Rows({ run, answer }: {
  readonly run: Run;
  readonly answer: OutcomeOf<"rows">["answer"];
}): JSX.Element {
  const columns = useMemo(() => resultColumns(answer), [answer]);
  const isChart = view.value === "chart";
  return (
    <>
      <div class="result-bar">
        <div role="group" aria-label="Show as">
          <button type="button" aria-pressed={!isChart} onClick={() => view.value = "table"}>
            Table
          </button>
          <button type="button" aria-pressed={isChart} onClick={() => view.value = "chart"}>
            Chart
          </button>
        </div>
        <ResultActions run={run} />
      </div>
      {answer.truncated === true && (
        <p class="cut" role="note">
          These are the first {wholeText(ROWS_MAX)}{" "}
          rows. Keep or download the result to have up to a million, or run it as a batch job.
        </p>
      )}
      {isChart
        ? <ChartView columns={columns} rows={answer.rows} />
        : <ResultTable columns={columns} rows={answer.rows} />}
    </>
  );
}

function Estimate({ outcome: { cost } }: { readonly outcome: OutcomeOf<"cost"> }): JSX.Element {
  return (
    <div class="sql-waiting">
      <p>It will read about {costText(cost)}.</p>
      {cost.warnings.map((warning) => <p key={warning}>{warning}</p>)}
    </div>
  );
}

function Job({ outcome: { job } }: { readonly outcome: OutcomeOf<"job"> }): JSX.Element {
  const { job_id, status, progress } = job;
  const query = new URLSearchParams({ job: job_id });
  const read = progress === undefined ? "" : `, ${rowsText(progress.rows)} read`;
  return (
    <p class="sql-waiting" role="status">
      Batch job <PlaceLink path="jobs" query={query}>{job_id}</PlaceLink> is {status}
      {read}. Its rows come here; it goes on when you leave.
    </p>
  );
}

function Failure({ run, outcome: { message, span } }: {
  readonly run: Run;
  readonly outcome: OutcomeOf<"failed">;
}): JSX.Element {
  const { sql, from } = run.statement;
  const line = span === undefined ? 0 : sql.slice(0, span.from).split("\n").length;
  const goThere = () => span !== undefined && editor.peek()?.goTo(from + span.from);
  return (
    <div class="sql-failure" role="alert">
      <pre>{span === undefined ? message : withoutQuote(message)}</pre>
      {span !== undefined && (
        <button type="button" onClick={goThere}>
          Line {line}: {sql.slice(span.from, span.to)}
        </button>
      )}
    </div>
  );
}

/** Where it ran, and what it cost, in one line. */
function CostLine({ run }: { readonly run: Run | undefined }): JSX.Element {
  if (run?.outcome === undefined) return <footer class="cost" />;
  const { outcome, where, tables, tookMs } = run;
  const parts: string[] = [];
  if (outcome.kind === "rows") {
    const { answer } = outcome;
    parts.push(rowsText(answer.rows.length));
    if ("stats" in answer) {
      const { stats, cost, serverMs } = answer;
      parts.push(
        `served by ${stats.served_by}`,
        `${wholeText(cost.files_to_scan)} of ${wholeText(cost.files_considered)} files`,
        `${rowsText(stats.rows_scanned)} scanned`,
        bytesText(stats.bytes_scanned),
        ...serverMs === undefined ? [] : [`${durationText(serverMs)} in the server`],
      );
    } else parts.push(...tables.map((table) => `local.${table}`), "no request");
  }
  parts.push(`${durationText(tookMs)} in all`);
  return (
    <footer class="cost">
      <span class={`where ${where}`}>
        {where === "browser" ? "Ran in this browser" : "Ran on the server"}
      </span>{" "}
      {parts.join(" · ")}
    </footer>
  );
}
