/**
 * Inputs in which few bytes mean much: what costs a sender nothing must not cost the server the
 * time or the memory of others. Each is as long as the body's cap allows, or a part of that;
 * compressed they are a thousandth of it.
 */

import { concatBytes, utf8 } from "../../shared/base/bytes.ts";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";
import type { FuzzInput } from "./fuzz_input.ts";
import { pick } from "./mutate_bytes.ts";

/** Fills about `bytes` bytes. */
type Filler = (random: SeededRandom, bytes: number) => Uint8Array;

export function denseInput(random: SeededRandom, bytesMax: number): FuzzInput {
  // Past the cap as well, now and then.
  const bytes = Math.ceil(bytesMax * pick(random, [0.01, 0.1, 0.5, 0.9, 0.99, 1.01]));
  return pick(random, [denseProtobuf, denseJson, denseBulk, denseHead])(random, bytes);
}

function times(bytes: number, unit: string): string {
  return unit.repeat(Math.max(1, Math.floor(bytes / utf8(unit).length)));
}

// Protobuf: tags of a length-delimited field, by number.

function field(number: number, payload: Uint8Array): Uint8Array {
  return concatBytes([varint(number * 8 + 2), varint(payload.length), payload]);
}

function varint(value: number): Uint8Array {
  const bytes: number[] = [];
  for (let rest = value;; rest = Math.floor(rest / 128)) {
    if (rest < 128) return Uint8Array.from([...bytes, rest]);
    bytes.push((rest % 128) | 128);
  }
}

function repeated(unit: Uint8Array, bytes: number): Uint8Array {
  return concatBytes(new Array(Math.max(1, Math.floor(bytes / unit.length))).fill(unit));
}

const EMPTY = new Uint8Array(0);
/** Around one record: resource, scope. */
const inRecord = (record: Uint8Array) => field(1, field(2, field(2, record)));
const keyValue = (key: string, value: Uint8Array) =>
  concatBytes([field(1, utf8(key)), field(2, value)]);

/** Lengths of far more bytes than there are. */
const FAR_LENGTHS = [2 ** 21, 2 ** 28, 2 ** 31 - 1, 2 ** 31, 2 ** 32 - 1, 2 ** 40, 2 ** 53 - 1];

const PROTOBUF: Readonly<Record<string, Filler>> = {
  emptyResources: (_, bytes) => repeated(field(1, EMPTY), bytes),
  emptyScopes: (_, bytes) => field(1, repeated(field(2, EMPTY), bytes)),
  emptyRecords: (_, bytes) => field(1, field(2, repeated(field(2, EMPTY), bytes))),
  resourcesOfOneRecord: (_, bytes) => repeated(inRecord(EMPTY), bytes),
  emptyAttributes: (random, bytes) => inRecord(repeated(field(pick(random, [6, 9]), EMPTY), bytes)),
  sameAttribute: (_, bytes) => inRecord(repeated(field(6, keyValue("k", EMPTY)), bytes)),
  manyNames: (random, bytes) => {
    const count = Math.ceil(bytes / 12);
    const place = pick(random, [inRecord, (all: Uint8Array) => field(1, field(1, all))]);
    const tag = pick(random, [1, 6, 9]);
    const all = Array.from({ length: count }, (_, i) => field(tag, keyValue(`k${i}`, EMPTY)));
    return place(concatBytes(all));
  },
  attributesOfResource: (_, bytes) => field(1, field(1, repeated(field(1, EMPTY), bytes))),
  events: (random, bytes) => inRecord(repeated(field(pick(random, [11, 13]), EMPTY), bytes)),
  elements: (random, bytes) => {
    const list = repeated(field(1, EMPTY), bytes);
    return inRecord(field(5, field(pick(random, [5, 6]), list)));
  },
  nested: (random, bytes) => {
    const container = pick(random, [5, 6]);
    let value: Uint8Array = EMPTY;
    for (let depth = pick(random, [31, 32, 33, 2_000]); depth > 0; depth -= 1) {
      const member = container === 6 ? keyValue("", value) : value;
      value = field(container, field(1, member));
    }
    const one = field(6, keyValue("n", value));
    return inRecord(repeated(one, bytes));
  },
  farLength: (random, bytes) => {
    const head = concatBytes([
      varint(8 * pick(random, [1, 2, 5, 6]) + 2),
      varint(pick(random, FAR_LENGTHS)),
    ]);
    const start = repeated(field(1, EMPTY), bytes / 2);
    return pick(random, [
      () => concatBytes([start, head]),
      () => concatBytes([start, field(1, field(2, field(2, head)))]),
      () => repeated(head, bytes),
    ])();
  },
  /** A scalar as a packed array, which it is not, and the same scalar again and again. */
  packed: (random, bytes) => {
    const number = pick(random, [1, 2, 7, 8, 16]);
    const scalars = pick(random, [
      () => field(number, new Uint8Array(bytes).fill(1)),
      () => repeated(Uint8Array.of(...varint(number * 8), 1), bytes),
      () =>
        repeated(
          concatBytes([varint(number * 8), new Uint8Array(9).fill(0x80), Uint8Array.of(1)]),
          bytes,
        ),
    ])();
    return inRecord(scalars);
  },
  groups: (random, bytes) => {
    const start = Uint8Array.of(8 * 20 + 3 & 0x7f | 0x80, 0x01);
    return pick(random, [(all: Uint8Array) => all, inRecord])(repeated(start, bytes));
  },
  unknownFields: (_, bytes) => inRecord(repeated(Uint8Array.of(0xf8, 0x7f, 0x01), bytes)),
  resourceTwice: (_, bytes) => field(1, repeated(field(1, EMPTY), bytes)),
  control: (_, bytes) => inRecord(field(5, field(1, new Uint8Array(bytes)))),
};

function denseProtobuf(random: SeededRandom, bytes: number): FuzzInput {
  const body = PROTOBUF[pick(random, Object.keys(PROTOBUF))]?.(random, bytes) ?? EMPTY;
  return post(pick(random, ["/v1/logs", "/v1/traces"]), "application/x-protobuf", body);
}

type Texter = (random: SeededRandom, bytes: number) => string;

const inLog = (record: string) => `{"resourceLogs":[{"scopeLogs":[{"logRecords":[${record}]}]}]}`;

/** JSON values that cost more than their bytes, as any member's value. */
const VALUES: Readonly<Record<string, Texter>> = {
  emptyObjects: (_, bytes) => `[${times(bytes, "{},")}{}]`,
  zeros: (_, bytes) => `[${times(bytes, "0,")}0]`,
  sameName: (_, bytes) => `{${times(bytes, '"a":1,')}"a":1}`,
  manyNames: (_, bytes) =>
    `{${Array.from({ length: Math.ceil(bytes / 11) }, (_, i) => `"k${i}":0`).join(",")}}`,
  indexNames: (_, bytes) =>
    `{${Array.from({ length: Math.ceil(bytes / 11) }, (_, i) => `"${i * 7919}":0`).join(",")}}`,
  openArrays: (_, bytes) => "[".repeat(bytes),
  closedArrays: (_, bytes) => "[".repeat(bytes / 2) + "]".repeat(bytes / 2),
  openObjects: (_, bytes) => times(bytes, '{"a":'),
  closedObjects: (_, bytes) => {
    const depth = Math.ceil(bytes / 6);
    return `${'{"a":'.repeat(depth)}0${"}".repeat(depth)}`;
  },
  digits: (random, bytes) => pick(random, ["", "-", "0.", "1e", "1e-"]) + "9".repeat(bytes),
  escapes: (random, bytes) =>
    `"${times(bytes, pick(random, ["\\u0000", "\\ud800", "\\n", "\\ud83d\\ude00", "\\/"]))}"`,
  control: (_, bytes) => `"${"\u0000".repeat(bytes)}"`,
  openString: (_, bytes) => `"${"a".repeat(bytes)}`,
  spaces: (random, bytes) => `${times(bytes, pick(random, [" ", "\n", "\t", "\r\n"]))}1`,
  wide: (_, bytes) => `"${times(bytes, "\u2028")}"`,
};

function valueText(random: SeededRandom, bytes: number): string {
  return VALUES[pick(random, Object.keys(VALUES))]?.(random, bytes) ?? "";
}

const JSON_TEXTS: Readonly<Record<string, Texter>> = {
  bare: valueText,
  unknownMember: (random, bytes) => inLog(`{"x":${valueText(random, bytes)}}`),
  member: (random, bytes) => {
    const name = pick(random, ["timeUnixNano", "severityText", "body", "attributes", "traceId"]);
    return inLog(`{"${name}":${valueText(random, bytes)}}`);
  },
  text: (random, bytes) => inLog(`{"body":{"stringValue":${VALUES.escapes?.(random, bytes)}}}`),
  records: (random, bytes) => inLog(`${times(bytes, pick(random, ["{},", '{"x":1},']))}{}`),
  resources: (_, bytes) =>
    `{"resourceLogs":[${times(bytes, '{"scopeLogs":[{"logRecords":[{}]}]},')}{}]}`,
  attributes: (random, bytes) => {
    const all = times(bytes, pick(random, ["{},", '{"key":"k"},', '{"key":"k","value":{}},']));
    return inLog(`{"attributes":[${all}{}]}`);
  },
  nested: (random, bytes) => {
    const open = '{"kvlistValue":{"values":[{"key":"","value":';
    const depth = pick(random, [31, 32, 33, Math.ceil(bytes / open.length)]);
    return inLog(`{"body":${open.repeat(depth)}{}${"}]}}".repeat(depth)}}`);
  },
  elements: (random, bytes) => {
    const all = times(bytes, pick(random, ["{},", "0,", '{"intValue":"1"},']));
    return inLog(`{"body":{"arrayValue":{"values":[${all}{}]}}}`);
  },
};

function denseJson(random: SeededRandom, bytes: number): FuzzInput {
  const text = JSON_TEXTS[pick(random, Object.keys(JSON_TEXTS))]?.(random, bytes) ?? "";
  const isTrace = random.chance(0.3);
  const body = isTrace
    ? text.replace("resourceLogs", "resourceSpans").replace("scopeLogs", "scopeSpans")
      .replace("logRecords", "spans")
    : text;
  return post(isTrace ? "/v1/traces" : "/v1/logs", "application/json", utf8(body));
}

const BULK_TEXTS: Readonly<Record<string, Texter>> = {
  lineEnds: (random, bytes) => times(bytes, pick(random, ["\n", "\r\n", " \n"])),
  pairs: (random, bytes) =>
    times(bytes, pick(random, ['{"index":{}}\n{}\n', '{"create":{}}\n{"a":1}\n'])),
  removals: (_, bytes) => times(bytes, '{"delete":{}}\n'),
  refusals: (random, bytes) =>
    times(
      bytes,
      pick(random, ['{"index":{}}\n0\n', '{"index":{"_index":"B"}}\n{}\n', '{"update":{}}\n{}\n']),
    ),
  indexes: (_, bytes) =>
    Array.from({ length: Math.ceil(bytes / 34) }, (_, i) => `{"index":{"_index":"i${i}"}}\n{}\n`)
      .join(""),
  document: (random, bytes) => `{"index":{}}\n{"a":${valueText(random, bytes)}}\n`,
  bareDocument: (random, bytes) => `{"index":{}}\n${valueText(random, bytes)}\n`,
  action: (random, bytes) => `{"index":{"_id":${valueText(random, bytes)}}}\n{}\n`,
  time: (random, bytes) => `{"index":{}}\n{"@timestamp":${valueText(random, bytes)}}\n`,
  message: (random, bytes) => `{"index":{}}\n{"message":${valueText(random, bytes)}}\n`,
  identities: (_, bytes) => times(bytes, `{"index":{"_id":"${"i".repeat(512)}"}}\n{}\n`),
  endless: (_, bytes) => `{"index":{}}\n{"message":"${"a".repeat(bytes)}`,
};

/** What a query of few characters may ask of each reply. */
const FILTERS: readonly string[] = [
  "**.".repeat(600) + "z",
  "*".repeat(2_000),
  "**.*.".repeat(300) + "z",
  "-**,".repeat(60),
  ",".repeat(3_000),
  "items.*".repeat(300),
];

function denseBulk(random: SeededRandom, bytes: number): FuzzInput {
  const text = BULK_TEXTS[pick(random, Object.keys(BULK_TEXTS))]?.(random, bytes) ?? "";
  const filter = random.chance(0.1) ? `?filter_path=${pick(random, FILTERS)}` : "";
  return post(`/api/v1/_compat/web/_bulk${filter}`, "application/x-ndjson", utf8(text));
}

const ROW = inLog('{"body":{"stringValue":"row"}}');

/** Heads that are long or many; their body is good. */
const HEADS: readonly ((random: SeededRandom) => (readonly [string, string])[])[] = [
  () => Array.from({ length: 5_000 }, (_, i) => [`x-${i}`, ""] as const),
  () => Array.from({ length: 2_000 }, () => ["x-svc-commit", "auto"] as const),
  () => Array.from({ length: 2_000 }, () => ["x-forwarded-for", "10.0.0.1"] as const),
  () => [["x-forwarded-for", "1,".repeat(30_000)]],
  () => [["x-svc-idempotency-key", "k".repeat(60_000)]],
  () => [["authorization", `Bearer ${"a.".repeat(20_000)}`]],
  () => [["accept", `${"application/vnd.elasticsearch+json;".repeat(1_500)}`]],
  () => [["accept", "a/b;q=0.1,".repeat(5_000)]],
  () => [["content-encoding", "gzip, ".repeat(8_000)]],
  () => [["x-svc-index", `${"a".repeat(60_000)}!`]],
  (
    random,
  ) => [[
    "content-type",
    `application/json${pick(random, [";", " ", ";a=b", "; "]).repeat(15_000)}`,
  ]],
];

function denseHead(random: SeededRandom): FuzzInput {
  const target = pick(random, [
    "/v1/logs",
    `/v1/logs?${"commit=auto&".repeat(5_000)}`,
    `/v1/logs?${"%".repeat(50_000)}`,
    "/api/v1/_compat/_bulk",
    `/api/v1/_compat/${"%61".repeat(20_000)}/_bulk`,
    `${"/".repeat(50_000)}_search`,
    `/${"_cat/".repeat(10_000)}`,
  ]);
  const { headers, ...input } = post(target, "application/json", utf8(ROW));
  return { ...input, headers: [...headers, ...pick(random, HEADS)(random)] };
}

function post(target: string, type: string, body: Uint8Array): FuzzInput {
  return { method: "POST", target, headers: [["content-type", type]], body };
}
