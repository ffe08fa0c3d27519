/** What can be done with a result: keep it as a local table, or save it as a file. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef, useState } from "preact/hooks";
import { RequestError } from "../api/request.ts";
import {
  keepTable,
  KEPT_BYTES_MAX,
  KEPT_ROWS_MAX,
  keptTables,
  localArrow,
  LocalError,
  nameProblem,
  runLocally,
} from "../local/local_tables.ts";
import { bytesText } from "../view/bytes_text.ts";
import { rowsText } from "../view/number_text.ts";
import { saveFile } from "../view/save_file.ts";
import { askFile, type DownloadFormat, readBytes } from "./sql_requests.ts";
import type { Run } from "./sql_state.ts";
import { csvFile, ndjsonFile } from "./value_text.ts";

/** What is told beside the buttons. */
type Told = { readonly text: string; readonly isError?: boolean } | undefined;

const work = signal<{ readonly run: number; readonly stop: AbortController } | undefined>(
  undefined,
);

export function ResultActions({ run }: { readonly run: Run }): JSX.Element {
  const [told, setTold] = useState<Told>(undefined);
  const act = async (does: (signal: AbortSignal) => Promise<string>) => {
    work.peek()?.stop.abort();
    const stop = new AbortController();
    work.value = { run: run.id, stop };
    setTold(undefined);
    try {
      setTold({ text: await does(stop.signal) });
    } catch (error) {
      if (stop.signal.aborted) setTold({ text: "Stopped" });
      else if (error instanceof RequestError || error instanceof LocalError) {
        setTold({ text: error.message, isError: true });
      } else throw error;
    } finally {
      if (work.peek()?.stop === stop) work.value = undefined;
    }
  };
  const onBytes = (bytes: number) => setTold({ text: `${bytesText(bytes)} …` });
  return (
    <div class="result-actions">
      <KeepForm
        key={run.id}
        onKeep={(name) => act((signal) => keep(run, { name, signal, onBytes }))}
      />
      <Downloads
        isLocal={run.where === "browser"}
        onDownload={(format) => act((signal) => download(run, { format, signal, onBytes }))}
      />
      {work.value?.run === run.id && (
        <button
          type="button"
          onClick={() => work.peek()?.stop.abort()}
        >
          Stop
        </button>
      )}
      <output class={told?.isError === true ? "failed" : undefined}>{told?.text}</output>
    </div>
  );
}

function KeepForm({ onKeep }: { readonly onKeep: (name: string) => void }): JSX.Element {
  const [name, setName] = useState(() => freeName());
  const field = useRef<HTMLInputElement>(null);
  const isKept = keptTables.value.some((table) => table.name === name);
  return (
    <form
      class="keep"
      onSubmit={(event) => {
        event.preventDefault();
        const problem = nameProblem(name);
        field.current?.setCustomValidity(problem ?? "");
        if (field.current?.reportValidity() === true) onKeep(name);
      }}
    >
      <label>
        local.
        <input
          ref={field}
          aria-label="Name of the local table"
          value={name}
          spellcheck={false}
          autocomplete="off"
          onInput={({ currentTarget }) => {
            currentTarget.setCustomValidity("");
            setName(currentTarget.value);
          }}
        />
      </label>
      <button
        type="submit"
        title={`Keep up to ${rowsText(KEPT_ROWS_MAX)} of this statement in this browser`}
      >
        {isKept ? "Replace" : "Keep"}
      </button>
    </form>
  );
}

function freeName(): string {
  const taken = new Set(keptTables.peek().map(({ name }) => name));
  for (let n = 1;; n += 1) {
    const name = `result_${n}`;
    if (!taken.has(name)) return name;
  }
}

const FORMATS: readonly DownloadFormat[] = ["csv", "ndjson", "parquet", "arrow"];
/** What the page itself can write, of rows that are here. */
const LOCAL_FORMATS: readonly DownloadFormat[] = ["csv", "ndjson", "arrow"];

function Downloads({ isLocal, onDownload }: {
  readonly isLocal: boolean;
  readonly onDownload: (format: DownloadFormat) => void;
}): JSX.Element {
  return (
    <label class="download">
      Download{" "}
      <select
        value=""
        onChange={({ currentTarget }) => {
          const format = FORMATS.find((one) => one === currentTarget.value);
          currentTarget.value = "";
          if (format !== undefined) onDownload(format);
        }}
      >
        <option value="">as …</option>
        {(isLocal ? LOCAL_FORMATS : FORMATS).map((format) => (
          <option key={format} value={format}>{format}</option>
        ))}
      </select>
    </label>
  );
}

type Act = { readonly signal: AbortSignal; readonly onBytes: (bytes: number) => void };

async function keep(run: Run, { name, signal, onBytes }: Act & { name: string }): Promise<string> {
  const { statement: { sql }, where, tables } = run;
  const bytes = where === "browser" ? await localArrow(sql, tables) : await readBytes(
    await askFile(sql, { format: "arrow", rowsMax: KEPT_ROWS_MAX, signal }),
    { bytesMax: KEPT_BYTES_MAX, onBytes },
  );
  signal.throwIfAborted();
  const { rows } = await keepTable(name, { sql, bytes });
  return `local.${name} has ${rowsText(rows)}` +
    (rows === KEPT_ROWS_MAX ? ", which is the most that is kept" : "");
}

async function download(
  run: Run,
  { format, signal, onBytes }: Act & { readonly format: DownloadFormat },
): Promise<string> {
  const { statement: { sql }, where } = run;
  const file = where === "browser" ? await localFile(run, format, signal) : new Blob([
    await readBytes(
      await askFile(sql, { format, rowsMax: KEPT_ROWS_MAX, signal }),
      { bytesMax: Infinity, onBytes },
    ),
  ]);
  const name = `result.${format}`;
  saveFile(file, name);
  return `${name}: ${bytesText(file.size)}`;
}

async function localFile(run: Run, format: DownloadFormat, signal: AbortSignal): Promise<Blob> {
  const { statement: { sql }, tables } = run;
  if (format === "arrow") return new Blob([await localArrow(sql, tables)]);
  const { columns, rows } = await runLocally(sql, { tables, rowsMax: KEPT_ROWS_MAX, signal });
  return new Blob([format === "csv" ? csvFile(columns, rows) : ndjsonFile(columns, rows)]);
}
