import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { EventParser } from "./event_parser.ts";

const TEXT = [
  "retry: 300",
  ": a comment",
  "event: rows",
  "id: 7",
  'data: {"rows":',
  "data:[]}",
  "",
  "data",
  "",
  "id: 8\r",
  "\r",
  "event: unfinished",
  "id: 9",
  "data: x",
].join("\n");

Deno.test({
  name: "EventParser reads the events of a stream however it is cut into pieces",
  fn() {
    fc.assert(fc.property(fc.array(fc.nat(TEXT.length)), (cuts) => {
      const parser = new EventParser(undefined);
      const places = [0, ...cuts.toSorted((a, b) => a - b), TEXT.length];
      const events = places.slice(1).flatMap((end, at) => [
        ...parser.push(TEXT.slice(places[at], end)),
      ]);
      deepStrictEqual(events, [
        { name: "rows", data: '{"rows":\n[]}', id: "7" },
        { name: "message", data: "", id: "7" },
      ]);
      strictEqual(parser.lastId, "8");
      strictEqual(parser.retryMs, 300);
      parser.begin();
      deepStrictEqual([...parser.push("data: y\n\n")], [
        { name: "message", data: "y", id: "8" },
      ]);
    }));
  },
});
