import assert from "node:assert/strict";
import { deflateSync, gzipSync, zstdCompressSync } from "node:zlib";
import { concatBytes, utf8 } from "../base/bytes.ts";
import { type ErrorCode, OperatingError } from "../base/errors.ts";
import { readBody } from "./body.ts";
import { streamBody } from "./body_stream.ts";
import { ByteBudget } from "../base/byte_budget.ts";
import { withDeadline } from "../base/with_deadline.ts";
import { asOperatingError, errorResponse } from "./error_response.ts";
import { type RunningServer, serve, type ServeOptions } from "./serve.ts";
import { snappyBlock, snappyFrame, snappyFramed } from "../testing/snappy.ts";
import { until } from "../testing/until.ts";

const CAP = 64 * 1024;
const TEXT = utf8("a line of a log, again and again\n".repeat(300));
const BOMB = new Uint8Array(64 * 1024 * 1024);

type Body = Uint8Array<ArrayBuffer>;
const gzip = (bytes: Uint8Array): Body => new Uint8Array(gzipSync(bytes));
const deflate = (bytes: Uint8Array): Body => new Uint8Array(deflateSync(bytes));
const zstd = (bytes: Uint8Array): Body => new Uint8Array(zstdCompressSync(bytes));

/** Both ways to have a body's bytes. */
const READERS: Readonly<
  Record<string, (request: Request, msMax: number) => Promise<Uint8Array>>
> = {
  readBody: (request, readMsMax) => readBody(request, { bytesMax: CAP, readMsMax }),
  streamBody: (request, msMax) =>
    withDeadline(
      { msMax, what: "the request body did not arrive (or so)" },
      async (late) => {
        const pieces = streamBody(request, { bytesMax: CAP, late });
        return concatBytes(await Array.fromAsync(pieces, (piece) => piece.slice()));
      },
    ),
};

interface EchoOptions extends Pick<ServeOptions, "stopMsMax"> {
  readonly readMsMax?: number;
  readonly onRequest?: () => void;
}

/** Echoes the decoded body, or the error. */
function startEcho(
  reader = "readBody",
  { readMsMax = 30_000, onRequest = () => {}, ...options }: EchoOptions = {},
): RunningServer {
  return serve({
    ...options,
    hostname: "127.0.0.1",
    port: 0,
    handler: async (request) => {
      onRequest();
      try {
        return new Response(await READERS[reader]?.(request, readMsMax) as Body);
      } catch (error) {
        return errorResponse(error);
      }
    },
  });
}

const ACCEPTED: { name: string; encoding?: string; body: Body; expected: Body }[] = [
  { name: "identity", body: TEXT, expected: TEXT },
  { name: "empty", body: new Uint8Array(0), expected: new Uint8Array(0) },
  { name: "identity named", encoding: "identity", body: TEXT, expected: TEXT },
  { name: "an encoding that is empty", encoding: "", body: TEXT, expected: TEXT },
  { name: "gzip", encoding: "gzip", body: gzip(TEXT), expected: TEXT },
  { name: "gzip in a list", encoding: "identity, gzip,", body: gzip(TEXT), expected: TEXT },
  { name: "gzip in capitals", encoding: "GZIP", body: gzip(TEXT), expected: TEXT },
  { name: "x-gzip", encoding: "x-gzip", body: gzip(TEXT), expected: TEXT },
  {
    name: "gzip of two members",
    encoding: "gzip",
    body: concatBytes([gzip(TEXT), gzip(TEXT)]),
    expected: concatBytes([TEXT, TEXT]),
  },
  { name: "deflate (zlib)", encoding: "deflate", body: deflate(TEXT), expected: TEXT },
  { name: "zstd", encoding: "zstd", body: zstd(TEXT), expected: TEXT },
  {
    name: "zstd of two frames",
    encoding: "zstd",
    body: concatBytes([zstd(TEXT), zstd(TEXT)]),
    expected: concatBytes([TEXT, TEXT]),
  },
  { name: "snappy", encoding: "snappy", body: snappyBlock(TEXT), expected: TEXT },
  { name: "snappy that is framed", encoding: "snappy", body: snappyFramed(TEXT), expected: TEXT },
  { name: "framed snappy", encoding: "X-Snappy-Framed", body: snappyFramed(TEXT), expected: TEXT },
  {
    name: "framed snappy of two streams, with padding",
    encoding: "x-snappy-framed",
    body: concatBytes([snappyFramed(TEXT), snappyFrame(0xfe, TEXT), snappyFramed(TEXT, 10)]),
    expected: concatBytes([TEXT, TEXT]),
  },
  ...([["snappy", snappyBlock], ["x-snappy-framed", snappyFramed]] as const).map(
    ([encoding, pack]) => ({
      name: `exactly at the cap, ${encoding}`,
      encoding,
      body: pack(new Uint8Array(CAP)),
      expected: new Uint8Array(CAP),
    }),
  ),
  {
    name: "exactly at the cap",
    body: new Uint8Array(CAP),
    expected: new Uint8Array(CAP),
  },
  {
    name: "exactly at the cap, gzip",
    encoding: "gzip",
    body: gzip(new Uint8Array(CAP)),
    expected: new Uint8Array(CAP),
  },
];

const PACKERS: readonly (readonly [string, (bytes: Uint8Array) => Body])[] = [
  ["gzip", gzip],
  ["deflate", deflate],
  ["zstd", zstd],
  ["snappy", snappyBlock],
  ["x-snappy-framed", (bytes) => snappyFramed(bytes)],
];

const REFUSED: { name: string; encoding?: string; body: Body; status: number; reason: string }[] = [
  { name: "one byte over", body: new Uint8Array(CAP + 1), status: 413, reason: "body_too_large" },
  ...PACKERS.map(([encoding, pack]) => ({
    name: `${encoding} bomb`,
    encoding,
    body: pack(BOMB),
    status: 413,
    reason: "body_too_large",
  })),
  {
    name: "one byte over the cap, zstd",
    encoding: "zstd",
    body: zstd(new Uint8Array(CAP + 1)),
    status: 413,
    reason: "body_too_large",
  },
  {
    name: "zstd bomb in its second frame",
    encoding: "zstd",
    body: concatBytes([zstd(new Uint8Array(CAP)), zstd(new Uint8Array(1))]),
    status: 413,
    reason: "body_too_large",
  },
  ...PACKERS.flatMap(([encoding, pack]) => [
    {
      name: `${encoding} that is none`,
      encoding,
      body: TEXT,
      status: 400,
      reason: "bad_content_encoding",
    },
    {
      name: `${encoding} cut short`,
      encoding,
      body: pack(TEXT).slice(0, -6),
      status: 400,
      reason: "bad_content_encoding",
    },
    {
      name: `${encoding} of no bytes`,
      encoding,
      body: new Uint8Array(0),
      status: 400,
      reason: "bad_content_encoding",
    },
  ]),
  {
    name: "unknown encoding",
    encoding: "br",
    body: TEXT,
    status: 415,
    reason: "unsupported_content_encoding",
  },
  ...[
    ["deflate behind deflate", "deflate", [deflate(TEXT), deflate(TEXT)]] as const,
    ["bytes behind deflate", "deflate", [deflate(TEXT), utf8("more")]] as const,
    ["bytes behind gzip", "gzip", [gzip(TEXT), utf8("more")]] as const,
    ["zeros and a member behind gzip", "gzip", [
      gzip(TEXT),
      new Uint8Array(9),
      gzip(TEXT),
    ]] as const,
  ].map(([name, encoding, parts]) => ({
    ...{ name, encoding, body: concatBytes(parts) },
    ...{ status: 400, reason: "bad_content_encoding" },
  })),
  {
    name: "two encodings",
    encoding: "gzip, gzip",
    body: gzip(gzip(TEXT)),
    status: 415,
    reason: "unsupported_content_encoding",
  },
  {
    name: "encoding named like an object member",
    encoding: "constructor",
    body: TEXT,
    status: 415,
    reason: "unsupported_content_encoding",
  },
];

for (const reader of Object.keys(READERS)) {
  for (const chunked of [false, true]) {
    const how = chunked ? "chunked" : "with a length";
    for (const { name, encoding, body, expected } of ACCEPTED) {
      Deno.test({
        name: `${reader} accepts ${name}, ${how}`,
        fn: async () => {
          await using server = startEcho(reader);
          const response = await send(server, body, { encoding, chunked });
          assert.equal(response.status, 200);
          assert.deepEqual(await response.bytes(), expected);
        },
      });
    }
    for (const { name, encoding, body, status, reason } of REFUSED) {
      Deno.test({
        name: `${reader} refuses ${name}, ${how}`,
        fn: async () => {
          await using server = startEcho(reader);
          const response = await send(server, body, { encoding, chunked });
          const answer = await response.json();
          assert.equal(response.status, status);
          assert.equal(answer.code, status);
          assert.equal(answer.reason, reason);
          assert.ok(answer.error.length > 20);
          const readable = status === 415
            ? "gzip, deflate, zstd, snappy, x-snappy-framed, identity"
            : null;
          assert.equal(response.headers.get("accept-encoding"), readable);
        },
      });
    }
  }

  Deno.test({
    name: `${reader} refuses a 17 MiB body by its announced length and the sender reads the status`,
    fn: async () => {
      await using server = startEcho(reader);
      const response = await send(server, new Uint8Array(17 * 1024 * 1024), {});
      assert.equal(response.status, 413);
      assert.match(
        (await response.json()).error,
        /17825792 bytes .* limit of 65536 bytes .*: send a smaller/,
      );
    },
  });

  for (const framing of ["content-length: 17825792", "transfer-encoding: chunked"]) {
    Deno.test({
      name: `${reader} lets a sender that reads only after its last byte see the 413, ${framing}`,
      fn: async () => {
        await using server = startEcho(reader);
        const chunked = framing.startsWith("transfer");
        const text = await exchange(server, `POST / HTTP/1.1\r\nhost: x\r\n${framing}\r\n\r\n`, {
          body: async (connection) => {
            const chunk = new Uint8Array(64 * 1024);
            const head = utf8(`${chunk.byteLength.toString(16)}\r\n`);
            for (let sent = 0; sent < 17 * 1024 * 1024; sent += chunk.byteLength) {
              if (chunked) await writeAll(connection, head);
              await writeAll(connection, chunk);
              if (chunked) await writeAll(connection, utf8("\r\n"));
            }
            if (chunked) await writeAll(connection, utf8("0\r\n\r\n"));
          },
        });
        assert.match(text, /^HTTP\/1\.1 413 /);
        assert.match(text, /limit of 65536 bytes/);
      },
    });
  }

  Deno.test({
    name: `${reader} ends a body that stalls at its deadline, announced or chunked`,
    fn: async () => {
      await using server = startEcho(reader, { readMsMax: 300 });
      for (const framing of ["content-length: 10", "transfer-encoding: chunked"]) {
        const start = framing.startsWith("content") ? "hello" : "5\r\nhello\r\n";
        const text = await exchange(
          server,
          `POST / HTTP/1.1\r\nhost: x\r\n${framing}\r\n\r\n${start}`,
        );
        assert.match(text, /^HTTP\/1\.1 504 /);
        assert.match(text, /did not arrive .* within 300 ms/);
      }
    },
  });

  Deno.test({
    name: `${reader} answers 400 when the sender closes before the announced length`,
    fn: async () => {
      await using server = startEcho(reader);
      const text = await exchange(
        server,
        "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhello",
        { close: true },
      );
      assert.match(text, /^HTTP\/1\.1 400 /);
      assert.match(text, /body_incomplete/);
      assert.match(text, /ended before its end was due; send all of the announced bytes/);
    },
  });

  Deno.test({
    name: `${reader} says what is wrong with a chunk`,
    fn: async () => {
      await using server = startEcho(reader);
      const text = await exchange(
        server,
        "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n5\r\nhello more\r\n0\r\n\r\n",
      );
      assert.match(text, /^HTTP\/1\.1 400 /);
      assert.match(text, /body_incomplete/);
      assert.match(text, /cannot read the request body: a chunk is longer than its size; send/);
    },
  });
}

for (const reader of Object.keys(READERS)) {
  Deno.test({
    name: `${reader} has what arrives shortly after its server is asked to stop, else answers 503`,
    fn: async () => {
      for (
        const { rest, status, stopMsMax } of [
          { rest: "world", status: 200, stopMsMax: 10_000 },
          { rest: "", status: 503, stopMsMax: 200 },
        ]
      ) {
        const { promise: begun, resolve: onRequest } = Promise.withResolvers<void>();
        const server = startEcho(reader, { stopMsMax, onRequest });
        using sender = await Deno.connect({ port: server.address.port });
        await sender.write(
          utf8("POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 10\r\n\r\nhello"),
        );
        await begun;
        const stopped = server.stop();
        await new Promise((resolve) => setTimeout(resolve, 20));
        await sender.write(utf8(rest));
        const answer = new Uint8Array(1_024);
        const length = await sender.read(answer) ?? 0;
        const text = new TextDecoder().decode(answer.subarray(0, length));
        assert.match(text, new RegExp(`^HTTP/1\\.1 ${status} `));
        assert.match(text, status === 200 ? /helloworld$/ : /retry-after: 1\r\n[^]*"stopping"/);
        await stopped;
      }
    },
  });
}

Deno.test({
  name: "readBody charges its hold with wire and decoded bytes, and the hold gives all back",
  fn: async () => {
    const budget = new ByteBudget(1_000_000);
    const packed = gzip(TEXT);
    const request = new Request("http://x/", {
      method: "POST",
      body: packed,
      headers: { "content-encoding": "gzip", "content-length": String(packed.byteLength) },
    });
    {
      using hold = budget.hold();
      await readBody(request, { bytesMax: CAP, hold });
      assert.equal(budget.used, packed.byteLength + TEXT.byteLength);
    }
    assert.equal(budget.used, 0);
  },
});

Deno.test({
  name: "readBody gives up bodies that stop half-way, but for the first quarter of the budget",
  fn: async () => {
    const budget = new ByteBudget(1_000);
    const end = new AbortController();
    const read = async (headers: Record<string, string>) => {
      const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
      writable.getWriter().write(utf8("hello")).catch(() => {});
      const request = new Request("http://x/", { method: "POST", headers, body: readable });
      using hold = budget.hold();
      await readBody(request, { bytesMax: CAP, hold, late: end });
    };
    const announced = { "content-length": "200" };
    read(announced).catch(() => {});
    const given = [announced, announced, {}].map((headers) =>
      assert.rejects(read(headers), /late/)
    );
    await until(() => budget.used === 3 * 200 + 5);
    end.abort(new OperatingError("deadline_exceeded", "late"));
    await Promise.all(given);
    assert.equal(budget.used, 200);
  },
});

Deno.test({
  name: "readBody of a connection gives up a body that stops half-way past a quarter of the budget",
  fn: async () => {
    const budget = new ByteBudget(1_000);
    await using server = serve({
      hostname: "127.0.0.1",
      port: 0,
      handler: async (request) => {
        try {
          return await withDeadline({ msMax: 100, what: "no rows came" }, async (late) => {
            using hold = budget.hold();
            return new Response(await readBody(request, { bytesMax: CAP, hold, late }) as Body);
          });
        } catch (error) {
          return errorResponse(error);
        }
      },
    });
    const head = "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 400\r\n\r\nhello";
    assert.match(await exchange(server, head), /^HTTP\/1\.1 504 .*no rows came within 100 ms/s);
    assert.equal(budget.used, 0);
  },
});

Deno.test({
  name: "ByteBudget refuses what does not fit with 503 and Retry-After, and holds nothing for it",
  fn: () => {
    const budget = new ByteBudget(100);
    using first = budget.hold();
    first.grow(80);
    using second = budget.hold();
    assert.throws(() => second.grow(21), {
      code: "unavailable" satisfies ErrorCode,
      retryAfterSecs: 1,
    });
    assert.equal(budget.used, 80);
    second.grow(20);
    assert.equal(budget.used, 100);
  },
});

Deno.test({
  name: "errorResponse renders code, reason, details and Retry-After",
  fn: async () => {
    const response = errorResponse(
      new OperatingError("unavailable", "lane is full", {
        reason: "lane_full",
        retryAfterSecs: 2,
        details: { lane: "default/events" },
      }),
    );
    assert.equal(response.status, 503);
    assert.equal(response.headers.get("retry-after"), "2");
    assert.equal(response.headers.get("content-type"), "application/json");
    assert.deepEqual(await response.json(), {
      error: "lane is full",
      code: 503,
      reason: "lane_full",
      lane: "default/events",
    });
  },
});

Deno.test({
  name: "asOperatingError hides the text of a bug",
  fn: () => {
    const error = asOperatingError(new TypeError("secret internals"));
    assert.equal(error.code, "internal");
    assert.doesNotMatch(error.message, /secret/);
  },
});

interface SendOptions {
  readonly encoding?: string | undefined;
  readonly chunked?: boolean;
}

function send(server: RunningServer, body: Body, options: SendOptions): Promise<Response> {
  return fetch(`http://127.0.0.1:${server.address.port}/`, {
    method: "POST",
    body: options.chunked ? streamOf(body) : body,
    headers: options.encoding === undefined ? {} : { "content-encoding": options.encoding },
  });
}

function streamOf(bytes: Body): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.byteLength) return controller.close();
      controller.enqueue(bytes.subarray(at, at + 10_000));
      at += 10_000;
    },
  });
}

/** Sends raw bytes on a fresh connection; the text of the answer up to the end of its body. */
async function exchange(
  server: RunningServer,
  text: string,
  options: { close?: boolean; body?: (connection: Deno.Conn) => Promise<void> } = {},
): Promise<string> {
  const connection = await Deno.connect({ hostname: "127.0.0.1", port: server.address.port });
  try {
    await writeAll(connection, utf8(text));
    await options.body?.(connection);
    if (options.close) await connection.closeWrite();
    const buffer = new Uint8Array(4096);
    let answer = "";
    while (!answer.includes("}")) {
      const count = await connection.read(buffer);
      if (count === null) break;
      answer += new TextDecoder().decode(buffer.subarray(0, count));
    }
    return answer;
  } finally {
    connection.close();
  }
}

async function writeAll(connection: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.byteLength;) at += await connection.write(bytes.subarray(at));
}
