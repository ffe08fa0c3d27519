/**
 * What a request's attributes cost, whatever their names are: senders share one thread. Figures are
 * ratios to the same number of attributes in records that are alike.
 */

import assert from "node:assert/strict";
import { utf8 } from "../../shared/base/bytes.ts";
import { decodeLogsProtobuf } from "./logs/logs_protobuf.ts";
import { decodeSpansProtobuf } from "./spans/spans_protobuf.ts";
import { WireWriter } from "./wire/wire_writer.ts";

const ATTRIBUTES = 60_000;
const IDS: readonly [tag: number, bytes: Uint8Array][] = [
  [0x0a, new Uint8Array(16).fill(1)],
  [0x12, new Uint8Array(8).fill(1)],
];

interface Request {
  readonly name: string;
  /** Attributes of each record; of each resource with `ofResource`. */
  readonly each: number;
  readonly nameOf: (place: number) => string;
  readonly ofResource?: boolean;
  readonly ofSpan?: boolean;
  /** Members of one attribute that is a map. */
  readonly inMap?: boolean;
  /** How many times as long as those that are alike. */
  readonly ratioMax: number;
}

const ALIKE: Request = { name: "alike", each: 10, nameOf: (i) => `http.name.${i}`, ratioMax: 1 };

const REQUESTS: readonly Request[] = [
  { name: "of records of many names", each: 20_000, nameOf: (i) => i.toString(36), ratioMax: 40 },
  { name: "that have one name", each: ATTRIBUTES, nameOf: () => "a", ratioMax: 40 },
  { name: "of records with a name twice", each: 10, nameOf: (i) => `n${i >> 1}`, ratioMax: 40 },
  {
    name: "of spans of many names",
    each: 20_000,
    nameOf: (i) => i.toString(36),
    ofSpan: true,
    ratioMax: 40,
  },
  { name: "in maps", each: 20_000, nameOf: (i) => i.toString(36), inMap: true, ratioMax: 40 },
  { name: "of resources", each: 20, nameOf: (i) => `k8s.${i}`, ofResource: true, ratioMax: 40 },
];

/** `ATTRIBUTES` of them. */
function request({ each, nameOf, ofResource, ofSpan, inMap }: Request): Uint8Array {
  const wire = new WireWriter();
  const names = Array.from({ length: each }, (_, place) => utf8(nameOf(place)));
  const attributes = (tag: number, owner: number) => {
    for (const [place, name] of names.entries()) {
      const attribute = wire.start(tag);
      wire.bytes(0x0a, name);
      const value = wire.start(0x12);
      wire.varint(0x18, owner * each + place);
      wire.end(value);
      wire.end(attribute);
    }
  };
  const within = (tag: number, write: () => void) => {
    const start = wire.start(tag);
    write();
    wire.end(start);
  };
  const map = (owner: number) => {
    wire.string(0x0a, "map");
    within(0x12, () => within(0x32, () => attributes(0x0a, owner)));
  };
  const record = (owner: number) => {
    if (ofSpan === true) { for (const [tag, bytes] of IDS) wire.bytes(tag, bytes); }
    if (ofResource === true) return;
    if (inMap === true) within(0x32, () => map(owner));
    else attributes(ofSpan === true ? 0x4a : 0x32, owner);
  };
  const owners = Array.from({ length: ATTRIBUTES / each }, (_, owner) => owner);
  const ofScope = (own: readonly number[]) =>
    within(0x12, () => own.forEach((owner) => within(0x12, () => record(owner))));
  if (ofResource === true) {
    for (const owner of owners) {
      within(0x0a, () => {
        within(0x0a, () => attributes(0x0a, owner));
        ofScope([owner]);
      });
    }
  } else within(0x0a, () => ofScope(owners));
  return wire.out.take();
}

function wired(of: Request): Decoded {
  return { body: request(of), ofSpan: of.ofSpan === true, rowsWanted: ATTRIBUTES / of.each };
}

interface Decoded {
  readonly body: Uint8Array;
  readonly ofSpan: boolean;
  readonly rowsWanted?: number;
}

/**
 * The least of several runs of each. They take turns, so that whoever else works on this machine
 * disturbs both alike.
 */
function leastMs(runs: number, ...requests: readonly Decoded[]): number[] {
  const least = requests.map(() => Infinity);
  for (let run = 0; run < runs; run += 1) {
    for (const [at, request] of requests.entries()) {
      least[at] = Math.min(least[at] ?? 0, decodingMs(request));
    }
  }
  return least;
}

function decodingMs({ body, ofSpan, rowsWanted }: Decoded): number {
  const decode = ofSpan ? decodeSpansProtobuf : decodeLogsProtobuf;
  const startMs = performance.now();
  const { rows, release } = decode(body, { nowNs: 1n });
  const ms = performance.now() - startMs;
  assert.equal(rows, rowsWanted ?? rows);
  release?.();
  return ms;
}

for (const of of REQUESTS) {
  Deno.test({
    name: `decoding attributes ${of.name} costs at most ${of.ratioMax} times those that are alike`,
    fn() {
      const [ms = Infinity, alikeMs = 0] = leastMs(5, wired(of), wired(ALIKE));
      const ratio = ms / alikeMs;
      assert(ratio <= of.ratioMax, `${ratio.toFixed(1)}: ${ms} ms against ${alikeMs} ms`);
    },
  });
}

const MEMBERS = 2_000;

/**
 * Records of a resource, or spans of a scope, with `MEMBERS` attributes; each record has one of
 * this name.
 */
function meeting(name: string, ofSpan: boolean): Uint8Array {
  const wire = new WireWriter();
  const within = (tag: number, write: () => void) => {
    const start = wire.start(tag);
    write();
    wire.end(start);
  };
  const attribute = (tag: number, key: string) => within(tag, () => wire.string(0x0a, key));
  const members = (tag: number) => {
    for (let at = 0; at < MEMBERS; at += 1) attribute(tag, `name-${at}`);
  };
  within(0x0a, () => {
    if (!ofSpan) within(0x0a, () => members(0x0a));
    within(0x12, () => {
      if (ofSpan) within(0x0a, () => members(0x1a));
      for (let at = 0; at < 500; at += 1) {
        within(0x12, () => {
          if (ofSpan) { for (const [tag, bytes] of IDS) wire.bytes(tag, bytes); }
          attribute(ofSpan ? 0x4a : 0x32, name);
        });
      }
    });
  });
  return wire.out.take();
}

for (const ofSpan of [false, true]) {
  const what = ofSpan
    ? "spans that meet a name of their scope"
    : "records that meet one of their resource";
  Deno.test({
    name: `decoding ${what} costs at most 5 times as much as when none does`,
    fn() {
      const of = (name: string) => ({ body: meeting(name, ofSpan), ofSpan });
      const name = ofSpan ? "scope.name-7" : "name-7";
      const [met = Infinity, apart = 0] = leastMs(10, of(name), of("other"));
      assert(met <= 5 * apart, `${met} ms against ${apart} ms`);
    },
  });
}
