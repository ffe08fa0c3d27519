/** What decoded bodies are is in `body_test.ts` and `body_stream_test.ts`. */

import assert from "node:assert/strict";
import { gzipSync } from "node:zlib";
import { concatBytes } from "../base/bytes.ts";
import { echoesDuring } from "../testing/echoes_during.ts";
import { inflate } from "./inflate.ts";
import { ZstdSplitter } from "./zstd_splitter.ts";

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

/** A Zstandard frame of blocks that are as they stand, each of `blockBytes` bytes. */
function storedFrame(blocks: number, blockBytes: number): Uint8Array {
  const head = Uint8Array.of(0x28, 0xb5, 0x2f, 0xfd, 0, 0);
  const block = Uint8Array.of(blockBytes << 3, 0, 0, ...new Uint8Array(blockBytes));
  const body = new Uint8Array(blocks * block.length);
  for (let at = 0; at < body.length; at += block.length) body.set(block, at);
  return concatBytes([head, body, Uint8Array.of(1, 0, 0)]);
}

Deno.test({
  name: "inflate lets sockets be served within blocks of Zstandard that hold a byte each",
  fn: async () => {
    const blocks = 50_000;
    let bytes = 0;
    const echoes = await echoesDuring(async () => {
      for await (const piece of inflate(wireOf(storedFrame(blocks, 1)), "zstd")) {
        bytes += piece.byteLength;
      }
    });
    assert.equal(bytes, blocks);
    assert.ok(echoes >= blocks / 512, `${echoes} echoes in ${blocks} blocks`);
  },
});

Deno.test({
  name: "inflate takes blocks of Zstandard that hold nothing together",
  fn: async () => {
    const runs = new ZstdSplitter().split(storedFrame(100_000, 0));
    // The head, all blocks up to the end of the chunk.
    assert.equal(runs.length, 2);
    for await (const piece of inflate(wireOf(storedFrame(100_000, 0)), "zstd")) {
      assert.equal(piece.byteLength, 0);
    }
  },
});

async function* wireOf(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  for (let at = 0; at < bytes.length; at += 65_536) {
    yield bytes.subarray(at, at + 65_536);
    await Promise.resolve();
  }
}
