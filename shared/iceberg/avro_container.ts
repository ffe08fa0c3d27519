/**
 * Avro object container files, whole in memory: a header (magic `Obj\x01`, a map of metadata, 16
 * sync bytes), then blocks (record count, byte length, data, sync bytes). `avsc` codes the values;
 * the framing is here because the header must carry the schema exactly as given, with `field-id`
 * and `logicalType`, while longs need 64 bits.
 *
 * Longs are `bigint` in records. Codecs: `deflate` is written; `deflate` and `null` are read.
 */

import { Buffer } from "node:buffer";
import { deflateRawSync, inflateRawSync } from "node:zlib";
import avro from "avsc";
import { OperatingError } from "../base/errors.ts";
import { concatBytes, textOf, utf8 } from "../base/bytes.ts";

/**
 * Avro schemas are open JSON objects here: the attributes that Iceberg adds are no business of
 * `avsc`.
 */
export type AvroSchema = string | readonly AvroSchema[] | { readonly [attribute: string]: unknown };

export type AvroRecord = Record<string, unknown>;

/** A record's bytes, one piece after the other. */
export type EncodedRecord = readonly Uint8Array[];

export interface AvroFile {
  readonly metadata: ReadonlyMap<string, string>;
  /** The writer's schema, with all its attributes. */
  readonly schema: AvroSchema;
  /** `schema` as the file has it. */
  readonly schemaText: string;
  readonly records: readonly AvroRecord[];
  /** `records` as they are encoded: windows on the file's blocks, which they keep in memory. */
  readonly encoded: readonly Uint8Array[];
  /** Bytes of the records, uncompressed. */
  readonly recordsBytes: number;
}

const MAGIC = Uint8Array.of(0x4f, 0x62, 0x6a, 0x01);
const SYNC_BYTES = 16;
/** Records of one block; a block is what a reader holds decompressed. */
const BLOCK_RECORDS_MAX = 1_000;
/** A block that claims to inflate to more is refused: manifests are a few MiB. */
const BLOCK_BYTES_MAX = 256 * 1024 * 1024;

/**
 * Takes and gives longs as they are encoded: unpacked by Avro each would be a buffer of its own.
 */
const LONG_TYPE = avro.types.LongType.__with({
  fromBuffer: longOf,
  toBuffer: bytesOfLong,
  fromJSON: BigInt,
  toJSON: String,
  isValid: (value: unknown) => typeof value === "bigint",
  compare: (a: bigint, b: bigint) => a < b ? -1 : a > b ? 1 : 0,
}, true);

/** Bytes of a long at most. */
const LONG_BYTES_MAX = 10;
/** With so many bytes, seven bits each, it is exact as a double. */
const DOUBLE_BYTES_MAX = 7;
const DOUBLE_END = 2n ** 49n;

/**
 * An Avro long: seven bits a byte, lowest first. The bits are twice the value, or for one below
 * zero twice its complement and 1.
 */
function longOf(bytes: Uint8Array): bigint {
  if (bytes.length > LONG_BYTES_MAX) throw new RangeError(`a long of ${bytes.length} bytes`);
  if (bytes.length <= DOUBLE_BYTES_MAX) {
    let zigzag = 0;
    let scale = 1;
    for (let at = 0; at < bytes.length; at += 1) {
      zigzag += ((bytes[at] as number) & 0x7f) * scale;
      scale *= 0x80;
    }
    return BigInt(zigzag % 2 === 0 ? zigzag / 2 : -(zigzag + 1) / 2);
  }
  let zigzag = 0n;
  for (const byte of bytes.toReversed()) zigzag = zigzag << 7n | BigInt(byte & 0x7f);
  return BigInt.asIntN(64, zigzag >> 1n ^ -(zigzag & 1n));
}

function bytesOfLong(value: bigint): Buffer {
  const bytes: number[] = [];
  let zigzag = BigInt.asUintN(64, value << 1n ^ value >> 63n);
  for (; zigzag >= DOUBLE_END; zigzag >>= 7n) bytes.push(Number(zigzag & 0x7fn) | 0x80);
  let rest = Number(zigzag);
  for (; rest > 0x7f; rest = Math.floor(rest / 0x80)) bytes.push(rest % 0x80 | 0x80);
  bytes.push(rest);
  return Buffer.from(bytes);
}

const METADATA_TYPE = avro.Type.forSchema({ type: "map", values: "bytes" });

/** Types that are kept: making one generates code. */
const TYPES_KEPT_MAX = 16;
/** By the text of their schema, the oldest first. */
const TYPES = new Map<string, avro.Type>();

/**
 * `records` are values, or encoded as an `avroEncoder` or `readAvroFile` gives those of the same
 * schema. `sync` are 16 random bytes. `metadata` is written beside `avro.schema` and `avro.codec`.
 */
export function writeAvroFile(
  schema: AvroSchema,
  records: readonly (AvroRecord | EncodedRecord)[],
  options: { metadata: Readonly<Record<string, string>>; sync: Uint8Array },
): Uint8Array<ArrayBuffer> {
  const schemaText = JSON.stringify(schema);
  const type = typeOf(schemaText);
  const header: Record<string, Buffer> = {};
  const texts = { "avro.schema": schemaText, "avro.codec": "deflate" };
  for (const [key, value] of Object.entries({ ...texts, ...options.metadata })) {
    header[key] = Buffer.from(utf8(value));
  }
  const parts: Uint8Array[] = [MAGIC, METADATA_TYPE.toBuffer(header), options.sync];
  for (let start = 0; start < records.length; start += BLOCK_RECORDS_MAX) {
    const block = records.slice(start, start + BLOCK_RECORDS_MAX);
    const encoded = block.map((record) => isEncoded(record) ? record : [type.toBuffer(record)]);
    const data = deflateRawSync(concatBytes(encoded.flat()));
    parts.push(LONG_TYPE.toBuffer(BigInt(block.length)), LONG_TYPE.toBuffer(BigInt(data.length)));
    parts.push(data, options.sync);
  }
  return concatBytes(parts);
}

function isEncoded(record: AvroRecord | EncodedRecord): record is EncodedRecord {
  return Array.isArray(record);
}

/** An encoder of single records, without a file around them. */
export function avroEncoder(schema: AvroSchema): (record: AvroRecord) => Uint8Array {
  const type = typeOf(JSON.stringify(schema));
  return (record) => type.toBuffer(record);
}

/** `name` is for messages. Errors: `corrupt`, `unimplemented` for another codec. */
export function readAvroFile(bytes: Uint8Array, name: string): AvroFile {
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  try {
    return readContainer(buffer, name);
  } catch (error) {
    if (error instanceof OperatingError) throw error;
    throw corrupt(name, "its bytes do not follow its Avro schema", error);
  }
}

function readContainer(buffer: Buffer, name: string): AvroFile {
  if (!buffer.subarray(0, MAGIC.length).equals(MAGIC)) throw corrupt(name, "it is no Avro file");
  const header = decodeAt(METADATA_TYPE, buffer, MAGIC.length, name);
  const metadata = new Map<string, string>();
  for (const [key, value] of Object.entries(header.value as Record<string, Uint8Array>)) {
    metadata.set(key, textOf(value));
  }
  const schemaText = metadata.get("avro.schema") ?? "";
  const schema = JSON.parse(schemaText) as AvroSchema;
  const inflate = decompressor(metadata.get("avro.codec") ?? "null", name);
  const type = typeOf(schemaText);
  const sync = buffer.subarray(header.offset, header.offset + SYNC_BYTES);
  const records: AvroRecord[] = [];
  const encoded: Uint8Array[] = [];
  let recordsBytes = 0;
  let at = header.offset + SYNC_BYTES;
  while (at < buffer.length) {
    const count = decodeAt(LONG_TYPE, buffer, at, name);
    const length = decodeAt(LONG_TYPE, buffer, count.offset, name);
    const end = length.offset + Number(length.value);
    if (Number(length.value) < 0 || !buffer.subarray(end, end + SYNC_BYTES).equals(sync)) {
      throw corrupt(name, `the block at byte ${at} does not end with the file's sync marker`);
    }
    const data = inflate(buffer.subarray(length.offset, end));
    recordsBytes += data.length;
    let offset = 0;
    for (let left = Number(count.value); left > 0; left -= 1) {
      const record = decodeAt(type, data, offset, name);
      records.push(record.value as AvroRecord);
      encoded.push(data.subarray(offset, record.offset));
      offset = record.offset;
    }
    if (offset !== data.length) throw corrupt(name, `the block at byte ${at} has bytes left over`);
    at = end + SYNC_BYTES;
  }
  return { metadata, schema, schemaText, records, encoded, recordsBytes };
}

function decodeAt(
  type: avro.Type,
  buffer: Buffer,
  offset: number,
  name: string,
): { value: unknown; offset: number } {
  const decoded = type.decode(buffer, offset);
  if (decoded.offset < 0) throw corrupt(name, `a value at byte ${offset} is cut off`);
  return decoded;
}

function decompressor(codec: string, name: string): (data: Buffer) => Buffer {
  switch (codec) {
    case "null":
      return (data) => data;
    case "deflate":
      return (data) => inflateRawSync(data, { maxOutputLength: BLOCK_BYTES_MAX });
    default:
      throw new OperatingError(
        "unimplemented",
        `Cannot read ${name}: its Avro codec is ${
          JSON.stringify(codec)
        }; known are deflate and null. ` +
          "Rewrite the table's manifests with deflate (Iceberg calls it gzip).",
      );
  }
}

function typeOf(schemaText: string): avro.Type {
  const known = TYPES.get(schemaText);
  if (known !== undefined) return known;
  const schema = JSON.parse(schemaText) as avro.Schema;
  const type = avro.Type.forSchema(schema, {
    registry: { long: LONG_TYPE },
    // DuckDB writes a long as an object, which the registry is not asked about.
    typeHook: (one) => isLongObject(one) ? LONG_TYPE : undefined,
  });
  TYPES.set(schemaText, type);
  const [oldest] = TYPES.keys();
  if (TYPES.size > TYPES_KEPT_MAX && oldest !== undefined) TYPES.delete(oldest);
  return type;
}

function isLongObject(schema: unknown): boolean {
  return typeof schema === "object" && schema !== null && "type" in schema &&
    schema.type === "long";
}

function corrupt(name: string, why: string, cause?: unknown): OperatingError {
  return new OperatingError(
    "corrupt",
    `Cannot read ${name}: ${why}. Restore the file from a copy of the warehouse.`,
    cause === undefined ? {} : { cause },
  );
}
