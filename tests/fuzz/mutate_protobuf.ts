/**
 * Damage to protobuf messages that keeps what is around it whole. A field somewhere inside is
 * changed and the lengths of all messages around it are written anew, so that decoders come as far
 * as there.
 */

import { concatBytes, utf8 } from "../../shared/base/bytes.ts";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { mutateBytes, pick } from "./mutate_bytes.ts";

interface Field {
  readonly number: number;
  readonly wireType: number;
  /** Without tag and length. */
  readonly payload: Uint8Array;
  /** With both. */
  readonly bytes: Uint8Array;
}

/** One mutation of a field at a random depth. */
export function mutateProtobuf(message: Uint8Array, random: SeededRandom): Uint8Array {
  const fields = fieldsOf(message);
  if (fields === undefined || fields.length === 0) return mutateBytes(message, random);
  const at = random.below(fields.length);
  const field = fields[at] as Field;
  const inner = field.wireType === 2 ? fieldsOf(field.payload) : undefined;
  const changed = inner !== undefined && inner.length > 0 && random.chance(0.8)
    ? encodeField(field.number, mutateProtobuf(field.payload, random))
    : pick(random, FIELD_MUTATIONS)(field, random);
  return concatBytes(fields.map(({ bytes }, i) => i === at ? changed : bytes));
}

/** Every wire type; 3 and 4 are groups, 6 and 7 are none. */
const WIRE_TYPES = [0, 1, 2, 3, 4, 5, 6, 7];

const FIELD_MUTATIONS: readonly ((field: Field, random: SeededRandom) => Uint8Array)[] = [
  () => new Uint8Array(0),
  ({ bytes }, random) => concatBytes(new Array(2 + random.below(50)).fill(bytes)),
  ({ number, payload }, random) => encodeField(number, mutateBytes(payload, random)),
  ({ payload }, random) => encodeField(1 + random.below(40), payload),
  ({ number, payload }, random) =>
    concatBytes([varint((number << 3) | pick(random, WIRE_TYPES)), payload]),
  ({ number, payload }, random) =>
    concatBytes([varint((number << 3) | 2), pick(random, LENGTHS), payload]),
  ({ number }, random) => encodeField(number, nested(1 + random.below(500), random)),
  ({ number }, random) => encodeField(number, longText(random)),
  ({ number }, random) => concatBytes([varint(number << 3), pick(random, LENGTHS)]),
  // Tags may be longer than they need be.
  ({ number, payload }) =>
    concatBytes([
      Uint8Array.of((number << 3) | 0x82, 0x80, 0x00),
      varint(payload.length),
      payload,
    ]),
];

/** Lengths that nothing has, some not even a varint. */
const LENGTHS: readonly Uint8Array[] = [
  Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x07),
  Uint8Array.of(0xff, 0xff, 0xff, 0xff, 0x0f),
  Uint8Array.of(0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01),
  new Uint8Array(11).fill(0xff),
  Uint8Array.of(0x80, 0x00),
  Uint8Array.of(0x00),
];

/** An `AnyValue` of arrays or maps within each other. */
function nested(depth: number, random: SeededRandom): Uint8Array {
  const isMap = random.chance(0.5);
  let value: Uint8Array = encodeField(1, utf8("x"));
  for (let level = 0; level < depth; level += 1) {
    const member = isMap ? concatBytes([encodeField(1, utf8("k")), encodeField(2, value)]) : value;
    value = encodeField(isMap ? 6 : 5, encodeField(1, member));
  }
  return value;
}

function longText(random: SeededRandom): Uint8Array {
  return utf8(pick(random, ["a", "\u0000", '"', "é", "😀"]).repeat(random.below(50_000)));
}

function encodeField(number: number, payload: Uint8Array): Uint8Array {
  return concatBytes([varint((number << 3) | 2), varint(payload.length), payload]);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value;; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Uint8Array.from([...bytes, rest]);
    bytes.push((rest & 127) | 128);
  }
}

/** The fields of a regular message, undefined for bytes that are none. */
function fieldsOf(message: Uint8Array): Field[] | undefined {
  const fields: Field[] = [];
  for (let at = 0; at < message.length;) {
    const tag = readVarint(message, at);
    if (tag === undefined || tag.value < 8) return undefined;
    const wireType = tag.value & 7;
    let start = tag.end;
    let end: number;
    if (wireType === 0) end = readVarint(message, start)?.end ?? Infinity;
    else if (wireType === 1) end = start + 8;
    else if (wireType === 5) end = start + 4;
    else if (wireType === 2) {
      const length = readVarint(message, start);
      if (length === undefined) return undefined;
      start = length.end;
      end = start + length.value;
    } else return undefined;
    if (end > message.length) return undefined;
    fields.push({
      number: tag.value >> 3,
      wireType,
      payload: message.subarray(start, end),
      bytes: message.subarray(at, end),
    });
    at = end;
  }
  return fields;
}

/** Up to 28 bits; undefined for longer ones. */
function readVarint(bytes: Uint8Array, start: number): { value: number; end: number } | undefined {
  let value = 0;
  for (let i = 0; i < 4; i += 1) {
    const byte = bytes[start + i];
    if (byte === undefined) return undefined;
    value |= (byte & 127) << (7 * i);
    if (byte < 128) return { value, end: start + i + 1 };
  }
  return undefined;
}
