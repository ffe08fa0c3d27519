/** One request of the fuzzer: route, headers and body, each valid, nearly valid or far from it. */

import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { concatBytes, utf8 } from "../../shared/base/bytes.ts";
import { snappyBlock, snappyFramed } from "../../shared/testing/snappy.ts";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { denseInput } from "./dense_input.ts";
import type { FuzzInput } from "./fuzz_input.ts";
import { BODY_CAP_BYTES } from "./fuzz_target.ts";
import { mutateBytes, pick } from "./mutate_bytes.ts";
import { mutateJson } from "./mutate_json.ts";
import { mutateProtobuf } from "./mutate_protobuf.ts";
import { bulkBody, bulkLines, DOCUMENTS, type ValidRequests } from "./valid_bodies.ts";

type Maker = (random: SeededRandom, valid: ValidRequests) => FuzzInput;

/** Weighted by repetition. */
const MAKERS: readonly Maker[] = [
  protobufInput,
  protobufInput,
  protobufInput,
  jsonInput,
  jsonInput,
  bulkInput,
  bulkInput,
  bulkInput,
  documentInput,
  askedInput,
  strayInput,
];

export interface InputBounds {
  /** Cap of a body. */
  readonly bodyBytesMax: number;
  /** How many inputs are such that few bytes mean much. */
  readonly denseShare: number;
}

export function makeInput(
  random: SeededRandom,
  valid: ValidRequests,
  { bodyBytesMax, denseShare }: InputBounds,
): FuzzInput {
  const input = random.chance(denseShare)
    ? denseInput(random, bodyBytesMax)
    : pick(random, MAKERS)(random, valid);
  const encoded = random.chance(0.25) ? compressed(input, random) : input;
  return transported(encoded, random);
}

const SIGNALS = ["logs", "traces"] as const;

function protobufInput(random: SeededRandom, valid: ValidRequests): FuzzInput {
  const signal = pick(random, SIGNALS);
  const source = pick(random, valid[random.chance(0.95) ? signal : pick(random, SIGNALS)]).protobuf;
  let body = source;
  if (random.chance(0.9)) {
    for (let rounds = 1 + random.below(3); rounds > 0; rounds -= 1) {
      body = mutateProtobuf(body, random);
    }
  }
  if (random.chance(0.3)) body = mutateBytes(body, random);
  return otlpInput(random, { signal, type: "application/x-protobuf", body });
}

function jsonInput(random: SeededRandom, valid: ValidRequests): FuzzInput {
  const signal = pick(random, SIGNALS);
  const body = mutateJson(pick(random, valid[signal]).json, random);
  return otlpInput(random, { signal, type: "application/json", body });
}

function otlpInput(
  random: SeededRandom,
  { signal, type, body }: { signal: string; type: string; body: Uint8Array },
): FuzzInput {
  return {
    method: "POST",
    target: `/v1/${signal}${queryOf(random)}`,
    headers: [["content-type", typeOf(type, random)], ...headersOf(random)],
    body,
  };
}

const LINES: readonly string[] = [
  "",
  "   ",
  "\r",
  "null",
  "[]",
  "{",
  '"index"',
  '{"index":null}',
  '{"index":{"_index":null,"_id":null}}',
  '{"index":{"_index":{}}}',
  '{"index":{},"create":{}}',
  '{"INDEX":{}}',
  '{"__proto__":{"_index":"web"}}',
  '{"index":{"_index":"' + "a".repeat(300) + '"}}',
];

function bulkInput(random: SeededRandom): FuzzInput {
  const lines = bulkLines(random);
  for (let rounds = random.below(4); rounds > 0 && lines.length > 0; rounds -= 1) {
    const at = random.below(lines.length);
    const line = lines[at] ?? "";
    pick(random, [
      () => lines.splice(at, 1),
      () => lines.splice(at, 0, pick(random, LINES)),
      () => lines.splice(at, 1, `${line}\r`),
      () => lines.splice(at, 0, line),
      () => lines.splice(at, 1, line + line),
      () => lines.push(...lines.slice(0, 200)),
    ])();
  }
  const at = random.below(lines.length);
  const parts = lines.map((line, i) =>
    i === at && line.startsWith("{") && isJson(line) && random.chance(0.6)
      ? mutateJson(line, random)
      : utf8(line)
  );
  const whole = concatBytes(parts.flatMap((part) => [part, utf8("\n")]));
  const body = random.chance(0.2)
    ? mutateBytes(whole, random)
    : random.chance(0.1)
    ? whole.subarray(0, whole.length - 1)
    : random.chance(0.1)
    ? bulkBody(bulkLines(random))
    : whole;
  const prefix = prefixOf(random);
  const path = pick(random, ["", "", "/web", "/..", "/%2e%2e", "/a%00b", "/%zz", "/%C3", "/Bad"]);
  const filter = random.chance(0.1)
    ? `?filter_path=${
      pick(random, ["errors", "items.*.status", "-took", "**", ",,,", "%", "items."])
    }`
    : queryOf(random);
  return {
    method: random.chance(0.95) ? "POST" : "PUT",
    target: `${prefix}${path}/_bulk${filter}`,
    headers: [
      ["content-type", typeOf("application/x-ndjson", random)],
      ...headersOf(random),
    ],
    body,
  };
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text);
    return true;
  } catch {
    return false;
  }
}

const INDEXES = ["web", "logs-a", "Bad", "..", "%2e%2e", "%zz", "a%00b", "_all", "traces"];
const IDS = ["1", "an%20id", "%zz", "%C3", "%2F", "a".repeat(600), "__proto__"];

/** One document a request. */
function documentInput(random: SeededRandom): FuzzInput {
  const document = pick(random, DOCUMENTS);
  const body = random.chance(0.5) ? utf8(document) : mutateJson(document, random);
  const path = pick(random, ["_doc", `_doc/${pick(random, IDS)}`, `_create/${pick(random, IDS)}`]);
  return {
    method: random.chance(0.8) ? "POST" : pick(random, METHODS.slice(2)),
    target: `${prefixOf(random)}/${pick(random, INDEXES)}/${path}${queryOf(random)}`,
    headers: [["content-type", typeOf("application/json", random)], ...headersOf(random)],
    body,
  };
}

const ASKED = [
  "/_index_template",
  "/_component_template",
  "/_ilm/policy",
  "/_ingest/pipeline",
  "/_template",
  "/_data_stream",
  "/_alias",
  "/web/_alias",
  "",
];
const ASKED_NAMES = ["a", "a*", "*,b", "__proto__", "%zz", "%3Cl-%7Bnow%2Fd%7D-1%3E", ",", "_all"];
const ASKED_BODIES = [
  "{}",
  '{"index_patterns":["a*"],"template":{"settings":{}},"name":"x"}',
  '{"policy":{"phases":{}}}',
  '{"aliases":{"a":{},"__proto__":{}}}',
  '{"actions":[{"add":{"index":"a","alias":"b"}},{"remove":{"indices":["a"],"aliases":["b"]}}]}',
];

/** What shippers put, and ask for. */
function askedInput(random: SeededRandom): FuzzInput {
  const text = pick(random, ASKED_BODIES);
  const body = random.chance(0.5) ? utf8(text) : mutateJson(text, random);
  const method = pick(random, ["GET", "HEAD", "PUT", "PUT", "POST", "DELETE"]);
  const path = random.chance(0.1)
    ? pick(random, ["/_aliases", "/_refresh", "/_nodes/http", "/_security/_authenticate"])
    : `${pick(random, ASKED)}/${pick(random, ASKED_NAMES)}`;
  return {
    method,
    target: `${prefixOf(random)}${path}`,
    headers: [["content-type", typeOf("application/json", random)], ...headersOf(random)],
    body: method === "GET" || method === "HEAD" || random.chance(0.1) ? undefined : body,
  };
}

/** A prefix of the search-engine surface, which is at the root, too. */
function prefixOf(random: SeededRandom): string {
  return random.chance(0.5) ? "/api/v1/_compat" : "";
}

const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "PROPFIND"];
const TARGETS = [
  "/",
  "//",
  "/v1/logs/",
  "/v1//logs",
  "/V1/LOGS",
  "/v1/logs?",
  "/v1/metrics",
  "/healthz",
  "/readyz",
  "/metrics",
  "/api/v1/stream?filter=a",
  "/api/v1/_compat",
  "/api/v1/_compat/",
  "/api/v1/_compat/_license",
  "/api/v1/_compat/a/b/c",
  "/_cat/health?format=json",
  "/_cat/indices",
  "/_search",
  "/web/_search?scroll=1m",
  `/${"a".repeat(10_000)}`,
  `/?${"a=b&".repeat(5_000)}`,
  "/%",
  "/%00",
];

function strayInput(random: SeededRandom): FuzzInput {
  const method = pick(random, METHODS);
  const hasBody = method !== "GET" && method !== "HEAD" && random.chance(0.5);
  return {
    method,
    target: pick(random, TARGETS),
    headers: headersOf(random),
    body: hasBody ? random.bytes(random.below(2_000)) : undefined,
  };
}

const TYPES = [
  "application/json",
  "application/x-protobuf",
  "application/x-ndjson",
  "APPLICATION/JSON; charset=utf-8",
  "application/x-protobuf;a=b;c",
  "application/vnd.elasticsearch+x-ndjson; compatible-with=8",
  "application/vnd.elasticsearch+json;compatible-with=7",
  "text/plain",
  ";",
  "application/",
  "application/json, application/json",
];

function typeOf(type: string, random: SeededRandom): string {
  return random.chance(0.93) ? type : pick(random, TYPES);
}

function queryOf(random: SeededRandom): string {
  if (random.chance(0.8)) return "";
  return pick(random, [
    "?commit=auto",
    "?commit=wait_for",
    "?commit=force",
    "?commit=",
    "?commit=auto&commit=force",
    "?commit=%66orce",
    "?commit=%",
    "?&&&=&",
    "?__proto__=1",
  ]);
}

/** Values that a header can carry; what it cannot is for raw connections. */
const VALUES = [
  "",
  "default",
  "acme",
  "events",
  "web",
  "traces",
  "../../etc",
  "a/b",
  "%2e%2e",
  "__proto__",
  "null",
  "a".repeat(200),
  "a".repeat(20_000),
  "\u00e9\u00ff",
  "a, b",
  "auto",
  "force",
  "-1",
  "99999999999999999999",
  "\t",
  "Bearer x",
  "Basic Og==",
];
const NAMES = [
  "x-svc-commit",
  "x-svc-index",
  "x-scope-orgid",
  "x-svc-idempotency-key",
  "x-forwarded-for",
  "authorization",
  "accept",
  "content-encoding",
  "user-agent",
  "expect",
];

function headersOf(random: SeededRandom): (readonly [string, string])[] {
  const headers: [string, string][] = [];
  if (random.chance(0.02)) {
    for (let i = 0; i < 3_000; i += 1) headers.push([`x-${i}`, "v"]);
  }
  if (random.chance(0.6)) return headers;
  for (let count = 1 + random.below(3); count > 0; count -= 1) {
    headers.push([pick(random, NAMES), pick(random, VALUES)]);
  }
  return headers;
}

const CODECS = {
  gzip: gzipSync,
  deflate: deflateSync,
  zstd: zstdCompressSync,
  snappy: snappyBlock,
  "x-snappy-framed": (bytes: Uint8Array) => snappyFramed(bytes),
} as const;
const CODEC_NAMES = ["gzip", "deflate", "zstd", "snappy", "x-snappy-framed"] as const;
/** Small on the wire, far past the cap when inflated. */
const BOMBS = Object.fromEntries(
  CODEC_NAMES.map((codec) => [codec, CODECS[codec](new Uint8Array(64 * BODY_CAP_BYTES))]),
) as Record<typeof CODEC_NAMES[number], Uint8Array>;

function compressed(input: FuzzInput, random: SeededRandom): FuzzInput {
  const { body } = input;
  if (body === undefined) return input;
  const codec = pick(random, CODEC_NAMES);
  const whole = random.chance(0.05) ? BOMBS[codec] : CODECS[codec](body);
  let wire = new Uint8Array(whole);
  if (random.chance(0.1)) wire = new Uint8Array(CODECS[pick(random, CODEC_NAMES)](wire));
  if (random.chance(0.1)) wire = new Uint8Array(concatBytes([wire, wire]));
  if (random.chance(0.2)) wire = new Uint8Array(mutateBytes(wire, random));
  const name = random.chance(0.9)
    ? codec
    : pick(random, ["identity", "br", "x-gzip", "GZIP", "gzip, gzip", "", "constructor"]);
  return { ...input, body: wire, headers: [...input.headers, ["content-encoding", name]] };
}

/** Lengths that lie, bodies past the cap, senders that hang up. */
function transported(input: FuzzInput, random: SeededRandom): FuzzInput {
  const { body } = input;
  if (body === undefined || random.chance(0.9)) return input;
  return pick<() => FuzzInput>(random, [
    () => ({ ...input, hangsUpAt: random.below(body.length + 1) }),
    () => withLength(input, String(random.below(2 * body.length + 2))),
    () => withLength(input, pick(random, ["-1", "1e3", "0x10", "NaN", "99999999999999", "1, 1"])),
    () => ({ ...input, body: new Uint8Array(BODY_CAP_BYTES + 1 + random.below(1_000)) }),
  ])();
}

function withLength(input: FuzzInput, length: string): FuzzInput {
  return { ...input, headers: [...input.headers, ["content-length", length]] };
}
