/**
 * Bodies as the OpenTelemetry Collector sends them: encoded by `github.com/golang/snappy` v1.0.0,
 * its own library, with `snappy.Encode` (`block`: HTTP's `snappy`) and `snappy.NewBufferedWriter`
 * (`framed`: `x-snappy-framed`, and gRPC's `snappy`).
 */

import assert from "node:assert/strict";
import { decodeContent } from "../../shared/http/content_encoding.ts";
import { concatBytes } from "../../shared/base/bytes.ts";

interface GoldenBody {
  readonly name: string;
  readonly plain: string;
  readonly repeat: number;
  readonly block: string;
  readonly framed: string;
}

const path = new URL("./snappy/golang.json", import.meta.url);
const bodies: GoldenBody[] = JSON.parse(await Deno.readTextFile(path));
const CAP = { bytesMax: 1024 * 1024 };

for (const { name, plain, repeat, block, framed } of bodies) {
  Deno.test({
    name: `decodeContent reads what Go's snappy made of: ${name}`,
    fn() {
      const whole = concatBytes(Array(repeat).fill(Uint8Array.fromBase64(plain)));
      const asBlock = Uint8Array.fromBase64(block);
      const asFrames = Uint8Array.fromBase64(framed);
      assert.deepEqual(decodeContent(asBlock, "snappy", CAP), whole);
      assert.deepEqual(decodeContent(asFrames, "snappy", CAP), whole);
      assert.deepEqual(decodeContent(asFrames, "x-snappy-framed", CAP), whole);
      assert.throws(() => decodeContent(asBlock, "x-snappy-framed", CAP), /x-snappy-framed/);
    },
  });
}
