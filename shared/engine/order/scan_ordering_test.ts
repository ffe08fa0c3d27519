/**
 * Orderings of docs/api/query.md#stats that depend on the table, its files or the options: each on
 * a real table.
 */

import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { OperatingError } from "../../base/errors.ts";
import { commitTable } from "../../iceberg/commit_table.ts";
import { stageMetadata } from "../../iceberg/stage_snapshot.ts";
import type { TableMetadata } from "../../iceberg/table_metadata.ts";
import { DenoFileSystem } from "../../os/deno_file_system.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import { openLocalReader } from "../../storage/local_store.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { defaultFanIn } from "./fan_in.ts";
import type { FanIn } from "./ordered_scan.ts";

const START_NS = 1_790_000_000_000_000_000n;
const DAY_NS = 86_400_000_000_000n;
const NEWEST = "SELECT raw FROM events ORDER BY timestamp DESC, timestamp_ns DESC LIMIT 3";

type SortOrder = TableMetadata["sort-orders"][number];
type SortField = SortOrder["fields"][number];

function field(source: number, changes: Partial<SortField> = {}): SortField {
  return {
    ...{
      transform: "identity",
      "source-id": source,
      direction: "asc",
      "null-order": "nulls-first",
    },
    ...changes,
  };
}

/** Field ids of `events`: 1 timestamp, 2 timestamp_ns, 3 host. */
const DECLARED: readonly (readonly [ordering: string, fields: readonly SortField[] | undefined])[] =
  [
    ["advertised", [field(1), field(2)]],
    ["advertised", [field(1), field(2), field(3)]],
    ["no_sort_order", []],
    ["unknown_sort_order", undefined],
    ["non_identity_sort", [field(1, { transform: "hour" }), field(2)]],
    ["missing_sort_field", [field(1), field(99)]],
    ["non_timestamp_sort", [field(3), field(1)]],
    ["mixed_sort_direction", [field(1), field(2, { direction: "desc" })]],
    ["mixed_sort_direction", [field(1, { direction: "desc" }), field(2, { direction: "desc" })]],
    ["missing_sort_column", [field(1)]],
  ];

Deno.test({
  name: "orderRefusal by what the table declares, and the answer is the same",
  fn: async (t) => {
    for (const [ordering, fields] of DECLARED) {
      await t.step(`${ordering} ${JSON.stringify(fields)}`, async () => {
        await using lab = await EngineLab.open();
        await commitFiles(lab, [0n, 0n]);
        await declare(lab, fields);
        const answer = await lab.query(NEWEST);
        strictEqual(answer.stats.scan?.ordering, ordering);
        deepStrictEqual(answer.rows, [["1.4"], ["0.4"], ["1.3"]]);
      });
    }
  },
});

const FAN_INS: readonly (readonly [ordering: string, days: readonly bigint[], fanIn: FanIn])[] = [
  ["advertised", [0n, 0n, 0n], { partitionMax: 3, globalMax: 3 }],
  ["fan_in", [0n, 0n, 0n], { partitionMax: 2, globalMax: 9 }],
  ["fan_in", [0n, 0n, 0n, 1n], { partitionMax: 2, globalMax: 2 }],
  ["global_fan_in", [0n, 0n, 1n, 1n], { partitionMax: 2, globalMax: 3 }],
  ["advertised", [0n, 0n, 1n, 1n], { partitionMax: 2, globalMax: 4 }],
];

Deno.test({
  name: "orderedParts past its fan-in reads whole files, and the answer is the same",
  fn: async (t) => {
    for (const [ordering, days, fanIn] of FAN_INS) {
      await t.step(`${ordering} ${days} ${JSON.stringify(fanIn)}`, async () => {
        await using lab = await EngineLab.open({ engine: { fanIn } });
        await commitFiles(lab, days);
        const rows = days.length * 5 - 1;
        const sql = NEWEST.replace("LIMIT 3", `LIMIT ${rows}`);
        const answer = await lab.query(sql);
        strictEqual(answer.stats.scan?.ordering, ordering);
        const times = await lab.query(
          `SELECT timestamp_ns FROM events ORDER BY timestamp_ns DESC, raw LIMIT ${rows}`,
        );
        const narrowed = await lab.query(sql.replace("raw", "timestamp_ns"));
        deepStrictEqual(narrowed.texts, times.texts);
      });
    }
  },
});

Deno.test({
  name: "defaultFanIn by the number of cores",
  fn: () => {
    deepStrictEqual(defaultFanIn(1), { partitionMax: 16, globalMax: 32 });
    deepStrictEqual(defaultFanIn(8), { partitionMax: 32, globalMax: 64 });
    deepStrictEqual(defaultFanIn(64), { partitionMax: 64, globalMax: 128 });
  },
});

Deno.test({
  name: "orderedParts footers that cannot be read leave the scan whole: order_walk_failed",
  fn: async () => {
    await using lab = await EngineLab.open();
    await commitFiles(lab, [0n]);
    const store = withoutFooters(openLocalReader(new DenoFileSystem(), `${lab.dir}/warehouse`));
    await using deaf = await EngineLab.open({ engine: { store, catalog: lab.catalog } });
    const answer = await deaf.query(NEWEST);
    strictEqual(answer.stats.scan?.ordering, "order_walk_failed");
    deepStrictEqual(answer.rows, [["0.4"], ["0.3"], ["0.2"]]);
  },
});

/** A file per entry of `days`, five rows each, called `file.row`; those of a day overlap. */
async function commitFiles(lab: EngineLab, days: readonly bigint[]): Promise<void> {
  for (const [file, day] of days.entries()) {
    await lab.commit(Array.from({ length: 5 }, (_, row) => ({
      ns: START_NS + day * DAY_NS + BigInt(row * 10 + file) * 1_000n,
      raw: `${file}.${row}`,
    })));
  }
}

/**
 * Makes the table's default sort order one of `fields`; undefined: one that its metadata does not
 * have.
 */
async function declare(lab: EngineLab, fields: readonly SortField[] | undefined): Promise<void> {
  const { store, catalog, clock, random } = lab;
  const deps = { store, catalog, clock, random };
  await commitTable(deps, { namespace: "svc", name: "events" }, (table, staging) => {
    if (table === undefined) throw new Error("there is no table");
    const id = 7;
    const orders = table.metadata["sort-orders"];
    const next = {
      ...table.metadata,
      "sort-orders": fields === undefined
        ? orders
        : [...orders, { "order-id": id, fields: [...fields] }],
      "default-sort-order-id": id,
    };
    const staged = stageMetadata(deps, { table, exists: true }, { next, staging });
    return { ...staged, snapshotId: 0n, consumed: [] };
  });
}

/** Metadata can be read, data files only by DuckDB itself. */
function withoutFooters(store: ReadableStore): ReadableStore {
  return new Proxy(store, {
    get(target, member) {
      const value = Reflect.get(target, member);
      if (typeof value !== "function") return value;
      return (key: unknown, ...rest: unknown[]) => {
        if (String(key).endsWith(".parquet") && member !== "localPath") {
          return Promise.reject(new OperatingError("unavailable", "the store does not answer"));
        }
        return Reflect.apply(value, target, [key, ...rest]);
      };
    },
  });
}
