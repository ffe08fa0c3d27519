/**
 * DuckDB in this process, over a warehouse: for `sql-direct`, `query` and `iceberg-demo`.
 * Reads the warehouse only; spill files go to a folder of their own under the system's temporary
 * one, removed at the end.
 */

import { tmpdir } from "node:os";
import { join } from "node:path";
import { textOf } from "../shared/base/bytes.ts";
import { counted } from "../shared/base/counted.ts";
import type { CatalogReader } from "../shared/catalog/catalog.ts";
import { openCatalogReader } from "../shared/catalog/open_catalog.ts";
import type { OptionTable, Settings } from "../shared/config/options.ts";
import { defaultPoolBytes } from "../shared/engine/duckdb/memory_pool_size.ts";
import { openEngine } from "../shared/engine/open_engine.ts";
import type { Engine, RunningQuery } from "../shared/engine/types.ts";
import { tenantOf } from "../shared/tenant/tenant.ts";
import { SystemClock } from "../shared/os/clock.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { environment } from "../shared/os/environment.ts";
import { memoryLimitBytes } from "../shared/os/memory_limit.ts";
import { SystemRandom, uuidV4 } from "../shared/os/random.ts";
import { openStoreReader } from "../shared/storage/open_store.ts";
import type { WalReader } from "../shared/wal/types.ts";
import type { Console } from "./console.ts";
import { type JsonValue, parseExactJson } from "./sql/exact_json.ts";
import { renderAnswer } from "./sql/answer_text.ts";
import type { WarehousePaths } from "./warehouse_options.ts";

export const RESULT_OPTIONS = {
  namespace: {
    kind: "text",
    flag: "tenant-namespace",
    env: "SVC_TENANT_NAMESPACE",
    placeholder: "NAMESPACE",
    default: "svc",
    help: "Namespace whose tables the statement can name.",
  },
  format: {
    kind: "text",
    flag: "format",
    placeholder: "FORMAT",
    default: "table",
    choices: ["table", "ndjson"],
    help: "How rows are printed.",
  },
  maxRows: {
    kind: "integer",
    flag: "max-rows",
    placeholder: "ROWS",
    default: 10_000,
    min: 1,
    max: 1_000_000,
    help: "Print at most this many rows.",
  },
} as const satisfies OptionTable;

export type ResultSettings = Settings<typeof RESULT_OPTIONS>;

/** A command waits as long as its user does. */
const DEADLINE_MS = 24 * 3_600_000;
const MIB = 1024 * 1024;
const SPILL_BYTES_MAX = 16 * 1024 * MIB;
const CHUNK_CHARS = 64 * 1024;

/** An engine that is closed, and its folder removed, with the returned disposable. */
export interface DirectEngine extends AsyncDisposable {
  readonly engine: Engine;
  readonly catalog: CatalogReader;
}

/** An engine in this process, over a warehouse without a query server. */
export async function openDirectEngine(
  paths: WarehousePaths,
  options: { wal?: WalReader } = {},
): Promise<DirectEngine> {
  const files = new DenoFileSystem();
  const clock = new SystemClock();
  const random = new SystemRandom();
  const cacheDir = join(tmpdir(), `svc-sql-${uuidV4(random)}`);
  await using opening = new AsyncDisposableStack();
  opening.defer(() => files.removeTree(cacheDir).catch(() => {}));
  const catalog = opening.use(await openCatalogReader(paths.catalog));
  const engine = opening.use(
    await openEngine({
      ...options,
      store: openStoreReader(paths.root, { files, clock, random, env: environment }),
      catalog,
      files,
      cacheDir,
      memoryBytesMax: defaultPoolBytes(memoryLimitBytes()),
      spillBytesMax: SPILL_BYTES_MAX,
      clock,
      random,
    }),
  );
  const opened = opening.move();
  return { engine, catalog, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

/** Runs one statement and prints its rows. Errors: those of `Engine.prepare`. */
export async function printSql(
  engine: Engine,
  sql: string,
  { settings, console }: { settings: ResultSettings; console: Console },
): Promise<void> {
  await using prepared = await engine.prepare({
    sql,
    namespace: settings.namespace,
    tenant: tenantOf(settings.namespace),
    defaultOrder: true,
    rowsMax: settings.maxRows,
    deadlineMs: DEADLINE_MS,
  });
  await using running = await prepared.run();
  const print = settings.format === "ndjson" ? printLines : printTable;
  const truncated = await print(running, settings.maxRows, console);
  if (!truncated) return;
  await console.notes.write(
    `svc: only the first ${
      settings.maxRows === 1 ? "row is" : `${settings.maxRows} rows are`
    } shown: raise --max-rows for more\n`,
  );
}

/** Whether there were more rows than `rowsMax`. */
async function printLines(
  running: RunningQuery,
  rowsMax: number,
  console: Console,
): Promise<boolean> {
  let printed = 0;
  let pending = "";
  for await (const chunk of running.chunks("objects")) {
    const wanted = Math.min(chunk.rowCount, rowsMax - printed);
    pending += textOf(chunk.bytes(wanted));
    printed += wanted;
    if (pending.length >= CHUNK_CHARS) {
      await console.output.write(pending);
      pending = "";
    }
    if (wanted < chunk.rowCount) {
      await console.output.write(pending);
      return true;
    }
  }
  await console.output.write(pending);
  return false;
}

async function printTable(
  running: RunningQuery,
  rowsMax: number,
  console: Console,
): Promise<boolean> {
  const rows: JsonValue[][] = [];
  for await (const chunk of running.chunks("arrays")) {
    const list = textOf(chunk.bytes()).slice(0, -1); // Each row ends with a comma.
    rows.push(...parseExactJson(`[${list}]`) as JsonValue[][]);
  }
  const names = running.columns.map((column) => column.name);
  const { output } = console;
  const lines = renderAnswer(names, rows.slice(0, rowsMax), {
    width: output.columns(),
    color: output.isStyled,
  });
  const shown = Math.min(rows.length, rowsMax);
  await output.write(`${lines.join("\n")}\n(${counted(shown, "row")})\n`);
  return rows.length > rowsMax;
}
