/**
 * Tables of the columns that `SpreadStatements` asks for, each with something that servers which
 * share statements must agree on. Doubles are eighths, so that their sums are exact.
 */

import { present } from "../../shared/base/assert.ts";
import { dayOfNs } from "../../shared/base/time.ts";
import { encodeBatch } from "../../shared/columns/ipc.ts";
import { batchOfRows, type RowObject } from "../../shared/columns/rows.ts";
import { ensureTable } from "../../shared/iceberg/commit_append.ts";
import type { ColumnType, TableSchema } from "../../shared/schema/schema.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { commitDeletes } from "../../shared/testing/foreign_deletes.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { addColumns } from "./sql_lab.ts";

/** In the order in which they are asked, the plain one more often than others. */
export const SHARED_TABLES = [
  /** Several files. */
  "events",
  /** Files and segments from before and after new columns; rows that only the WAL holds. */
  "events_grown",
  "events",
  /** Fewer files than servers. */
  "events_one",
  "events",
  "events_grown",
  /** Neither files nor rows. */
  "events_none",
  "events",
  /** Rows that another engine deleted. */
  "events_less",
] as const;

const START_NS = 1_790_000_000_000_000_000n;
const FILES = 7;
const ROWS_A_FILE = 120;

function schemaOf(text: string): TableSchema {
  const columns = text.split(" ").map((one, at) => {
    const [name = "", type = ""] = one.split(":");
    return { id: at + 1, name, type: type as ColumnType, required: at < 2 };
  });
  return { columns, tags: [] };
}

const TIMES = "timestamp:timestamptz timestamp_ns:long";
const FIRST_COLUMNS = `${TIMES} id:long host:string raw:string code:int hits:long`;
const FIRST_EVENTS = schemaOf(FIRST_COLUMNS);
const EVENTS = schemaOf(`${FIRST_COLUMNS} value:double ok:bool`);
const HOSTS = schemaOf(`${TIMES} host:string team:string weight:int`);

function identOf(name: string) {
  return { namespace: "svc", name };
}

export async function openSharedTables(seed: number): Promise<WarehouseLab> {
  const lab = await WarehouseLab.open({ wal: true });
  const rows = new Rows(new SeededRandom(seed));
  for (let file = 0; file < FILES; file += 1) {
    await lab.commitRows(rows.next(), { ident: identOf("events"), schema: EVENTS });
  }
  await lab.commitRows(rows.next(), { ident: identOf("events_one"), schema: EVENTS });
  const { store, catalog, clock, random } = lab;
  await ensureTable({ store, catalog, clock, random }, {
    ident: identOf("events_none"),
    schema: EVENTS,
  });
  await openGrown(lab, rows);
  await openLess(lab, rows);
  const hosts = Array.from(
    { length: 4 },
    (_, at) => timed(at, { host: `h${at}`, team: `t${at % 2}`, weight: at }),
  );
  await lab.commitRows(hosts, { ident: identOf("hosts"), schema: HOSTS });
  return lab;
}

async function openGrown(lab: WarehouseLab, rows: Rows): Promise<void> {
  const ident = identOf("events_grown");
  const lane = { tenant: "default", index: ident.name };
  const append = async (schema: TableSchema) => {
    await lab.wal?.append(lane, encodeBatch(batchOfRows(schema, rows.next(schema))), "auto");
  };
  for (let file = 0; file < 2; file += 1) {
    await lab.commitRows(rows.next(FIRST_EVENTS), { ident, schema: FIRST_EVENTS });
  }
  await addColumns(lab, EVENTS, ident);
  for (let file = 0; file < 2; file += 1) {
    await lab.commitRows(rows.next(), { ident, schema: EVENTS });
  }
  await append(FIRST_EVENTS);
  await lab.wal?.seal(lane);
  await append(EVENTS);
}

async function openLess(lab: WarehouseLab, rows: Rows): Promise<void> {
  const ident = identOf("events_less");
  const { store, catalog, clock, random } = lab;
  const files = async () =>
    (await Array.fromAsync(store.list(""))).map(({ key }) => key)
      .filter((key) => key.endsWith(".parquet"));
  const before = await files();
  await lab.commitRows(rows.next(), { ident, schema: EVENTS });
  const key = present((await files()).find((one) => !before.includes(one)));
  await lab.commitRows(rows.next(), { ident, schema: EVENTS });
  const places = [0, 7, 8, 100];
  await commitDeletes({ store, catalog, clock, random }, ident, [{
    kind: "position",
    day: dayOfNs(START_NS),
    rows: places.map((place) => ({ location: `${store.rootUri}/${key}`, place })),
  }]);
}

/** Rows of one file after the other. */
class Rows {
  #made = 0;
  constructor(private readonly random: SeededRandom) {}

  next({ columns }: TableSchema = EVENTS): RowObject[] {
    const { random } = this;
    const some = <T>(share: number, value: () => T) => random.chance(share) ? value() : null;
    const names = new Set(columns.map(({ name }) => name));
    return Array.from({ length: ROWS_A_FILE }, () => {
      const id = this.#made;
      this.#made += 1;
      const row = {
        id: BigInt(id),
        host: some(0.85, () => `h${random.below(5)}`),
        raw: `row ${random.below(40)}`,
        code: some(0.9, () => random.below(13) - 2),
        hits: some(0.9, () => BigInt(random.below(2 ** 32)) * 2n ** 31n - 2n ** 62n),
        value: some(0.9, () => random.below(64) / 8),
        ok: some(0.8, () => random.chance(0.5)),
      };
      const known = Object.entries(row).filter(([name]) => names.has(name));
      return timed(id * 10, Object.fromEntries(known));
    });
  }
}

function timed(at: number, row: RowObject): RowObject {
  const ns = START_NS + BigInt(at) * 1_000_000_000n;
  return { timestamp: ns / 1_000n, timestamp_ns: ns, ...row };
}
