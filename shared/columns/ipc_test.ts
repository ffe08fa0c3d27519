import * as arrow from "apache-arrow";
import fc from "fast-check";
import assert from "node:assert/strict";
import { Table } from "parquet-wasm";
import { concatBytes, viewOf } from "../base/bytes.ts";
import { isOperatingError } from "../base/errors.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { TableSchema } from "../schema/schema.ts";
import type { ColumnBatch } from "./batch.ts";
import { ALL_TYPES_SCHEMA, rows as rowsArbitrary } from "../testing/batch_arbitrary.ts";
import {
  decodeBatch,
  decodeSchemaMessage,
  encodeBatch,
  encodeColumns,
  encodeSchemaMessage,
  epochOfSchemaMessage,
  ipcStreamOf,
} from "./ipc.ts";
import { batchOfRows, type ColumnValue, type RowObject, rowsOf } from "./rows.ts";

const SCHEMA_MESSAGE = encodeSchemaMessage(ALL_TYPES_SCHEMA);

/** The rows in the form of a WAL frame. */
function messageOf(batch: ColumnBatch): Uint8Array {
  return concatBytes(encodeBatch(batch).pieces);
}

/** The rows in the form that any reader of Arrow takes. */
function arrowMessageOf(batch: ColumnBatch): Uint8Array {
  return concatBytes(encodeColumns(batch).pieces);
}

/** Rows as apache-arrow reads them from a stream of ours. */
function arrowRows(stream: Uint8Array): RowObject[] {
  const table = arrow.tableFromIPC(stream);
  return table.batches.flatMap((batch) =>
    Array.from(
      { length: batch.numRows },
      (_, i) =>
        Object.fromEntries(table.schema.fields.map((field, column) => {
          const child = batch.getChildAt(column);
          return [field.name, arrowValue(child, i)];
        })),
    )
  );
}

function arrowValue(child: arrow.Vector | null, i: number): ColumnValue {
  if (child === null || !child.isValid(i)) return null;
  // The vector's own accessor turns timestamps into milliseconds.
  return child.type instanceof arrow.Timestamp ? child.data[0]?.values[i] : child.get(i);
}

Deno.test({
  name: "encodeSchemaMessage is read by apache-arrow: names, types, nullability, field ids",
  fn() {
    const { fields } = arrow.tableFromIPC(ipcStreamOf(SCHEMA_MESSAGE, [])).schema;
    assert.deepEqual(
      fields.map((field) => [
        field.name,
        String(field.type),
        field.nullable,
        field.metadata.get("PARQUET:field_id"),
      ]),
      [
        ["timestamp", "Timestamp<MICROSECOND, UTC>", false, "1"],
        ["timestamp_ns", "Int64", false, "2"],
        ["name", "Utf8", false, "7"],
        ["note", "Utf8", true, "8"],
        ["count", "Int32", true, "9"],
        ["ratio", "Float64", true, "11"],
        ["ok", "Bool", true, "12"],
        ["big", "Int64", true, "13"],
        ["at", "Timestamp<MICROSECOND, UTC>", true, "14"],
      ],
    );
  },
});

Deno.test({
  name: "a schema message carries its epoch; without one it is 0, and the bytes are as before",
  fn() {
    for (const epoch of [1, 7, 123_456]) {
      const message = encodeSchemaMessage({ ...ALL_TYPES_SCHEMA, epoch });
      assert.equal(epochOfSchemaMessage(message), epoch);
      assert.deepEqual(decodeSchemaMessage(message), decodeSchemaMessage(SCHEMA_MESSAGE));
      const stream = ipcStreamOf(message, []);
      assert.equal(arrow.tableFromIPC(stream).schema.metadata.get("svc.epoch"), String(epoch));
    }
    assert.equal(epochOfSchemaMessage(SCHEMA_MESSAGE), 0);
    assert.deepEqual(encodeSchemaMessage({ ...ALL_TYPES_SCHEMA, epoch: 0 }), SCHEMA_MESSAGE);
  },
});

Deno.test({
  name: "decodeSchemaMessage gives the columns back",
  fn() {
    for (const schema of [ALL_TYPES_SCHEMA, EVENTS_SCHEMA]) {
      assert.deepEqual(
        decodeSchemaMessage(encodeSchemaMessage(schema)),
        schema.columns.map(({ id, name, type, required }) => ({ id, name, type, required })),
      );
    }
  },
});

Deno.test({
  name: "encodeColumns is read by apache-arrow and by parquet-wasm, also of what decodeBatch read",
  fn() {
    fc.assert(
      fc.property(rowsArbitrary, rowsArbitrary, (first, second) => {
        const messages = [
          arrowMessageOf(batchOfRows(ALL_TYPES_SCHEMA, first)),
          arrowMessageOf(
            decodeBatch(messageOf(batchOfRows(ALL_TYPES_SCHEMA, second)), ALL_TYPES_SCHEMA),
          ),
        ];
        const stream = ipcStreamOf(SCHEMA_MESSAGE, messages);
        const expected = [...first, ...second].map(inSchemaOrder);
        assert.deepEqual(arrowRows(stream), expected);
        const throughWasm = Table.fromIPCStream(stream).intoIPCStream();
        assert.deepEqual(arrowRows(throughWasm), expected);
      }),
      { numRuns: 100 },
    );
  },
});

function inSchemaOrder(row: RowObject): RowObject {
  return Object.fromEntries(
    ALL_TYPES_SCHEMA.columns.map(({ name }) => [name, row[name] ?? null]),
  );
}

Deno.test({
  name: "encodeBatch gives the byte length and time range of its rows",
  fn() {
    fc.assert(
      fc.property(rowsArbitrary, (rows) => {
        const encoded = encodeBatch(batchOfRows(ALL_TYPES_SCHEMA, rows));
        const times = rows.map((row) => row.timestamp_ns as bigint).sort((a, b) => a < b ? -1 : 1);
        assert.equal(encoded.rows, rows.length);
        assert.equal(encoded.byteLength, concatBytes(encoded.pieces).byteLength);
        assert.equal(encoded.byteLength % 8, 0);
        assert.equal(encoded.timestampNsMin, times[0] ?? 0n);
        assert.equal(encoded.timestampNsMax, times.at(-1) ?? 0n);
      }),
    );
  },
});

Deno.test({
  name: "decodeBatch reads what encodeBatch wrote, at any alignment",
  fn() {
    fc.assert(
      fc.property(rowsArbitrary, fc.nat(9), (rows, shift) => {
        const message = messageOf(batchOfRows(ALL_TYPES_SCHEMA, rows));
        const shifted = concatBytes([new Uint8Array(shift), message]).subarray(shift);
        assert.deepEqual(rowsOf(decodeBatch(shifted, ALL_TYPES_SCHEMA)), rows.map(inSchemaOrder));
      }),
    );
  },
});

Deno.test({
  name: "decodeBatch reads what parquet-wasm wrote",
  fn() {
    fc.assert(
      fc.property(rowsArbitrary, (rows) => {
        const message = arrowMessageOf(batchOfRows(ALL_TYPES_SCHEMA, rows));
        const ours = ipcStreamOf(SCHEMA_MESSAGE, [message]);
        const [schemaMessage, ...messages] = messagesOf(Table.fromIPCStream(ours).intoIPCStream());
        assert.deepEqual(
          decodeSchemaMessage(schemaMessage ?? new Uint8Array(0)),
          decodeSchemaMessage(SCHEMA_MESSAGE),
        );
        assert.deepEqual(
          messages.flatMap((message) => rowsOf(decodeBatch(message, ALL_TYPES_SCHEMA))),
          rows.map(inSchemaOrder),
        );
      }),
      { numRuns: 100 },
    );
  },
});

const TWO_COLUMNS: TableSchema = {
  columns: [
    { id: 1, name: "n", type: "long", required: false },
    { id: 2, name: "s", type: "string", required: false },
  ],
  tags: [],
};

Deno.test({
  name: "decodeBatch reads what apache-arrow wrote",
  fn() {
    const table = new arrow.Table({
      n: arrow.vectorFromArray([1n, null, -(2n ** 63n)], new arrow.Int64()),
      s: arrow.vectorFromArray(["a", "ü", null], new arrow.Utf8()),
    });
    const [, message] = messagesOf(arrow.tableToIPC(table, "stream"));
    assert.deepEqual(rowsOf(decodeBatch(message ?? new Uint8Array(0), TWO_COLUMNS)), [
      { n: 1n, s: "a" },
      { n: null, s: "ü" },
      { n: -(2n ** 63n), s: null },
    ]);
  },
});

/** The messages of a stream as apache-arrow finds them; the end marker left out. */
function messagesOf(stream: Uint8Array): Uint8Array[] {
  const reader = new arrow.MessageReader(stream);
  const view = viewOf(stream);
  const messages: Uint8Array[] = [];
  let at = 0;
  for (let found = reader.readMessage(); found !== null; found = reader.readMessage()) {
    reader.readMessageBody(found.bodyLength);
    const end = at + 8 + view.getInt32(at + 4, true) + found.bodyLength;
    messages.push(stream.subarray(at, end));
    at = end;
  }
  return messages;
}

Deno.test({
  name: "decodeBatch throws corrupt or reads in bounds, whatever byte is damaged",
  fn() {
    // The first batch leaves `timestamp` out, `note` is one row and so is each column of nulls. The
    // second has all.
    const compact = [
      { timestamp: 1n, timestamp_ns: 1_000n, name: "one", note: "x", count: 1 },
      { timestamp: 2n, timestamp_ns: 2_000n, name: "two", note: "x", count: 2 },
    ];
    const plain = [
      { timestamp: 0n, timestamp_ns: 1_000n, name: "one", note: null, count: 1, at: 7n },
      { timestamp: 2n, timestamp_ns: 2_000n, name: "two", note: "x", ok: true },
    ];
    for (const rows of [compact, plain]) assertSafeWhenDamaged(rows);
  },
});

function assertSafeWhenDamaged(rows: readonly RowObject[]): void {
  const message = messageOf(batchOfRows(ALL_TYPES_SCHEMA, rows));
  for (const byte of [0, 1, 0x7f, 0x80, 0xff]) {
    for (let at = 0; at < message.length; at += 1) {
      const damaged = message.slice();
      damaged[at] = byte;
      assertCorruptOrRead(() => decodeBatch(damaged, ALL_TYPES_SCHEMA));
    }
  }
  for (let length = 0; length < message.length; length += 1) {
    assert.throws(
      () => decodeBatch(message.slice(0, length), ALL_TYPES_SCHEMA),
      (error: unknown) => isOperatingError(error, "corrupt"),
      `cut to ${length}`,
    );
  }
}

function assertCorruptOrRead(decode: () => ColumnBatch): void {
  let batch: ColumnBatch;
  try {
    batch = decode();
  } catch (error) {
    assert(isOperatingError(error, "corrupt"), `unexpected: ${error}`);
    return;
  }
  for (const column of batch.columns) {
    if (column.offsets === null) continue;
    assert.equal(column.offsets[batch.rows], column.values.byteLength);
  }
}

Deno.test({
  name: "decodeSchemaMessage throws corrupt for damage, never anything else",
  fn() {
    for (const byte of [0, 1, 0x7f, 0xff]) {
      for (let at = 0; at < SCHEMA_MESSAGE.length; at += 1) {
        const damaged = SCHEMA_MESSAGE.slice();
        damaged[at] = byte;
        try {
          decodeSchemaMessage(damaged);
        } catch (error) {
          assert(isOperatingError(error, "corrupt"), `byte ${byte} at ${at}: ${error}`);
        }
      }
    }
  },
});

Deno.test({
  name: "decodeBatch refuses a batch of another schema",
  fn() {
    const rows = [{ timestamp: 1n, timestamp_ns: 1_000n, name: "x", note: null }];
    const message = messageOf(batchOfRows(ALL_TYPES_SCHEMA, rows));
    const nothingNull = {
      ...ALL_TYPES_SCHEMA,
      columns: ALL_TYPES_SCHEMA.columns.map((column) => ({ ...column, required: true })),
    };
    for (const schema of [EVENTS_SCHEMA, TWO_COLUMNS, nothingNull]) {
      assert.throws(
        () => decodeBatch(message, schema),
        (error: unknown) => isOperatingError(error, "corrupt"),
      );
    }
  },
});
