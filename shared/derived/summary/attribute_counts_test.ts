/** Which columns of attributes a summary counts: a dozen, after tags, where indexes are made. */

import assert from "node:assert/strict";
import { present } from "../../base/assert.ts";
import { batchOfRows, type RowObject } from "../../columns/rows.ts";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import { parsePromotion, unaskedColumn, withPromoted } from "../../schema/promoted.ts";
import type { Blob, FileRows } from "../types.ts";
import { summaryBlobs, uncountedColumns } from "./build_summary.ts";
import { CUBE_COUNTS_BLOB, GROUP_COUNTS_BLOB, MEASURES_BLOB } from "./summary_blobs.ts";

const ASKED = parsePromotion("asked:string");
const CODE = present(unaskedColumn("code", "integer"));
const TOOK = present(unaskedColumn("took", "number"));
const SEVERITY = present(unaskedColumn("severity_text"));
const FURTHER = Array.from({ length: 12 }, (_, at) => present(unaskedColumn(`further${at}`)));
const SCHEMA = withPromoted(EVENTS_SCHEMA, [
  CODE,
  TOOK,
  ...FURTHER.slice(0, 9),
  SEVERITY,
  ASKED,
  ...FURTHER.slice(9),
]);
const HOST = present(SCHEMA.columns.find(({ name }) => name === "host"));

/** The blobs of 40 rows. */
function blobsOf(text: FileRows["text"]): Blob[] {
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
    ...Object.fromEntries(FURTHER.map(({ name }, at) => [name, `${n % (at + 1)}`])),
  }));
  const batches = [batchOfRows(SCHEMA, rows)];
  return summaryBlobs({ schema: SCHEMA, rows: rows.length, batches, text, rowGroupRows: 65_536 });
}

function fieldsOf(blobs: readonly Blob[], type: string): string[] {
  return blobs.filter((blob) => blob.type === type).map(({ fields }) => fields.join());
}

Deno.test("summaryBlobs counts the first dozen columns of attributes by value, without fractions, after the others", () => {
  const blobs = blobsOf([]);
  const counted = fieldsOf(blobs, GROUP_COUNTS_BLOB);
  const unasked = [CODE, ...FURTHER.slice(0, 9), SEVERITY, ...FURTHER.slice(9, 10)].map(({ id }) =>
    String(id)
  );
  assert.deepEqual(counted.slice(-12), unasked);
  assert.ok(counted.includes(String(ASKED.id)) && counted.indexOf(String(ASKED.id)) < 5);
  const [minute] = SCHEMA.columns;
  assert.ok(fieldsOf(blobs, CUBE_COUNTS_BLOB).includes(`${minute?.id},${SEVERITY.id}`));
  assert.deepEqual(uncountedColumns({ schema: SCHEMA, rows: 40 }, blobs), []);
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
