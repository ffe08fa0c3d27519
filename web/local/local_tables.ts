/** The tables that this browser keeps, and statements over them. */

import { signal } from "@preact/signals";
import { loadPart } from "../api/load_part.ts";
import type { LocalAnswer, LocalEngine } from "./local_engine.ts";
import { localMessage } from "./local_error.ts";
import { type KeptTable, listKept, readKept, removeKept, writeKept } from "./local_store.ts";

export const keptTables = signal<readonly KeptTable[]>([]);
/** What the user waits for, while DuckDB is loaded or takes rows. */
export const localWork = signal<string | undefined>(undefined);

export const KEPT_ROWS_MAX = 1_000_000;
export const KEPT_BYTES_MAX = 512 * 2 ** 20;

/** A statement that failed here; its message is for people. */
export class LocalError extends Error {
  override readonly name = "LocalError";
}

let engine: Promise<LocalEngine> | undefined;
/** Tables that DuckDB holds, with the time at which they were kept. */
const held = new Map<string, number>();
/** Other tabs keep and drop tables, too. */
const news = new BroadcastChannel("svc.local");
news.onmessage = () => void listTables();

/** Reads the list of kept tables. */
export async function listTables(): Promise<void> {
  keptTables.value = await listKept();
}

/** Why a text is no name of a table; undefined: it is one. */
export function nameProblem(name: string): string | undefined {
  if (/^[a-z_][a-z0-9_]{0,62}$/.test(name)) return undefined;
  return "Give a name of small letters, digits and _ that begins with a letter";
}

/** Keeps rows in Arrow IPC as `local.<name>`, in place of what had the name. */
export async function keepTable(
  name: string,
  { sql, bytes }: { readonly sql: string; readonly bytes: Uint8Array<ArrayBuffer> },
): Promise<KeptTable> {
  try {
    const duckdb = await openEngine();
    localWork.value = `Taking the rows of local.${name} …`;
    const rows = await duckdb.take(name, bytes);
    const none = new AbortController().signal;
    const { columns, types } = await duckdb.run(`FROM local.${name} LIMIT 0`, {
      rowsMax: 0,
      signal: none,
    });
    const table: KeptTable = {
      name,
      rows,
      bytes: bytes.byteLength,
      keptMs: Date.now(),
      sql,
      columns: columns.map((column, at) => ({ name: column, type: types[at] ?? "" })),
    };
    await writeKept(table, bytes).catch((cause) => {
      throw new LocalError(
        `The browser has no room to keep local.${name}: drop a table, or keep fewer rows. ` +
          `Until the page is closed the table can be used. (${cause?.message ?? cause})`,
        { cause },
      );
    });
    held.set(name, table.keptMs);
    return table;
  } catch (error) {
    throw told(error);
  } finally {
    localWork.value = undefined;
    await listTables();
    news.postMessage("kept");
  }
}

/** Forgets a table. */
export async function dropTable(name: string): Promise<void> {
  await removeKept(name);
  const duckdb = await engine;
  if (held.delete(name) && duckdb?.isClosed === false) await duckdb.drop(name);
  await listTables();
  news.postMessage("dropped");
}

/**
 * Runs a statement here; `tables` are the local ones that it names. Errors: `LocalError`; the
 * signal's reason.
 */
export async function runLocally(
  sql: string,
  { tables, rowsMax, signal }: {
    readonly tables: Iterable<string>;
    readonly rowsMax: number;
    readonly signal: AbortSignal;
  },
): Promise<LocalAnswer> {
  try {
    const duckdb = await withTables(tables);
    return await duckdb.run(sql, { rowsMax, signal });
  } catch (error) {
    signal.throwIfAborted();
    throw told(error);
  }
}

/** Returns the rows of a statement over local tables, in Arrow IPC. Errors: `LocalError`. */
export async function localArrow(
  sql: string,
  tables: Iterable<string>,
): Promise<Uint8Array<ArrayBuffer>> {
  try {
    const duckdb = await withTables(tables);
    return await duckdb.arrowOf(sql, { rowsMax: KEPT_ROWS_MAX });
  } catch (error) {
    throw told(error);
  }
}

/** DuckDB, holding the kept ones of `tables` as they are now. */
async function withTables(tables: Iterable<string>): Promise<LocalEngine> {
  try {
    await listTables();
    const duckdb = await openEngine();
    for (const name of tables) {
      const kept = keptTables.value.find((table) => table.name === name);
      if (held.get(name) === kept?.keptMs) continue;
      localWork.value = `Reading local.${name} …`;
      const bytes = kept === undefined ? undefined : await readKept(name);
      if (kept === undefined || bytes === undefined) {
        held.delete(name);
        await duckdb.drop(name);
        continue;
      }
      await duckdb.take(name, bytes);
      held.set(name, kept.keptMs);
    }
    return duckdb;
  } finally {
    localWork.value = undefined;
  }
}

async function openEngine(): Promise<LocalEngine> {
  if ((await engine)?.isClosed === true) {
    engine = undefined;
    held.clear();
  }
  if (engine === undefined) localWork.value = "Loading DuckDB into the page …";
  engine ??= loadPart(() => import("./local_engine.ts"), new AbortController().signal)
    .then(({ LocalEngine }) => LocalEngine.open());
  try {
    return await engine;
  } catch (error) {
    engine = undefined;
    throw error;
  }
}

function told(error: unknown): unknown {
  if (error instanceof LocalError || error instanceof DOMException) return error;
  // WebAssembly that broke is started anew with the next statement.
  if (
    error instanceof WebAssembly.RuntimeError || /memory access|unreachable/.test(String(error))
  ) {
    void engine?.then((broken) => broken.close());
  }
  const message = error instanceof Error ? error.message : String(error);
  return new LocalError(localMessage(message, keptTables.value.map(({ name }) => name)), {
    cause: error,
  });
}
