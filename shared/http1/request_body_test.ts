import assert from "node:assert/strict";
import { concatBytes, utf8 } from "../base/bytes.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { type ByteConnection, Input } from "./input.ts";
import { HTTP1_LIMITS } from "./limits.ts";
import { RequestBody } from "./request_body.ts";

const KIB = 1024;

/** A peer whose bytes are there, up to `readBytesMax` a read, and that never sends more. */
class Peer implements ByteConnection {
  reads = 0;
  #at = 0;

  constructor(readonly bytes: Uint8Array, readonly readBytesMax = Infinity) {}

  read(into: Uint8Array): Promise<number | null> {
    this.reads += 1;
    const count = Math.min(into.byteLength, this.readBytesMax, this.bytes.byteLength - this.#at);
    if (count === 0) return new Promise(() => {});
    into.set(this.bytes.subarray(this.#at, this.#at + count));
    this.#at += count;
    return Promise.resolve(count);
  }

  write(): Promise<number> {
    throw new Error("nothing is written");
  }

  closeWrite = () => Promise.resolve();
  close = () => {};
}

function bodyOf(peer: Peer, framing: number | "chunked") {
  const told: string[] = [];
  const input = new Input(peer, HTTP1_LIMITS.bufferBytes);
  const body = new RequestBody(input, framing, {
    onWait: () => told.push("wait"),
    onEnd: () => told.push("end"),
  });
  return { body, input, told };
}

/** What `view` gives, each part copied before the next one is asked for. */
async function viewed(body: RequestBody): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  for (let view = await body.view(); view !== undefined; view = await body.view()) {
    assert.ok(view.byteLength > 0);
    parts.push(view.slice());
  }
  return concatBytes(parts);
}

function chunked(bytes: Uint8Array, random: SeededRandom): Uint8Array {
  const parts: Uint8Array[] = [];
  for (let at = 0; at < bytes.byteLength;) {
    const chunk = bytes.subarray(at, at + 1 + random.below(20_000));
    parts.push(utf8(`${chunk.byteLength.toString(16)}\r\n`), chunk, utf8("\r\n"));
    at += chunk.byteLength;
  }
  return concatBytes([...parts, utf8("0\r\n\r\n")]);
}

Deno.test("RequestBody.view gives the bytes of bodies with a length and in chunks, however they come", async () => {
  const random = new SeededRandom(11);
  for (let turn = 0; turn < 200; turn += 1) {
    const bytes = Uint8Array.from({ length: random.below(150_000) }, () => random.below(256));
    const isChunked = turn % 2 === 0;
    const wire = isChunked ? chunked(bytes, random) : bytes;
    const rest = utf8("GET / HTTP/1.1\r\n");
    const readBytesMax = 1 + random.below(turn % 4 < 2 ? 90_000 : 6_000);
    const peer = new Peer(concatBytes([wire, rest]), readBytesMax);
    const { body, input, told } = bodyOf(peer, isChunked ? "chunked" : bytes.byteLength);
    assert.deepEqual(await viewed(body), bytes);
    assert.equal(await body.view(), undefined);
    assert.deepEqual(told.filter((what) => what === "end"), ["end"], "it is told once");
    while (input.length < rest.byteLength) await input.fill(HTTP1_LIMITS.headBytesMax);
    assert.deepEqual(input.peek(), rest, "what follows the body is not its own");
  }
});

Deno.test("RequestBody.view reads 64 KiB at a time once more came than a short buffer holds", async () => {
  const bytes = new Uint8Array(1_000 * KIB);
  const peer = new Peer(bytes);
  await viewed(bodyOf(peer, bytes.byteLength).body);
  assert.ok(peer.reads <= 2 + 1_000 / 64, `${peer.reads} reads`);
});

Deno.test("RequestBody.view stays with the short buffer while little comes at a time", async () => {
  const bytes = new Uint8Array(100 * KIB);
  const peer = new Peer(bytes, 2 * KIB);
  const { body, input } = bodyOf(peer, bytes.byteLength);
  for (let view = await body.view(); view !== undefined; view = await body.view()) {
    assert.ok(view.buffer.byteLength <= HTTP1_LIMITS.bufferBytes);
  }
  assert.equal(input.length, 0);
});

Deno.test("RequestBody.skip drops what is left of a body, and nothing that follows it", async () => {
  const random = new SeededRandom(12);
  const bytes = new Uint8Array(300_000).fill(97);
  const rest = utf8("GET / HTTP/1.1\r\n");
  for (const framing of [bytes.byteLength, "chunked"] as const) {
    const wire = framing === "chunked" ? chunked(bytes, random) : bytes;
    const { body, input, told } = bodyOf(new Peer(concatBytes([wire, rest])), framing);
    await body.view();
    while (await body.skip() > 0);
    assert.equal(body.hasEnded, true);
    assert.equal(told.at(-1), "end");
    while (input.length < rest.byteLength) await input.fill(HTTP1_LIMITS.headBytesMax);
    assert.deepEqual(input.peek(), rest);
  }
});

Deno.test("RequestBody.cut ends a read of all bytes that waits for a slow sender", async () => {
  const { body } = bodyOf(new Peer(utf8("hello")), 10);
  const reading = body.bytes();
  await new Promise((resolve) => setTimeout(resolve, 1));
  body.cut(new Error("late"));
  await assert.rejects(reading, /late/);
  await assert.rejects(body.skip(), /late/);
});
