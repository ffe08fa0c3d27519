/** Answers in gzip: which are, and how their pieces arrive. */

import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { concatBytes, textOf, utf8 } from "../base/bytes.ts";
import { Answer, AnswerCancelled } from "./answer.ts";
import { GZIP_PIECE_BYTES_MAX, GzipPieces } from "./gzip_pieces.ts";
import type { HeaderField } from "./request_head.ts";
import type { Bytes } from "./request_body.ts";

interface Asked {
  readonly accepts?: string;
  readonly method?: string;
  readonly version?: "1.0" | "1.1";
  readonly compresses?: boolean;
}

function answerOf(response: Response, asked: Asked = {}): Answer {
  const { accepts = "gzip", method = "GET", version = "1.1", compresses = true } = asked;
  const fields: HeaderField[] = accepts === "" ? [] : [["accept-encoding", accepts]];
  const head = { method, version, fields };
  return new Answer(response, { head, keepsAlive: true, nowMs: () => 0, compresses });
}

interface Sent {
  readonly fields: ReadonlyMap<string, string>;
  readonly body: Bytes;
  readonly keepsAlive: boolean;
}

async function sent(response: Response, asked?: Asked): Promise<Sent> {
  const written: Bytes[] = [];
  const keepsAlive = await answerOf(response, asked).send((bytes) => {
    written.push(Uint8Array.from(bytes));
    return Promise.resolve();
  });
  const bytes = concatBytes(written);
  const text = String.fromCharCode(...bytes.subarray(0, 2_000));
  const end = text.indexOf("\r\n\r\n");
  const fields = new Map(
    text.slice(0, end).split("\r\n").slice(1).map((line): [string, string] => {
      const colon = line.indexOf(":");
      return [line.slice(0, colon), line.slice(colon + 2)];
    }),
  );
  const rest = bytes.subarray(end + 4);
  return { fields, body: fields.has("transfer-encoding") ? dechunked(rest) : rest, keepsAlive };
}

function dechunked(bytes: Bytes): Bytes {
  const parts: Bytes[] = [];
  for (let at = 0;;) {
    const lineEnd = bytes.indexOf(0x0a, at);
    const size = parseInt(textOf(bytes.subarray(at, lineEnd)), 16);
    if (size === 0) return concatBytes(parts);
    parts.push(bytes.subarray(lineEnd + 1, lineEnd + 1 + size));
    at = lineEnd + 1 + size + 2;
  }
}

function decoded({ fields, body }: Sent): string {
  return textOf(fields.get("content-encoding") === "gzip" ? gunzipSync(body) : body);
}

const JSON_TYPE = { "content-type": "application/json" };
const LINE = '{"level":"INFO","message":"a request was answered in time"}\n';

/** About `bytes` of text in which no two stretches are equal. */
function text(bytes: number): string {
  let all = "";
  for (let at = 0; all.length < bytes; at += 1) all += `{"n":${at * 7_919 % 100_003}}\n${LINE}`;
  return all.slice(0, bytes);
}

function pieces(parts: readonly string[], onAsked = (_at: number) => {}): ReadableStream<Bytes> {
  let at = 0;
  return new ReadableStream({
    async pull(controller) {
      onAsked(at);
      await Promise.resolve();
      const part = parts[at++];
      if (part === undefined) controller.close();
      else controller.enqueue(utf8(part));
    },
  }, { highWaterMark: 0 });
}

for (const bytes of [1_024, GZIP_PIECE_BYTES_MAX]) {
  Deno.test({
    name: `an answer of ${bytes} bytes in gzip is the answer, and says its length`,
    fn: async () => {
      const headers = { ...JSON_TYPE, "content-length": String(bytes) };
      const whole = await sent(new Response(text(bytes), { headers }));
      assert.equal(whole.fields.get("content-encoding"), "gzip");
      assert.equal(whole.fields.get("vary"), "accept-encoding");
      assert.equal(whole.fields.get("content-length"), String(whole.body.byteLength));
      assert.equal(decoded(whole), text(bytes));
      assert.ok(whole.keepsAlive);
      assert.ok(whole.body.byteLength < bytes / 2);
    },
  });
}

Deno.test({
  name: "an answer in pieces is itself in gzip, also to a client of HTTP/1.0",
  fn: async () => {
    const parts = ["a,b\n", text(300_000), "", text(70), "é".repeat(2_000)];
    for (const version of ["1.1", "1.0"] as const) {
      const response = new Response(pieces(parts), { headers: { "content-type": "text/csv" } });
      const whole = await sent(response, { version });
      assert.equal(whole.fields.get("content-encoding"), "gzip");
      assert.equal(whole.fields.has("content-length"), false);
      assert.equal(decoded(whole), parts.join(""));
      assert.equal(whole.keepsAlive, version === "1.1");
    }
  },
});

for (
  const [bytes, says] of [[GZIP_PIECE_BYTES_MAX + 1, true], [3_000_000, true], [3_000_000, false]]
) {
  Deno.test({
    name: `an answer of ${bytes} bytes at hand is sent in pieces, ${says ? "" : "not "}announced`,
    fn: async () => {
      const headers = { ...JSON_TYPE, ...(says ? { "content-length": String(bytes) } : {}) };
      const whole = await sent(new Response(text(Number(bytes)), { headers }));
      assert.equal(whole.fields.get("transfer-encoding"), "chunked");
      assert.equal(whole.fields.has("content-length"), false);
      assert.equal(decoded(whole), text(Number(bytes)));
    },
  });
}

Deno.test({
  name: "an answer in gzip of other length than it announced is cut, not ended",
  fn: async () => {
    const headers = { ...JSON_TYPE, "content-length": "3000000" };
    await assert.rejects(sent(new Response(pieces([LINE, text(5_000)]), { headers })), /3000000/);
  },
});

const PLAIN: [what: string, response: () => Response, asked?: Asked, varies?: boolean][] = [
  ["1,023 bytes", () => new Response(text(1_023), { headers: JSON_TYPE }), {}, true],
  ["a client that asks for none", () => whole(), { accepts: "" }, true],
  ["a client that takes others", () => whole(), { accepts: "br" }, true],
  ["a server that compresses nothing", () => whole(), { compresses: false }],
  ["Parquet", () => whole({ "content-type": "application/vnd.apache.parquet" })],
  ["WebAssembly", () => whole({ "content-type": "application/wasm" })],
  ["no type", () => new Response(utf8(text(9_000)))],
  ["what is coded", () => whole({ "content-encoding": "zstd" })],
  ["a part", () => whole({ "content-range": "bytes 0-8999/10000" })],
  ["what has a validator", () => whole({ etag: '"1"' })],
];

function whole(headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(text(9_000), { headers: { ...JSON_TYPE, ...headers } });
}

for (const [what, response, asked, varies = false] of PLAIN) {
  Deno.test({
    name: `an answer goes out as it is: ${what}`,
    fn: async () => {
      const { fields, body } = await sent(response(), asked);
      const original = response();
      assert.equal(
        fields.get("content-encoding"),
        original.headers.get("content-encoding") ?? undefined,
      );
      assert.deepEqual(body, await original.bytes());
      assert.equal(fields.get("vary"), varies ? "accept-encoding" : undefined);
    },
  });
}

Deno.test({
  name: "a client that refuses answers as they are has a short one in gzip, and an empty one",
  fn: async () => {
    for (const body of ["{}", ""]) {
      const accepts = "gzip, identity;q=0";
      const short = await sent(new Response(body, { headers: JSON_TYPE }), { accepts });
      assert.equal(short.fields.get("content-encoding"), "gzip");
      assert.equal(decoded(short), body);
    }
  },
});

Deno.test({
  name: "HEAD tells no length of an answer that would be in gzip, and that of another",
  fn: async () => {
    const headers = { ...JSON_TYPE, "content-length": "9000" };
    for (const [accepts, length] of [["gzip", undefined], ["", "9000"]] as const) {
      const { fields, body } = await sent(new Response(null, { headers }), {
        method: "HEAD",
        accepts,
      });
      assert.equal(fields.get("content-length"), length);
      assert.equal(fields.get("content-encoding"), undefined);
      assert.equal(fields.get("vary"), "accept-encoding");
      assert.equal(body.byteLength, 0);
    }
  },
});

for (const status of [204, 304]) {
  Deno.test({
    name: `${status} has neither body nor coding`,
    fn: async () => {
      const { fields, body } = await sent(new Response(null, { status, headers: JSON_TYPE }));
      assert.equal(fields.get("content-encoding"), undefined);
      assert.equal(body.byteLength, 0);
    },
  });
}

Deno.test({
  name: "a piece can be read once it has come, before the next is made",
  fn: async () => {
    const [one, two] = ["data: 1\n\n", "data: 2\n\n"];
    const made = Promise.withResolvers<void>();
    const body = new ReadableStream<Bytes>({
      async pull(controller) {
        controller.enqueue(utf8(one));
        await made.promise;
        controller.enqueue(utf8(two));
        controller.close();
      },
    }, { highWaterMark: 0 });
    const wire = new TransformStream<Bytes, Bytes>();
    const writer = wire.writable.getWriter();
    const headers = { "content-type": "text/event-stream" };
    const sending = answerOf(new Response(body, { headers }), { version: "1.0" })
      .send((bytes) => writer.write(Uint8Array.from(bytes)))
      .then(() => writer.close());
    const reader = wire.readable.getReader();
    const { value: first = new Uint8Array(0) } = await reader.read();
    const rest = first.subarray(String.fromCharCode(...first).indexOf("\r\n\r\n") + 4);
    // With an end of its own the piece is a whole body.
    const pieces = new GzipPieces();
    const [alone] = pieces.of(utf8(one));
    assert.deepEqual(rest, Uint8Array.from(alone ?? []));
    assert.equal(textOf(gunzipSync(concatBytes([rest, pieces.end()]))), one);
    made.resolve();
    const all: Bytes[] = [rest];
    for (let next = await reader.read(); !next.done; next = await reader.read()) {
      all.push(next.value);
    }
    await sending;
    assert.equal(textOf(gunzipSync(concatBytes(all))), one + two);
  },
});

Deno.test({
  name: "the source of an answer in gzip is asked for a piece once the one before was taken",
  fn: async () => {
    let asked = 0;
    const parts = Array.from({ length: 50 }, () => text(20_000));
    const taking = Promise.withResolvers<void>();
    const answer = answerOf(
      new Response(pieces(parts, (at) => asked = at), { headers: JSON_TYPE }),
    );
    const writing = Promise.withResolvers<void>();
    const sending = answer.send(async () => {
      writing.resolve();
      await taking.promise;
    });
    await writing.promise;
    // The one that is written, and one that is asked for meanwhile.
    assert.ok(asked <= 2, String(asked));
    taking.resolve();
    await sending;
    assert.equal(asked, 50);
  },
});

Deno.test({
  name: "a client that leaves ends the source of an answer in gzip, and nothing ends the answer",
  fn: async () => {
    const cancelled = Promise.withResolvers<unknown>();
    const body = new ReadableStream<Bytes>({
      pull: (controller) => controller.enqueue(utf8(text(5_000))),
      cancel: (reason) => cancelled.resolve(reason),
    }, { highWaterMark: 0 });
    const written: Uint8Array[] = [];
    const answer = answerOf(new Response(body, { headers: JSON_TYPE }));
    const sending = answer.send((bytes) => {
      written.push(bytes);
      if (written.length === 3) answer.cancel("left");
      return Promise.resolve();
    });
    await assert.rejects(sending, AnswerCancelled);
    assert.equal(await cancelled.promise, "left");
    assert.equal(written.length, 3);
  },
});
