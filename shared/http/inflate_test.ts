/** What decoded bodies are is in `body_test.ts` and `body_stream_test.ts`. */

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { concatBytes } from "../base/bytes.ts";
import { echoesDuring } from "../testing/echoes_during.ts";
import { inflate } from "./inflate.ts";

Deno.test({
  name: "inflate lets sockets be served within members of gzip that hold nothing",
  fn: async () => {
    const mebibytes = 16;
    const members = concatBytes(Array(52_000).fill(gzipSync("")));
    async function* wire() {
      for (let sent = 0; sent < mebibytes; sent += 1) yield members;
    }
    const echoes = await echoesDuring(async () => {
      for await (const bytes of inflate(wire(), "gzip")) assert.equal(bytes.byteLength, 0);
    });
    assert.ok(echoes >= mebibytes / 2, `${echoes} echoes in ${mebibytes} MiB`);
  },
});
