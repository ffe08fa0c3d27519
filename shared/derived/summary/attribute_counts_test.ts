/** How a summary counts columns of attributes: all of them, after tags, where indexes are made. */

import assert from "node:assert/strict";
import { present } from "../../base/assert.ts";
import { batchOfRows, type RowObject } from "../../columns/rows.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { parsePromotion, unaskedColumn, withPromoted } from "../../schema/promoted.ts";
import type { Blob, FileRows } from "../types.ts";
import { summaryBlobs, type SummaryLimits, uncountedColumns } from "./build_summary.ts";
import { CUBE_COUNTS_BLOB, GROUP_COUNTS_BLOB, MEASURES_BLOB } from "./summary_blobs.ts";
import { VALUE_COUNTS_BLOB } from "./value_counts.ts";

const ASKED = parsePromotion("asked:string");
const CODE = present(unaskedColumn("code", "integer"));
const TOOK = present(unaskedColumn("took", "number"));
const SEVERITY = present(unaskedColumn("severity_text"));
const NESTED = present(unaskedColumn("$.user.plan"));
/** Each with as many values as its place, from 1 on. */
const FURTHER = Array.from({ length: 30 }, (_, at) => present(unaskedColumn(`further${at}`)));
const SCHEMA = withPromoted(EVENTS_SCHEMA, [
  CODE,
  TOOK,
  ...FURTHER.slice(9),
  SEVERITY,
  ASKED,
  ...FURTHER.slice(0, 9),
  NESTED,
]);
const HOST = present(SCHEMA.columns.find(({ name }) => name === "host"));

/** The blobs of 40 rows. */
function blobsOf(text: FileRows["text"], limits: SummaryLimits = {}): Blob[] {
  const rows = Array.from({ length: 40 }, (_, n): RowObject => ({
    timestamp: BigInt(n),
    timestamp_ns: 1_000n * BigInt(n),
    host: `h${n % 2}`,
    source: "s",
    sourcetype: "t",
    index: "i",
    raw: "",
    [ASKED.name]: `a${n % 3}`,
    [CODE.name]: BigInt(n % 4),
    [TOOK.name]: n / 8,
    [SEVERITY.name]: n % 5 === 0 ? "WARN" : "INFO",
    [NESTED.name]: n % 2 === 0 ? "free" : "paid",
    ...Object.fromEntries(FURTHER.map(({ name }, at) => [name, `${n % (at + 1)}`])),
  }));
  const batches = [batchOfRows(SCHEMA, rows)];
  const file = { schema: SCHEMA, rows: rows.length, batches, text, rowGroupRows: 65_536 };
  return summaryBlobs(file, limits);
}

function fieldsOf(blobs: readonly Blob[], type: string): string[] {
  return blobs.filter((blob) => blob.type === type).map(({ fields }) => fields.join());
}

Deno.test("summaryBlobs counts all columns of attributes by value and minute, without fractions", () => {
  const blobs = blobsOf([]);
  const counted = fieldsOf(blobs, GROUP_COUNTS_BLOB);
  const byMinute = fieldsOf(blobs, CUBE_COUNTS_BLOB);
  const [minute] = SCHEMA.columns;
  for (const { id, name } of [ASKED, CODE, SEVERITY, NESTED, ...FURTHER]) {
    assert.ok(counted.includes(String(id)), name);
    assert.ok(byMinute.includes(`${minute?.id},${id}`), name);
  }
  assert.ok(!counted.includes(String(TOOK.id)));
  assert.deepEqual(uncountedColumns({ schema: SCHEMA, rows: 40 }, blobs), []);
});

Deno.test("summaryBlobs counts tags first, then the severity, then what has fewer values", () => {
  const counted = fieldsOf(blobsOf([]), GROUP_COUNTS_BLOB).map(Number);
  const place = ({ id }: { readonly id: number }) => counted.indexOf(id);
  assert.ok(place(ASKED) < 5);
  const attributes = [SEVERITY, NESTED, ...FURTHER.slice(2, 30)].map(place);
  assert.deepEqual(attributes, attributes.toSorted((a, b) => a - b));
});

Deno.test("summaryBlobs leaves out the attributes with the most values where bytes do not suffice", () => {
  const whole = blobsOf([]);
  const bytesOf = (all: readonly Blob[]) => all.reduce((sum, { data }) => sum + data.byteLength, 0);
  // What has one value comes last, and takes next to nothing.
  const last = bytesOf(whole.filter(({ fields }) => fields.at(-1) === FURTHER[0]?.id));
  const blobs = blobsOf([], { bytesMax: bytesOf(whole) - last - 1 });
  const dropped = fieldsOf(whole, CUBE_COUNTS_BLOB)
    .filter((fields) => !fieldsOf(blobs, CUBE_COUNTS_BLOB).includes(fields));
  assert.deepEqual(dropped, [`${SCHEMA.columns[0]?.id},${FURTHER.at(-1)?.id}`]);
  assert.deepEqual(fieldsOf(blobs, MEASURES_BLOB), fieldsOf(whole, MEASURES_BLOB));
});

Deno.test("summaryBlobs counts four columns with many values beside the summary, texts first", () => {
  const blobs = blobsOf([], { groupValuesMax: 3 });
  const beside = blobs.filter(({ type }) => type === VALUE_COUNTS_BLOB).map(({ fields }) => fields);
  const texts = FURTHER.filter((_, at) => at >= 9).slice(0, 4);
  assert.deepEqual(beside, texts.map(({ id }) => [id]));
  assert.deepEqual(uncountedColumns({ schema: SCHEMA, rows: 40 }, blobs), []);
  const old = blobs.filter(({ fields }) => fields[0] !== texts[3]?.id);
  assert.deepEqual(uncountedColumns({ schema: SCHEMA, rows: 40 }, old), [texts[3]]);
});

Deno.test("summaryBlobs measures fractions before whole numbers, and eight columns at most", () => {
  const numbers = Array.from({ length: 9 }, (_, at) => [
    present(unaskedColumn(`whole${at}`, "integer")),
    present(unaskedColumn(`part${at}`, "number")),
  ]).flat();
  const schema = withPromoted(EVENTS_SCHEMA, numbers);
  const rows = Array.from({ length: 600 }, (_, n): RowObject => ({
    timestamp: BigInt(n),
    timestamp_ns: 1_000n * BigInt(n),
    host: "h",
    source: "s",
    sourcetype: "t",
    index: "i",
    raw: "",
    ...Object.fromEntries(
      numbers.map(({ name, type }) => [name, type === "long" ? BigInt(n) : n / 8]),
    ),
  }));
  const batches = [batchOfRows(schema, rows)];
  const blobs = summaryBlobs({ schema, rows: 600, batches, text: [], rowGroupRows: 65_536 });
  const measured = fieldsOf(blobs, MEASURES_BLOB).filter((fields) => !fields.includes(","));
  const times = schema.columns.slice(0, 2);
  const fractions = numbers.filter(({ type }) => type === "double").slice(0, 6);
  assert.deepEqual(measured, [...times, ...fractions].map(({ id }) => String(id)));
});

Deno.test("summaryBlobs pairs the severity first, and measures numbers but no codes", () => {
  const blobs = blobsOf([]);
  const pairs = fieldsOf(blobs, CUBE_COUNTS_BLOB);
  assert.ok(pairs.includes(`${HOST.id},${SEVERITY.id}`));
  assert.ok(!pairs.includes(`${HOST.id},${FURTHER[3]?.id}`));
  const measures = fieldsOf(blobs, MEASURES_BLOB);
  assert.ok(measures.includes(String(TOOK.id)) && measures.includes(`${HOST.id},${TOOK.id}`));
  assert.ok(measures.includes(`${SEVERITY.id},${TOOK.id}`));
  assert.ok(!measures.some((fields) => fields.split(",").at(-1) === String(CODE.id)));
});

Deno.test("summaryBlobs counts no attributes where indexes wait for the merge", () => {
  const fields = blobsOf(undefined).slice(1).flatMap((blob) => blob.fields);
  for (const { id, name } of [CODE, TOOK, SEVERITY, ...FURTHER]) {
    assert.ok(!fields.includes(id), name);
  }
  assert.ok(fields.includes(ASKED.id));
});
