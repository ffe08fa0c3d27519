/**
 * Equal rows with random attributes in two warehouses: one without columns for attributes, and one
 * that gets such columns between its drains.
 */

import { INLINE_DERIVER } from "../../shared/derived/deriver.ts";
import type { EngineOptions } from "../../shared/engine/open_engine.ts";
import { textColumnsOf } from "../../shared/derived/text_columns.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import type { Column } from "../../shared/schema/schema.ts";
import { parsePromotion, unaskedColumn } from "../../shared/schema/promoted.ts";
import { batchOfRows, type RowObject } from "../../shared/columns/rows.ts";
import { commitAppend, ensureTable } from "../../shared/iceberg/commit_append.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { INLINE_PARQUET_DECODER } from "../../shared/parquet/parquet_decoder.ts";
import { DataFileWriter } from "../../shared/tables/data_file_writer.ts";
import { fitTo } from "../../shared/tables/fit_schema.ts";
import { applyMigration } from "../../shared/tables/migrate.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { applyMerge, lookForMerges } from "../../shared/upkeep/merge.ts";
import { MERGE_POLICY_DEFAULT } from "../../shared/upkeep/plan_merge.ts";

const NS = 1_763_700_000_000_000_000n;
const IDENT = { namespace: "svc", name: "events" };

/** Rows of one drain; `null` has no attributes. */
export type Batch = readonly (string | null)[];

/** Columns that operators ask for in the second warehouse. */
export const SEEN_COLUMNS: readonly Column[] = [
  ...["status:int", "severity_text:string", "$.http.status:int", "$.http.user.id:string"],
].map(parsePromotion);

/** How a statement says what `SEEN_COLUMNS` hold, where there are none. */
export const SEEN_VALUES: Readonly<Record<string, string>> = {
  status: "TRY_CAST(attr_get(attributes, 'status') AS INTEGER)",
  severity_text: "attr_get(attributes, 'severity_text')",
  "$.http.status": "TRY_CAST(json_extract_string(TRY_CAST(attributes AS JSON), '$.http.status') " +
    "AS INTEGER)",
  "$.http.user.id": "json_extract_string(TRY_CAST(attributes AS JSON), '$.http.user.id')",
};

/**
 * Attributes of a row; with `isJson` false, some are texts that DuckDB takes for no JSON. With
 * `hasHuge` false, no number is so large that sums of doubles lose the others.
 */
export function randomAttributes(
  random: SeededRandom,
  { batch, isJson, hasHuge = true }: {
    readonly batch: number;
    readonly isJson: boolean;
    readonly hasHuge?: boolean;
  },
): string | null {
  const pick = <T>(of: readonly T[]): T => of[Math.floor(random.float() * of.length)] as T;
  const chance = (share: number) => random.float() < share;
  if (chance(0.04)) return null;
  if (chance(0.01)) return pick(["{}", "[]", "[1]", '"x"', "7", "null", " { } "]);
  const members: string[] = [];
  const add = (name: string, value: string) => members.push(`${JSON.stringify(name)}:${value}`);
  // Types change between rows and between files.
  const isClean = batch % 3 === 0;
  const odds = hasHuge ? [...ODD_VALUES, ...HUGE_VALUES] : ODD_VALUES;
  const odd = (value: string) => (!isClean && chance(0.1)) ? pick(odds) : value;
  if (chance(0.9)) add("severity_text", odd(pick(['"INFO"', '"INFO"', '"WARN"', '"ERROR"'])));
  if (chance(0.8)) add("status", odd(pick(["200", "200", "404", "503", "0", "-7"])));
  if (chance(0.7)) {
    add("user.id", odd(batch % 2 === 0 ? `"u${pick([1, 2, 3])}"` : pick(["7", '"7"'])));
  }
  if (chance(0.8)) {
    add(
      "duration_ms",
      odd(pick(["1.5", "12.25", "0.1", "3", "1e3", "250.0", "-0.5", "0.30000000000000004"])),
    );
  }
  if (chance(0.3)) add("flag", odd(pick(["true", "false", "null"])));
  if (chance(0.2)) add("nested", pick(['{"a":1,"status":5}', "[1,2]", '{"b":[{"c":null}]}', "{}"]));
  const http = [
    ...chance(0.8) ? [`"status":${odd(pick(["200", "404", "503"]))}`] : [],
    ...chance(0.8) ? [`"user":{"ms":${odd(pick(["1.5", "12", "0.1"]))},"id":${odd('"u1"')}}`] : [],
    ...!isClean && chance(0.1) ? ['"status":"twice"', '"user":7'] : [],
  ];
  if (chance(0.8)) add("http", `{${http.join()}}`);
  if (!isClean && chance(0.1)) add("http", pick(['{"status":1}', '"text"', "[1]"]));
  if (chance(0.5)) add("trace_id", `"${random.below(1_000_000).toString(16).padStart(8, "0")}"`);
  if (chance(0.3)) add('q"uo.te', odd('"quoted"'));
  if (chance(0.3)) add("schlüssel", pick(['"ünïcode"', '"\\u00fc"', '"😀"', '"a\\nb"', '"\\""']));
  for (let more = 0; more < 3; more += 1) add(`name${random.below(1_000)}`, pick(["1", '"x"']));
  if (!isClean && chance(0.1)) add("status", pick(["1", '"twice"', "null"]));
  if (!isJson && !isClean && chance(0.02)) add("severity_text", '"\\ud800"');
  const text = `{${members.join(pick([",", ", ", " ,\n"]))}}`;
  return !isJson && !isClean && chance(0.01) ? text.slice(0, -1) : text;
}

const ODD_VALUES = [
  ...["null", '"503"', '"0503"', "503.0", "1.50", "1e3", "-0", "-0.0", "0.0", "true", "5e-324"],
  ...['""', '" "', '"7 "', "{}", "[]", '{"x":1}', '"abc"', '"\\u0041"', "1E2"],
];
const HUGE_VALUES = [
  ...["1e400", "9007199254740993", "9223372036854775808", "-9223372036854775808"],
  "123456789012345678901234567890",
];

export interface AttributeLabOptions {
  readonly batches: readonly Batch[];
  /** Columns that are made before the batch of that place. */
  readonly columns: ReadonlyMap<number, readonly Column[]>;
  /** Batches after which files are merged. */
  readonly mergedAfter: ReadonlySet<number>;
  /** Whether the last two batches are only in the WAL, each in a segment of its own. */
  readonly wal: boolean;
  readonly engine?: Partial<EngineOptions>;
}

export async function openAttributeLab(options: AttributeLabOptions): Promise<EngineLab> {
  const { batches, columns, mergedAfter, wal, engine } = options;
  const lab = await EngineLab.open({ wal: true, ...(engine === undefined ? {} : { engine }) });
  const { store, catalog, clock, random } = lab;
  const deps = {
    ...{ store, catalog, clock, random },
    encoder: INLINE_PARQUET_ENCODER,
    decoder: INLINE_PARQUET_DECODER,
    deriver: INLINE_DERIVER,
  };
  for (const [at, attributes] of batches.entries()) {
    const rows = attributes.map((text, row) => eventRow(text, at * 1_000 + row));
    const made = columns.get(at) ?? [];
    if (made.length > 0) {
      await ensureTable(deps, { ident: IDENT, schema: EVENTS_SCHEMA });
      await applyMigration(deps, IDENT, made);
    }
    if (wal && at >= batches.length - 2) {
      await lab.append(rows.map(({ timestamp_ns, ...row }) => ({ ...row, ns: timestamp_ns })));
      await lab.wal?.seal({ tenant: "default", index: IDENT.name });
      continue;
    }
    const table = await ensureTable(deps, { ident: IDENT, schema: EVENTS_SCHEMA });
    const writer = new DataFileWriter(deps, table, {
      text: textColumnsOf(EVENTS_SCHEMA, undefined),
    });
    await writer.add(fitTo(table.schema, EVENTS_SCHEMA.columns)(batchOfRows(EVENTS_SCHEMA, rows)));
    const change = { ident: IDENT, schema: EVENTS_SCHEMA, consumed: [] };
    await commitAppend(deps, { ...change, files: await writer.finish() });
    if (!mergedAfter.has(at)) continue;
    const policy = { ...MERGE_POLICY_DEFAULT, fanIn: 2 };
    const plan = await lookForMerges(deps, IDENT, { policy });
    for (const task of plan?.tasks ?? []) {
      if (plan !== undefined) await applyMerge(deps, plan.table, task);
    }
  }
  return lab;
}

/** Hidden columns of random kinds, and perhaps operators' columns, before random batches. */
export function randomColumns(
  random: SeededRandom,
  names: readonly string[],
  { batches, seen }: { readonly batches: number; readonly seen: readonly Column[] },
): Map<number, readonly Column[]> {
  const columns = new Map<number, Column[]>();
  const add = (column: Column | undefined) => {
    if (column === undefined) return;
    const at = random.below(batches);
    columns.set(at, [...columns.get(at) ?? [], column]);
  };
  for (const name of names) {
    for (const kind of ["text", "integer", "number"] as const) {
      if (random.float() < 0.5) add(unaskedColumn(name, kind));
    }
  }
  for (const column of seen) add(column);
  return columns;
}

function eventRow(attributes: string | null, number: number): RowObject & {
  readonly timestamp_ns: bigint;
} {
  const ns = NS + BigInt(number) * 50_000_000n;
  return {
    timestamp: ns / 1_000n,
    timestamp_ns: ns,
    host: `h${number % 3}`,
    source: "s",
    sourcetype: "t",
    index: "main",
    // So long that rows of the WAL are converted without it where nobody needs it.
    raw: `row${number} of a text that is longer than others`,
    attributes,
  };
}
