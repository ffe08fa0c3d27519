/** The editor's place in the page. Until CodeMirror is there, nothing can be typed. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { signal, useSignal } from "@preact/signals";
import { loadPart } from "../api/load_part.ts";
import { keptTables } from "../local/local_tables.ts";
import { rowsText } from "../view/number_text.ts";
import type { SqlFunction, SqlNames } from "./complete_sql.ts";
import type { EditorMark, SqlEditor } from "./editor.ts";
import { serverTables } from "./server_tables.ts";
import { draft, runs, runText } from "./sql_state.ts";

/** The editor that is open; undefined until it is loaded. */
export const editor = signal<SqlEditor | undefined>(undefined);

/** Runs what is selected, or all of the text. */
export function runEditor(): void {
  const selected = editor.peek()?.selected();
  if (selected === undefined) runText(draft.peek());
  else runText(selected.text, { offset: selected.from });
}

let functions: readonly SqlFunction[] = [];

export function EditorView(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const failure = useSignal<string | undefined>(undefined);
  useEffect(() => {
    const leaving = new AbortController();
    const { signal: left } = leaving;
    const load = () => Promise.all([import("./editor.ts"), import("./functions.json")]);
    loadPart(load, left).then(([code, list]) => {
      if (left.aborted || host.current === null) return;
      functions = list.default;
      editor.value = code.openEditor(host.current, {
        text: draft.peek(),
        onChange: (text) => draft.value = text,
        onRun: runEditor,
        names: knownNames,
      });
      if (matchMedia("(pointer: fine)").matches) editor.value.focus();
    }).catch((error: Error) => {
      if (!left.aborted) failure.value = error.message;
    });
    return () => {
      leaving.abort();
      editor.peek()?.close();
      editor.value = undefined;
    };
  }, []);
  const open = editor.value;
  useEffect(() => open?.setText(draft.value), [open, draft.value]);
  const failed = errorMark();
  useEffect(() => open?.mark(failed), [open, failed?.span.from, failed?.message]);
  return (
    <div class="sql-editor" ref={host}>
      {failure.value !== undefined && <p class="failed" role="alert">{failure.value}</p>}
    </div>
  );
}

/** The error of the run that failed, at its place in the whole text. */
function errorMark(): EditorMark | undefined {
  for (const { statement, outcome } of runs.value) {
    if (outcome?.kind !== "failed" || outcome.span === undefined) continue;
    // What was typed since has moved or mended the place.
    const { sql, from } = statement;
    if (draft.value.slice(from, from + sql.length) !== sql) return undefined;
    const span = { from: from + outcome.span.from, to: from + outcome.span.to };
    return { span, message: outcome.message };
  }
  return undefined;
}

function knownNames(): SqlNames {
  const there = serverTables.peek().map(({ name, columns = [], attributes }) => ({
    name,
    detail: "on the server",
    columns,
    attributes,
  }));
  const here = keptTables.peek().map(({ name, rows, columns }) => ({
    name: `local.${name}`,
    detail: `${rowsText(rows)}, in this browser`,
    columns,
    attributes: [],
  }));
  return { tables: [...there, ...here], functions };
}
