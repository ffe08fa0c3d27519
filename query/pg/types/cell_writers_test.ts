import { strictEqual } from "node:assert/strict";
import { viewOf } from "../../../shared/base/bytes.ts";
import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import { cellWriter } from "./cell_writers.ts";
import { columnTypeOf } from "./column_type.ts";
import { BINARY_FORMAT } from "./formats.ts";

const EPOCH_MICROS = BigInt(Date.UTC(2000, 0, 1)) * 1_000n;
const NEAR = 2n ** 52n;
/** Microseconds since 1970, on both sides of where numbers are taken for them. */
const MICROS = [
  ...[0n, 1n, -1n, 2n ** 32n - 1n, 2n ** 32n, -(2n ** 32n), -(2n ** 32n) - 1n],
  ...[EPOCH_MICROS - 1n, EPOCH_MICROS, EPOCH_MICROS + 1n, 1_790_000_000_123_456n],
  ...[NEAR - 1n, NEAR, -NEAR, -NEAR - 1n, 2n ** 53n + 1n, -(2n ** 53n) - 1n],
];

/** What a column of `type` with `values` is in the binary format, as numbers of 64 bits. */
function written(type: string, values: readonly bigint[]): bigint[] {
  const column = {
    rows: values.length,
    validity: new Uint8Array(),
    offsets: undefined,
    values: new DataView(BigInt64Array.from(values).buffer),
    items: undefined,
  };
  const write = cellWriter(column, columnTypeOf(type), BINARY_FORMAT);
  const out = new ByteBuilder(1);
  values.forEach((_, row) => write(row, out));
  const view = viewOf(out.take());
  return values.map((_, row) => view.getBigInt64(8 * row));
}

Deno.test("cellWriter counts a timestamp's microseconds from 2000, near and far", () => {
  for (const type of ["TIMESTAMP", "TIMESTAMP WITH TIME ZONE"]) {
    written(type, MICROS).forEach((value, at) =>
      strictEqual(value, (MICROS[at] ?? 0n) - EPOCH_MICROS, `${MICROS[at]}`)
    );
  }
});

Deno.test("cellWriter keeps all 64 bits of a BIGINT", () => {
  const values = [...MICROS, 2n ** 63n - 1n, -(2n ** 63n)];
  written("BIGINT", values).forEach((value, at) => strictEqual(value, values[at]));
});
