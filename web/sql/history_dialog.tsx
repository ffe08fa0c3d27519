/** The statements that ran in this browser, to take one up again. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { durationText, rowsText } from "../view/number_text.ts";
import { agoText, timeTitle } from "../view/time_text.ts";
import { editor } from "./editor_view.tsx";
import { draft } from "./sql_state.ts";
import { clearHistory, type PastStatement, statementHistory } from "./statement_history.ts";

const isOpen = signal(false);

export function openHistory(): void {
  isOpen.value = true;
}

export function HistoryDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const [words, setWords] = useState("");
  useEffect(() => {
    if (isOpen.value) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen.value]);
  const wanted = words.toLowerCase();
  const shown = statementHistory.value.filter(({ sql }) => sql.toLowerCase().includes(wanted));
  return (
    <dialog
      ref={dialog}
      class="history-dialog"
      aria-labelledby="history-title"
      onClose={() => isOpen.value = false}
    >
      <h2 id="history-title">Statements that ran in this browser</h2>
      <input
        type="search"
        aria-label="Find a statement"
        placeholder="Find"
        value={words}
        onInput={({ currentTarget }) => setWords(currentTarget.value)}
      />
      {shown.length === 0 && <p>{wanted === "" ? "Nothing ran yet." : "No statement has this."}</p>}
      <ol>{shown.map((past) => <Past key={past.atMs} past={past} />)}</ol>
      <form method="dialog">
        <button type="button" onClick={clearHistory}>Forget all</button>
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

function Past({ past: { sql, atMs, tookMs, rows, where } }: {
  readonly past: PastStatement;
}): JSX.Element {
  const now = Date.now();
  const take = () => {
    draft.value = sql;
    isOpen.value = false;
    editor.peek()?.focus();
  };
  return (
    <li>
      <button type="button" onClick={take}>
        <code>{sql}</code>
        <span title={timeTitle(atMs, now)}>
          {agoText(atMs, now)} · {rows === undefined ? "failed" : rowsText(rows)} ·{" "}
          {durationText(tookMs)} · {where === "browser" ? "in this browser" : "on the server"}
        </span>
      </button>
    </li>
  );
}
