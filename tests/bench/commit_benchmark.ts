/**
 * Commits to a table of 100 snapshots and 10,000 files on local disk, synced, with the catalog in
 * SQLite. One file is appended, and eight files of a day are replaced by one. Commits read no data
 * file, so there are none: entries have the bounds and counts that files of `events` have.
 */

import { cpuUsage } from "node:process";
import { assert } from "../../shared/base/assert.ts";
import { utf8 } from "../../shared/base/bytes.ts";
import { dayOfNs, NS_PER_DAY } from "../../shared/base/time.ts";
import { openSqliteCatalog } from "../../shared/catalog/sqlite_catalog.ts";
import { EVENTS_SCHEMA, EVENTS_TABLE } from "../../shared/schema/events.ts";
import { DEFAULT_NAMESPACE } from "../../shared/tenant/tenant.ts";
import { commitAppend, ensureTable } from "../../shared/iceberg/commit_append.ts";
import { commitRewrite } from "../../shared/iceberg/commit_rewrite.ts";
import type { CommitDeps } from "../../shared/iceberg/commit_table.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { dataFileKey } from "../../shared/iceberg/locations.ts";
import { encodeSingleValue } from "../../shared/iceberg/single_value.ts";
import type { NewDataFile, Table } from "../../shared/iceberg/types.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom, uuidV4 } from "../../shared/os/random.ts";
import { openLocalStore } from "../../shared/storage/local_store.ts";
import { type Benchmark, type BenchRow, formatCount, formatMs, median } from "./benchmark.ts";
import { START_NS } from "./table_fixture.ts";

const FILES = 10_000;
const SNAPSHOTS = 100;
const DAYS = 10;
const FIRST_DAY = dayOfNs(START_NS);
const LAST_DAY = FIRST_DAY + DAYS - 1;
const WARM_UP = 3;
const ROUNDS = 25;
const REPLACED = 8;
const ROWS_A_FILE = 100_000;
/** A bound as long as those of most columns of logs. */
const TEXT_MIN = "2026-11-20 a text of some forty letters ";
const TEXT_MAX = "worker-17 a text of some forty letters  ";
const COMMIT_MS_MAX = 30;
const NEW_TABLE = {
  ident: { namespace: DEFAULT_NAMESPACE, name: EVENTS_TABLE },
  schema: EVENTS_SCHEMA,
} as const;

type Deps = CommitDeps & { readonly reader: IcebergReader };

export const COMMIT: Benchmark = {
  name: "commit",
  summary: "commits to a table of many files, on local disk",
  sizes: { small: { rows: FILES, seconds: 0 }, full: { rows: FILES, seconds: 0 } },
  async run({ rows: files }) {
    const dir = await Deno.makeTempDir({ prefix: "svc-bench-commit-" });
    try {
      await using catalog = await openSqliteCatalog({ path: `${dir}/catalog.db` });
      const random = new SystemRandom();
      const store = openLocalStore(new DenoFileSystem(), dir, { random });
      const reader = new IcebergReader(store);
      const deps = { store, catalog, clock: new SystemClock(), random, reader };
      await fill(deps, files);
      const of = `${SNAPSHOTS} snapshots, ${formatCount(files)} files`;
      return [
        await measured(
          `a file appended, ${of}`,
          () => appending(deps, { count: 1, day: LAST_DAY }),
        ),
        await measured(`${REPLACED} files replaced by one, ${of}`, () => replacing(deps)),
      ];
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
};

type Commit = () => Promise<{ readonly outcome: string }>;

/** Days one after the other. */
async function fill(deps: Deps, files: number): Promise<void> {
  for (let at = 0; at < SNAPSHOTS; at += 1) {
    const day = FIRST_DAY + Math.floor(at * DAYS / SNAPSHOTS);
    const commit = await appending(deps, { count: files / SNAPSHOTS, day });
    await commit();
  }
}

async function appending(
  deps: Deps,
  { count, day }: { readonly count: number; readonly day: number },
): Promise<Commit> {
  const table = await ensureTable(deps, NEW_TABLE);
  const files = Array.from(
    { length: count },
    () => fileOf(deps, table, { day, rows: ROWS_A_FILE }),
  );
  return () => commitAppend(deps, { ...NEW_TABLE, files, consumed: [] });
}

/** Replaces files of the last day, as a merge does. */
async function replacing(deps: Deps): Promise<Commit> {
  const { ident } = NEW_TABLE;
  const { metadataLocation } = await ensureTable(deps, NEW_TABLE);
  const table = await deps.reader.loadTable(ident, metadataLocation);
  const { files } = await deps.reader.selectFiles(table);
  const replaced = files.filter(({ day }) => day === LAST_DAY).slice(0, REPLACED);
  const rows = replaced.reduce((sum, file) => sum + file.rows, 0);
  const merged = fileOf(deps, table, { day: LAST_DAY, rows });
  const rewrite = {
    ident,
    tableUuid: table.uuid,
    kind: "merge",
    replaced,
    files: [merged],
  } as const;
  return () => commitRewrite(deps, rewrite);
}

function fileOf(
  { random }: Deps,
  table: Table,
  { day, rows }: { readonly day: number; readonly rows: number },
): NewDataFile {
  const timestampNsMin = BigInt(day) * NS_PER_DAY + BigInt(random.bytes(1)[0] ?? 0);
  const timestampNsMax = timestampNsMin + BigInt(rows);
  const bounds = (ns: bigint, text: string) =>
    new Map(EVENTS_SCHEMA.columns.map(({ id, type }) => [
      id,
      type === "string" ? utf8(text) : encodeSingleValue(type, type === "long" ? ns : ns / 1_000n),
    ]));
  const counts = (count: number) => new Map(EVENTS_SCHEMA.columns.map(({ id }) => [id, count]));
  return {
    key: dataFileKey(table, day, uuidV4(random)),
    rows,
    byteLength: 100 * rows,
    day,
    timestampNsMin,
    timestampNsMax,
    lowerBounds: bounds(timestampNsMin, TEXT_MIN),
    upperBounds: bounds(timestampNsMax, TEXT_MAX),
    nullCounts: counts(0),
    valueCounts: counts(rows),
    columnSizes: counts(12 * rows),
    splitOffsets: [4, 50 * rows],
    sortOrderId: table.sortOrderId,
  };
}

async function measured(what: string, prepare: () => Promise<Commit>): Promise<BenchRow> {
  const wallMs: number[] = [];
  const busyMs: number[] = [];
  for (let round = -WARM_UP; round < ROUNDS; round += 1) {
    const commit = await prepare();
    const before = cpuUsage();
    const start = performance.now();
    const { outcome } = await commit();
    const ms = performance.now() - start;
    const { user, system } = cpuUsage(before);
    assert(outcome === "committed", `a commit ends with ${outcome}`);
    if (round < 0) continue;
    wallMs.push(ms);
    busyMs.push((user + system) / 1_000);
  }
  const ms = median(wallMs);
  return {
    what,
    ours: `${formatMs(ms)}, slowest ${formatMs(Math.max(...wallMs))}, ` +
      `processor time ${formatMs(median(busyMs))}`,
    reference: "",
    ratio: "",
    target: `≤ ${COMMIT_MS_MAX} ms`,
    reached: ms <= COMMIT_MS_MAX,
  };
}
