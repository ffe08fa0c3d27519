import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import avro from "avsc";
import { avroMetadata } from "icebird/src/avro/avro.metadata.js";
import { avroRead } from "icebird/src/avro/avro.read.js";
import { isOperatingError } from "../base/errors.ts";
import { avroEncoder, readAvroFile, writeAvroFile } from "./avro_container.ts";

const SCHEMA = {
  type: "record",
  name: "row",
  fields: [
    { name: "id", type: "long", "field-id": 7 },
    { name: "day", type: ["null", { type: "int", logicalType: "date" }], "field-id": 8 },
    { name: "text", type: "string", "field-id": 9 },
    { name: "blob", type: ["null", "bytes"], "field-id": 10 },
  ],
};
const SYNC = Uint8Array.from({ length: 16 }, (_, i) => i + 1);
const ROWS = Array.from({ length: 2_500 }, (_, i) => ({
  id: 9_007_199_254_740_993n + BigInt(i),
  day: i % 2 === 0 ? i : null,
  text: `é${i}`,
  blob: i % 3 === 0 ? Buffer.of(i & 255) : null,
}));

function written(): Uint8Array<ArrayBuffer> {
  return writeAvroFile(SCHEMA, ROWS, { metadata: { own: "value" }, sync: SYNC });
}

Deno.test({
  name: "readAvroFile gives back what writeAvroFile wrote, over several blocks",
  fn() {
    const file = readAvroFile(written(), "test");
    assert.deepEqual(file.records.map((record) => ({ ...record })), ROWS);
    assert.deepEqual(file.schema, SCHEMA);
    assert.equal(file.metadata.get("own"), "value");
  },
});

Deno.test({
  name: "writeAvroFile is read by another implementation, with field ids in the header",
  fn() {
    const reader = { view: new DataView(written().buffer), offset: 0 };
    const { metadata, syncMarker } = avroMetadata(reader);
    assert.deepEqual(metadata["avro.schema"], SCHEMA);
    const records = avroRead({ reader, metadata, syncMarker });
    assert.equal(records.length, ROWS.length);
    assert.deepEqual(
      records.map(({ id, text, day }) => ({ id, text, day: day?.getTime() })),
      ROWS.map(({ id, text, day }) => ({
        id,
        text,
        day: day === null ? undefined : day * 86_400_000,
      })),
    );
  },
});

Deno.test({
  name: "longs of every length go both ways to the last bit, as another implementation reads them",
  fn() {
    const powers = Array.from({ length: 63 }, (_, bits) => 2n ** BigInt(bits));
    const longs = [0n, ...powers.flatMap((power) => [power - 1n, power, -power, -power - 1n])]
      .concat(2n ** 63n - 1n, -(2n ** 63n));
    const schema = { type: "record", name: "row", fields: [{ name: "id", type: "long" }] };
    const bytes = writeAvroFile(schema, longs.map((id) => ({ id })), { metadata: {}, sync: SYNC });
    const { records, encoded } = readAvroFile(bytes, "test");
    assert.deepEqual(records.map(({ id }) => id), longs);
    const reader = { view: new DataView(bytes.buffer), offset: 0 };
    const { metadata, syncMarker } = avroMetadata(reader);
    const theirs = avroRead({ reader, metadata, syncMarker });
    assert.deepEqual(theirs.map(({ id }) => BigInt(id)), longs);
    const least = [0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 1];
    assert.deepEqual([...encoded.at(-1) ?? []], least);
    assert.deepEqual([...avroEncoder(schema)({ id: -65n })], [0x81, 1]);
  },
});

Deno.test({
  name: "readAvroFile refuses a long of more bytes than there are",
  fn() {
    const schema = { type: "record", name: "row", fields: [{ name: "id", type: "long" }] };
    const row = new Uint8Array(11).fill(0x80).with(10, 1);
    const bytes = writeAvroFile(schema, [[row]], { metadata: {}, sync: SYNC });
    assert.throws(() => readAvroFile(bytes, "x.avro"), { code: "corrupt" });
  },
});

Deno.test({
  name: "readAvroFile reads another writer's uncompressed file",
  async fn() {
    const encoder = new avro.streams.BlockEncoder(SCHEMA as avro.Schema, { codec: "null" });
    const chunks: Uint8Array[] = [];
    const ended = new Promise((resolve) => encoder.on("end", resolve));
    encoder.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    encoder.end({ id: 5, day: 3, text: "x", blob: null });
    await ended;
    const { records } = readAvroFile(Buffer.concat(chunks), "test");
    assert.deepEqual(records.map((record) => ({ ...record })), [
      { id: 5n, day: 3, text: "x", blob: null },
    ]);
  },
});

Deno.test({
  name: "readAvroFile refuses every cut and every other magic as corrupt",
  fn() {
    const bytes = written();
    const lengths = [0, 3, 10, 300, bytes.length - 1, bytes.length - 17, bytes.length - 100];
    for (const length of lengths) {
      assert.throws(
        () => readAvroFile(bytes.subarray(0, length), "cut.avro"),
        (error) => isOperatingError(error, "corrupt") && /cut\.avro/.test(error.message),
        `${length} bytes`,
      );
    }
    const flipped = bytes.slice();
    flipped[bytes.length - 1] = 0;
    assert.throws(() => readAvroFile(flipped, "x"), { code: "corrupt" });
  },
});

Deno.test({
  name: "readAvroFile names an unknown codec and the remedy",
  fn() {
    const text = Buffer.from(written());
    const at = text.indexOf("deflate");
    text.write("deflat3", at);
    assert.throws(
      () => readAvroFile(text, "x.avro"),
      (error) => isOperatingError(error, "unimplemented") && /"deflat3"/.test(error.message),
    );
  },
});

Deno.test({
  name: "readAvroFile keeps all digits of a long that its schema writes as an object",
  fn() {
    const id = 2n ** 62n + 1n;
    const long = { type: "long" };
    const schema = {
      type: "record",
      name: "r",
      fields: [{ name: "id", type: long }, {
        name: "maybe",
        type: ["null", long],
      }],
    };
    const sync = new Uint8Array(16);
    const bytes = writeAvroFile(schema, [{ id, maybe: -id }], { metadata: {}, sync });
    assert.deepEqual(readAvroFile(bytes, "duckdb").records.map(({ id, maybe }) => [id, maybe]), [
      [id, -id],
    ]);
  },
});
