/** What an answer cost, in a line; a click explains the plan of its statement. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { requestJson } from "../api/request.ts";
import { goTo } from "../frame/router.ts";
import { bytesText } from "../view/bytes_text.ts";
import { durationText, wholeText } from "../view/number_text.ts";
import { CopyButton } from "../view/copy_button.tsx";
import { type Cost, failureOf, histogramMs, rowsCost } from "./log_state.ts";
import { refreshed } from "./refreshed.ts";

/** docs/api/query.md#explain-and-dry-run */
interface Explained {
  readonly cost: { readonly complexity_class: string; readonly warnings: readonly string[] };
  readonly served_by: string;
  readonly plan: string;
}

interface Plan {
  readonly sql: string;
  /** Undefined until the server answers. */
  readonly text: string | undefined;
}

const shown = signal<Plan | undefined>(undefined);

export function StatusLine(): JSX.Element {
  const cost = rowsCost.value;
  if (cost === undefined) return <footer class="cost" />;
  return (
    <footer class="cost">
      <button
        type="button"
        class="cost-line"
        title="Explain the plan of this statement"
        onClick={() => explain(cost)}
      >
        {costText(cost)}
      </button>
      <span class="times">
        {histogramMs.value !== undefined &&
          `histogram ${durationText(whole(histogramMs.value))} · `}
        {cost.answer.serverMs !== undefined && `rows ${durationText(whole(cost.answer.serverMs))}`}
      </span>
      <button type="button" class="cost-line" onClick={() => explain(cost)}>explain</button>
    </footer>
  );
}

function costText({ answer: { stats, cost } }: Cost): string {
  return [
    `served by ${stats.served_by}`,
    `${cost.files_to_scan} of ${cost.files_considered} files`,
    `${wholeText(stats.rows_scanned)} rows scanned`,
    bytesText(stats.bytes_scanned),
  ].join(" · ");
}

function whole(ms: number): number {
  return ms < 1 ? ms : Math.round(ms);
}

async function explain({ sql }: Cost): Promise<void> {
  const signal = refreshed("plan");
  shown.value = { sql, text: undefined };
  const tell = (text: string) => {
    if (!signal.aborted && shown.peek() !== undefined) shown.value = { sql, text };
  };
  try {
    const { plan, served_by, cost } = await requestJson("sql/explain", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: sql }),
      signal,
    }) as Explained;
    tell([`served by ${served_by} · ${cost.complexity_class}`, ...cost.warnings, "", plan]
      .join("\n"));
  } catch (error) {
    if (!signal.aborted) tell(failureOf(error).message);
  }
}

export function PlanDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const plan = shown.value;
  const isOpen = plan !== undefined;
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog
      ref={dialog}
      class="plan-dialog"
      aria-labelledby="plan-title"
      onClose={() => shown.value = undefined}
    >
      {plan !== undefined && (
        <>
          <header>
            <h2 id="plan-title">How the rows are found</h2>
            <CopyButton text={() => plan.sql}>copy the SQL</CopyButton>
            <button
              type="button"
              onClick={() => {
                dialog.current?.close();
                goTo("sql", new URLSearchParams({ query: plan.sql }));
              }}
            >
              open in SQL
            </button>
            <button type="button" onClick={() => dialog.current?.close()}>Close</button>
          </header>
          <pre class="sql-text" tabIndex={0} aria-label="Statement">{plan.sql}</pre>
          <pre tabIndex={0} aria-label="Plan" aria-busy={plan.text === undefined}>
            {plan.text ?? "…"}
          </pre>
        </>
      )}
    </dialog>
  );
}
