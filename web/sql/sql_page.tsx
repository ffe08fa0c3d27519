/** The page SQL: an editor, its results, and the tables beside them. */

import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useKeys } from "../frame/keys.tsx";
import { usePlace } from "../frame/router.ts";
import { CostDialog } from "./cost_dialog.tsx";
import { COST_BOUNDS, costBound, setCostBound } from "./cost_question.ts";
import { editor, EditorView, runEditor } from "./editor_view.tsx";
import { HistoryDialog, openHistory } from "./history_dialog.tsx";
import { ResultView } from "./result_view.tsx";
import { SidePanel } from "./side_panel.tsx";
import { draft, isRunning, readAddress, runText, stop, type Wish } from "./sql_state.ts";
import { ValueDialog } from "./value_dialog.tsx";

export function SqlPage(): JSX.Element {
  usePlace("sql", readAddress);
  useEffect(() => stop, []);
  const [isSideOpen, setSideOpen] = useState(() => matchMedia("(min-width: 800px)").matches);
  useKeys([
    { key: "/", does: "goes to the statement", run: () => editor.peek()?.focus() },
    { key: "h", does: "shows the statements that ran", run: openHistory },
  ]);
  return (
    <main class="sql-page" data-side={isSideOpen ? "open" : "closed"}>
      {isSideOpen && <SidePanel />}
      <div class="sql-work">
        <EditorView />
        <div class="sql-bar">
          <RunButtons />
          <span class="side">
            <button
              type="button"
              aria-pressed={isSideOpen}
              onClick={() => setSideOpen(!isSideOpen)}
            >
              Tables
            </button>
            <button type="button" onClick={openHistory}>History</button>
            <BoundChoice />
          </span>
        </div>
        <ResultView />
      </div>
      <CostDialog />
      <HistoryDialog />
      <ValueDialog />
    </main>
  );
}

function RunButtons(): JSX.Element {
  const ask = (wish: Wish) => () => {
    const selected = editor.peek()?.selected();
    if (selected === undefined) runText(draft.peek(), { wish });
    else runText(selected.text, { offset: selected.from, wish });
  };
  if (isRunning.value) {
    return (
      <span>
        <button type="button" class="first" onClick={stop}>■ Stop</button>
      </span>
    );
  }
  return (
    <span>
      <button
        type="button"
        class="first"
        title="Ctrl-Enter; a selection runs alone"
        onClick={runEditor}
      >
        ▶ Run
      </button>
      <button type="button" title="What it would read; runs nothing" onClick={ask("cost")}>
        Cost
      </button>
      <button type="button" title="How it would run; runs nothing" onClick={ask("plan")}>
        Plan
      </button>
      <button type="button" title="Runs beside other work, for up to an hour" onClick={ask("job")}>
        Batch job
      </button>
    </span>
  );
}

function BoundChoice(): JSX.Element {
  return (
    <label>
      Ask before reading{" "}
      <select
        value={String(costBound.value)}
        onChange={({ currentTarget }) => setCostBound(Number(currentTarget.value))}
      >
        {COST_BOUNDS.map(({ label, bytes }) => (
          <option key={label} value={String(bytes)}>{label}</option>
        ))}
      </select>
    </label>
  );
}
