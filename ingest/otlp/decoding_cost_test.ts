/**
 * What a request's attributes cost, whatever their names are: senders share one thread. Figures are ratios to the same number of
 * attributes in records that are alike.
 */

import assert from "node:assert/strict";
import { utf8 } from "../../shared/base/bytes.ts";
import { decodeLogsProtobuf } from "./logs_protobuf.ts";
import { decodeSpansProtobuf } from "./spans_protobuf.ts";
import { WireWriter } from "./wire_writer.ts";

const ATTRIBUTES = 200_000;
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

/** The least of several runs. */
function decodingMs(of: Request): number {
  const body = request(of);
  const decode = of.ofSpan === true ? decodeSpansProtobuf : decodeLogsProtobuf;
  let leastMs = Infinity;
  for (let run = 0; run < 5; run += 1) {
    const startMs = performance.now();
    const { rows, release } = decode(body, { nowNs: 1n });
    leastMs = Math.min(leastMs, performance.now() - startMs);
    assert.equal(rows, ATTRIBUTES / of.each);
    release?.();
  }
  return leastMs;
}

for (const of of REQUESTS) {
  Deno.test({
    name: `decoding attributes ${of.name} costs at most ${of.ratioMax} times those that are alike`,
    fn() {
      const [ms, alikeMs] = [decodingMs(of), decodingMs(ALIKE)];
      const ratio = ms / alikeMs;
      assert(ratio <= of.ratioMax, `${ratio.toFixed(1)}: ${ms} ms against ${alikeMs} ms`);
    },
  });
}
