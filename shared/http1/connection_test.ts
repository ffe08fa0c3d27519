/** One connection over a peer that is played: what is said to it, and the limits of time. */

import assert from "node:assert/strict";
import { OperatingError } from "../base/errors.ts";
import { Http1Connection, type Http1ConnectionOptions } from "./connection.ts";
import type { ByteConnection } from "./input.ts";
import { HTTP1_LIMITS } from "./limits.ts";

/** The peer, and the time. */
class Peer implements ByteConnection {
  nowMs = 0;
  heard = "";
  isClosed = false;
  /** Takes nothing of what is written while this waits. */
  taking: Promise<void> = Promise.resolve();
  readonly refusals: string[] = [];
  #unread = new Uint8Array(0);
  #hasLeft = false;
  #wake = Promise.withResolvers<void>();

  say(text: string): void {
    const bytes = Uint8Array.from(text, (char) => char.charCodeAt(0));
    this.#unread = new Uint8Array([...this.#unread, ...bytes]);
    this.#wake.resolve();
  }

  leave(): void {
    this.#hasLeft = true;
    this.#wake.resolve();
  }

  get unreadBytes(): number {
    return this.#unread.byteLength;
  }

  async read(into: Uint8Array): Promise<number | null> {
    while (this.#unread.byteLength === 0) {
      if (this.isClosed) throw new Deno.errors.BadResource("closed");
      if (this.#hasLeft) return null;
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
    const count = Math.min(into.byteLength, this.#unread.byteLength);
    into.set(this.#unread.subarray(0, count));
    this.#unread = this.#unread.slice(count);
    return count;
  }

  async write(bytes: Uint8Array): Promise<number> {
    await this.taking;
    if (this.isClosed) throw new Deno.errors.BadResource("closed");
    this.heard += String.fromCharCode(...bytes);
    return bytes.byteLength;
  }

  closeWrite(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.isClosed = true;
    this.#wake.resolve();
  }
}

type Handler = Http1ConnectionOptions["handler"];

function connect(handler: Handler = () => new Response("ok")) {
  const peer = new Peer();
  const connection = new Http1Connection(peer, {
    peer: "192.0.2.1",
    scheme: "http",
    handler,
    nowMs: () => peer.nowMs,
    stallMsMax: HTTP1_LIMITS.stallMsMax,
    compresses: false,
    onRefusal: (reason) => void peer.refusals.push(reason),
    onWaiting: () => {},
  });
  return { peer, connection, ended: connection.run() };
}

/** Lets everything happen that waits for nothing. */
async function settle(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve, 0));
}

const GET = "GET / HTTP/1.1\r\nhost: x\r\n\r\n";
const POST = "POST / HTTP/1.1\r\nhost: x\r\n";
const CHUNKED = `${POST}transfer-encoding: chunked\r\n\r\n`;

const readsBody: Handler = async (request) => {
  try {
    return new Response(await request.text());
  } catch {
    return new Response("broken", { status: 400 });
  }
};

/** Statuses of the answers. */
function statuses(peer: Peer): string[] {
  return [...peer.heard.matchAll(/HTTP\/1\.1 (\d+) /g)].map(([, status]) => status ?? "");
}

Deno.test({
  name: "requests that are sent ahead are answered in their order",
  fn: async () => {
    const { peer } = connect((request) => new Response(new URL(request.url).pathname));
    peer.say(["/a", "/b", "/c"].map((path) => GET.replace("/", path)).join(""));
    await settle();
    assert.deepEqual(peer.heard.match(/\/[abc]/g), ["/a", "/b", "/c"]);
    peer.leave();
  },
});

const BODIES: [name: string, sent: string, body: string][] = [
  ["a length", `${POST}content-length: 5\r\n\r\nhello`, "hello"],
  ["chunks", `${CHUNKED}5\r\nhello\r\n6;x=y\r\n world\r\n0\r\n\r\n`, "hello world"],
  ["chunks with trailers", `${CHUNKED}1\r\na\r\n0\r\nx: y\r\nz: \r\n\r\n`, "a"],
  ["sizes with zeros and capitals", `${CHUNKED}00A\r\n0123456789\r\n0\r\n\r\n`, "0123456789"],
  ["no chunk but the last", `${CHUNKED}0\r\n\r\n`, ""],
];

for (const [name, sent, body] of BODIES) {
  Deno.test({
    name: `a body of ${name} is read in one piece and byte by byte, and the next request behind it`,
    fn: async () => {
      for (const parts of [[sent + GET], [...sent + GET]]) {
        const { peer } = connect(readsBody);
        for (const part of parts) {
          peer.say(part);
          if (parts.length > 1) await Promise.resolve();
        }
        await settle();
        assert.deepEqual(statuses(peer), ["200", "200"]);
        assert.match(peer.heard, new RegExp(`content-length: ${body.length}\r\n\r\n${body}HTTP`));
        peer.leave();
      }
    },
  });
}

const BROKEN: [name: string, body: string][] = [
  ["a size that is no number", "x\r\n"],
  ["a size in 0x", "0x5\r\nhello\r\n0\r\n\r\n"],
  ["a size with a sign", "+5\r\nhello\r\n0\r\n\r\n"],
  ["an empty size", "\r\nhello\r\n0\r\n\r\n"],
  ["a size beyond numbers", "fffffffffffff\r\n"],
  ["bare LF behind a size", "5\nhello\r\n0\r\n\r\n"],
  ["bare LF behind a chunk", "5\r\nhello\n0\r\n\r\n"],
  ["more than its size", "5\r\nhello!\r\n0\r\n\r\n"],
  ["a control character in an extension", "5;\0\r\nhello\r\n0\r\n\r\n"],
  ["a bare CR in an extension", "5;a\rb\r\nhello\r\n0\r\n\r\n"],
  ["a folded trailer", "0\r\nx: y\r\n z\r\n\r\n"],
  ["bare LF in trailers", "0\r\nx: y\n\r\n"],
  ["a line without end", "5;".padEnd(HTTP1_LIMITS.chunkLineBytesMax + 10, "x")],
  ["extensions without end", `1;${"x".repeat(2000)}\r\na\r\n`.repeat(40)],
];

for (const [name, body] of BROKEN) {
  Deno.test({
    name: `a body in chunks with ${name} fails to whoever reads it, and ends the connection`,
    fn: async () => {
      const { peer, ended } = connect(readsBody);
      peer.say(CHUNKED + body + GET);
      await settle();
      assert.deepEqual(statuses(peer), ["400"]);
      assert.match(peer.heard, /connection: close/);
      peer.leave();
      await ended;
    },
  });
}

Deno.test({
  name: "bare LF is answered 400 at once, though the head has not ended",
  fn: async () => {
    const { peer, ended } = connect();
    peer.say("GET / HTTP/1.1\nhost: x\n");
    await settle();
    assert.match(peer.heard, /^HTTP\/1\.1 400 [^]*connection: close[^]*"reason":"malformed"/);
    assert.deepEqual(peer.refusals, ["malformed"]);
    peer.leave();
    await ended;
  },
});

Deno.test({
  name: "a head past its bytes is answered 431",
  fn: async () => {
    const { peer } = connect();
    peer.say(`GET / HTTP/1.1\r\nhost: x\r\na: ${"b".repeat(HTTP1_LIMITS.headBytesMax)}`);
    await settle();
    assert.deepEqual(statuses(peer), ["431"]);
    peer.leave();
  },
});

Deno.test({
  name: "HTTP/2's preface is answered with GOAWAY and HTTP_1_1_REQUIRED",
  fn: async () => {
    const { peer } = connect();
    peer.say("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n");
    await settle();
    assert.equal(peer.heard.length, 9 + 9 + 8);
    assert.equal(peer.heard.at(9 + 3), "\x07");
    assert.equal(peer.heard.at(-1), "\x0d");
    peer.leave();
  },
});

Deno.test({
  name: "who begins with a TLS handshake is left at once",
  fn: async () => {
    const { peer, ended } = connect();
    peer.say("\x16\x03\x01");
    await ended;
    assert.equal(peer.heard, "");
  },
});

/** What a peer does, how long it may, and what it hears then. */
const WAITS: [name: string, handler: Handler, said: string, msMax: number, status: string[]][] = [
  ["says nothing", readsBody, "", HTTP1_LIMITS.headMsMax, []],
  ["sends half of a head", readsBody, "GET / HTTP/1.1\r\nho", HTTP1_LIMITS.headMsMax, ["408"]],
  [
    "sends half of a second head",
    readsBody,
    `${GET}GET / HT`,
    HTTP1_LIMITS.headMsMax,
    ["200", "408"],
  ],
  ["sends empty lines", readsBody, "\r\n\r\n", HTTP1_LIMITS.headMsMax, []],
  ["asks for nothing more", readsBody, GET, HTTP1_LIMITS.idleMsMax, ["200"]],
  [
    "sends on behind a refusal",
    readsBody,
    "GET / HTTP/1.1\nx\n",
    HTTP1_LIMITS.lingerMsMax,
    ["400"],
  ],
];

for (const [name, handler, said, msMax, expected] of WAITS) {
  Deno.test({
    name: `a peer that ${name} is left after ${msMax} ms, not before`,
    fn: async () => {
      const { peer, connection, ended } = connect(handler);
      peer.say(said);
      await settle();
      peer.nowMs += msMax;
      connection.sweep();
      await settle();
      assert.equal(peer.isClosed, false);
      peer.nowMs += 1;
      connection.sweep();
      await settle();
      assert.deepEqual(statuses(peer), expected);
      peer.nowMs += HTTP1_LIMITS.lingerMsMax + 1;
      connection.sweep();
      await ended;
      assert.equal(peer.isClosed, true);
    },
  });
}

Deno.test({
  name: "a first head has its time from the connection on, however late its first byte",
  fn: async () => {
    const { peer, connection } = connect();
    peer.nowMs += HTTP1_LIMITS.headMsMax - 1;
    peer.say("GET /");
    await settle();
    peer.nowMs += 2;
    connection.sweep();
    await settle();
    assert.deepEqual(statuses(peer), ["408"]);
    peer.leave();
  },
});

Deno.test({
  name: "a handler has all the time it wants; a peer that takes nothing of its answer has not",
  fn: async () => {
    const answer = Promise.withResolvers<Response>();
    const { peer, connection, ended } = connect(() => answer.promise);
    peer.say(GET);
    await settle();
    peer.nowMs += 10 * HTTP1_LIMITS.stallMsMax;
    connection.sweep();
    assert.equal(peer.isClosed, false);
    const taking = Promise.withResolvers<void>();
    peer.taking = taking.promise;
    answer.resolve(new Response("late"));
    await settle();
    peer.nowMs += HTTP1_LIMITS.stallMsMax + 1;
    connection.sweep();
    assert.equal(peer.isClosed, true);
    taking.resolve();
    await ended;
  },
});

Deno.test({
  name: "a stream that is silent for long is not a peer that stalls",
  fn: async () => {
    const { readable, writable } = new TransformStream<Uint8Array, Uint8Array>();
    const writer = writable.getWriter();
    const { peer, connection, ended } = connect(() => new Response(readable));
    peer.say(GET);
    writer.write(new TextEncoder().encode("first"));
    await settle();
    peer.nowMs += 10 * HTTP1_LIMITS.stallMsMax;
    connection.sweep();
    assert.equal(peer.isClosed, false);
    assert.match(peer.heard, /transfer-encoding: chunked\r\n\r\n5\r\nfirst\r\n$/);
    writer.close();
    await settle();
    assert.match(peer.heard, /0\r\n\r\n$/);
    peer.leave();
    await ended;
  },
});

Deno.test({
  name: "a peer that leaves is told to the handler, and to the source of its answer",
  fn: async () => {
    let signal: AbortSignal | undefined;
    let isCancelled = false;
    const { peer, ended } = connect((request) => {
      signal = request.signal;
      return new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new Uint8Array(1)),
          cancel: () => void (isCancelled = true),
        }),
      );
    });
    peer.say(GET);
    await settle();
    assert.equal(signal?.aborted, false);
    peer.leave();
    await ended;
    assert.equal(signal?.aborted, true);
    assert.equal(isCancelled, true);
    assert.doesNotMatch(peer.heard, /0\r\n\r\n$/);
  },
});

Deno.test({
  name: "a peer that only sends no more has its answer all the same",
  fn: async () => {
    const answer = Promise.withResolvers<Response>();
    const { peer, ended } = connect(() => answer.promise);
    peer.say(GET);
    peer.leave();
    await settle();
    answer.resolve(new Response("ok"));
    await ended;
    assert.deepEqual(statuses(peer), ["200"]);
  },
});

/** An answer whose first piece never comes, and what becomes of it. */
function silentAnswer() {
  const seen: { signal?: AbortSignal; isCancelled: boolean } = { isCancelled: false };
  const handler: Handler = (request) => {
    seen.signal = request.signal;
    return new Response(new ReadableStream({ cancel: () => void (seen.isCancelled = true) }));
  };
  return { seen, handler };
}

const LEFT_BEHIND: [name: string, sent: string][] = [
  ["a request", GET],
  ["a request and the first byte of the next", `${GET}G`],
  ["two requests", GET + GET],
  ["a body that is not read", `${POST}content-length: 5\r\n\r\nhello`],
  ["half of a body that is not read", `${POST}content-length: 9\r\n\r\nhello`],
];

for (const [name, sent] of LEFT_BEHIND) {
  Deno.test({
    name: `a peer that leaves behind ${name} is told to the source of a silent answer, which is ` +
      "not answered as if it were empty",
    fn: async () => {
      const { seen, handler } = silentAnswer();
      const { peer, ended } = connect(handler);
      peer.say(sent);
      await settle();
      assert.deepEqual([seen.signal?.aborted, seen.isCancelled], [false, false]);
      peer.leave();
      await ended;
      assert.deepEqual([seen.signal?.aborted, seen.isCancelled], [true, true]);
      assert.equal(peer.heard, "");
    },
  });
}

Deno.test({
  name: "a peer that leaves is told to a handler at work, also behind a byte of the next request",
  fn: async () => {
    for (const more of ["", "G", "GET / HT"]) {
      const answer = Promise.withResolvers<Response>();
      let signal: AbortSignal | undefined;
      const { peer, ended } = connect((request) => {
        signal = request.signal;
        return answer.promise;
      });
      peer.say(GET);
      await settle();
      peer.say(more);
      await settle();
      assert.equal(signal?.aborted, false);
      peer.leave();
      await settle();
      assert.equal(signal?.aborted, true);
      answer.resolve(new Response("ok"));
      await ended;
    }
  },
});

Deno.test({
  name: "an answer without end that comes when its peer has left is cancelled",
  fn: async () => {
    const { seen, handler } = silentAnswer();
    const turn = Promise.withResolvers<void>();
    const { peer, ended } = connect(async (request) => {
      await turn.promise;
      return await handler(request);
    });
    peer.say(GET);
    peer.leave();
    await settle();
    turn.resolve();
    await ended;
    assert.equal(seen.isCancelled, true);
  },
});

Deno.test({
  name: "a request that is handled takes no more than a head's bytes of those behind it",
  fn: async () => {
    const answer = Promise.withResolvers<Response>();
    const { peer, connection, ended } = connect(() => answer.promise);
    peer.say(GET + "x".repeat(3 * HTTP1_LIMITS.headBytesMax));
    await settle();
    assert.ok(peer.unreadBytes >= 2 * HTTP1_LIMITS.headBytesMax - GET.length);
    connection.close();
    answer.resolve(new Response("ok"));
    await ended;
  },
});

Deno.test({
  name: "a broken body that its handler did not read ends the answer, and is told",
  fn: async () => {
    const { seen, handler } = silentAnswer();
    const { peer, ended } = connect(handler);
    peer.say(`${CHUNKED}ZZ\r\n`);
    await settle();
    assert.deepEqual(statuses(peer), ["400"]);
    assert.deepEqual([seen.signal?.aborted, seen.isCancelled], [true, true]);
    peer.leave();
    await ended;
  },
});

Deno.test({
  name: "an empty line behind a body may come in two parts, and is no head while it comes",
  fn: async () => {
    const { peer, connection } = connect(readsBody);
    peer.say(`${POST}content-length: 2\r\n\r\nhi\r`);
    await settle();
    peer.nowMs += 2 * HTTP1_LIMITS.headMsMax;
    connection.sweep();
    peer.say(`\n${GET}`);
    await settle();
    assert.deepEqual(statuses(peer), ["200", "200"]);
    peer.leave();
  },
});

Deno.test({
  name: "a peer that sends no more has the answers to all that it sent ahead",
  fn: async () => {
    const answer = Promise.withResolvers<Response>();
    const { peer, ended } = connect(async () => (await answer.promise).clone());
    peer.say(GET + GET + POST + "content-length: 5\r\n\r\nhello");
    peer.leave();
    await settle();
    answer.resolve(new Response("ok"));
    await ended;
    assert.deepEqual(statuses(peer), ["200", "200", "200"]);
  },
});

Deno.test({
  name: "100 Continue is said once the body is read, and not at all when it is not",
  fn: async () => {
    const asking = `${POST}expect: 100-continue\r\ncontent-length: 5\r\n\r\n`;
    const reading = connect(readsBody);
    reading.peer.say(asking);
    await settle();
    assert.equal(reading.peer.heard, "HTTP/1.1 100 Continue\r\n\r\n");
    reading.peer.say("hello");
    await settle();
    assert.deepEqual(statuses(reading.peer), ["100", "200"]);
    reading.peer.leave();
    const refusing = connect(() => new Response(null, { status: 413 }));
    refusing.peer.say(asking);
    await settle();
    assert.deepEqual(statuses(refusing.peer), ["413"]);
    assert.match(refusing.peer.heard, /connection: close/);
    refusing.peer.leave();
  },
});

Deno.test({
  name: "a body that is being read whole is locked to everybody else, as that of any Request",
  fn: async () => {
    let seen: unknown;
    const { peer, ended } = connect(async (request) => {
      const whole = request.text();
      seen = [request.bodyUsed, request.body?.locked];
      await assert.rejects(request.text(), TypeError);
      return new Response(await whole);
    });
    peer.say(`${POST}content-length: 5\r\n\r\nhe`);
    await settle();
    peer.say("llo");
    await settle();
    assert.deepEqual(seen, [true, true]);
    assert.match(peer.heard, /hello$/);
    peer.leave();
    await ended;
  },
});

Deno.test({
  name:
    "a body that its handler does not read is dropped when it is at hand, else ends the connection",
  fn: async () => {
    const short = connect();
    short.peer.say(`${POST}content-length: 5\r\n\r\nhello${GET}`);
    await settle();
    assert.deepEqual(statuses(short.peer), ["200", "200"]);
    short.peer.leave();
    const long = connect();
    long.peer.say(`${POST}content-length: 50\r\n\r\nhello${GET}`);
    await settle();
    assert.deepEqual(statuses(long.peer), ["200"]);
    assert.match(long.peer.heard, /connection: close/);
    long.peer.leave();
    await long.ended;
  },
});

const ANSWERS: [name: string, request: string, answer: () => Response, expected: RegExp][] = [
  ["a text", GET, () => new Response("ok"), /content-length: 2\r\n\r\nok$/],
  ["nothing", GET, () => new Response(null), /content-length: 0\r\n\r\n$/],
  [
    "nothing, 204",
    GET,
    () => new Response(null, { status: 204 }),
    /^(?![^]*content-length)[^]*\r\n\r\n$/,
  ],
  [
    "a length that is not its own",
    GET,
    () => new Response("ok", { headers: { "content-length": "7" } }),
    /content-length: 2\r\n\r\nok$/,
  ],
  [
    "HEAD with a length",
    GET.replace("GET", "HEAD"),
    () => new Response(null, { headers: { "content-length": "7" } }),
    /content-length: 7\r\n\r\n$/,
  ],
  [
    "HEAD with a body",
    GET.replace("GET", "HEAD"),
    () => new Response("ok"),
    /^(?![^]*content-length)[^]*\r\n\r\n$/,
  ],
  ["HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", () => new Response("ok"), /connection: close\r\n[^]*ok$/],
  [
    "a field beyond ASCII",
    GET,
    () => new Response("ok", { headers: { a: "\xe9" } }),
    /\r\na: \xe9\r\n/,
  ],
  [
    "fields of the connection",
    GET,
    () => new Response("ok", { headers: { "transfer-encoding": "gzip", connection: "x" } }),
    /^(?![^]*gzip)(?![^]*connection)/,
  ],
];

for (const [name, request, answer, expected] of ANSWERS) {
  Deno.test({
    name: `an answer of ${name}`,
    fn: async () => {
      const { peer } = connect(answer);
      peer.say(request);
      await settle();
      assert.match(peer.heard, expected);
      assert.match(peer.heard, /^HTTP\/1\.1 20[04] [^]*\r\ndate: /);
      peer.leave();
    },
  });
}

Deno.test({
  name: "a source that fails half-way cuts the connection: no end of the answer is told",
  fn: async () => {
    const { peer, ended } = connect(() =>
      new Response(
        new ReadableStream({
          start: (controller) => controller.enqueue(new Uint8Array([0x61])),
          pull: (controller) =>
            controller.error(new OperatingError("cancelled", "the query was stopped")),
        }, { highWaterMark: 0 }),
      )
    );
    peer.say(GET);
    await ended;
    assert.match(peer.heard, /1\r\na\r\n$/);
  },
});

Deno.test({
  name: "a handler that throws is a 500, and the connection goes on",
  fn: async () => {
    let calls = 0;
    const { peer } = connect(() => {
      calls += 1;
      if (calls === 1) throw new Error("a bug");
      return new Response("ok");
    });
    peer.say(GET + GET);
    await settle();
    assert.deepEqual(statuses(peer), ["500", "200"]);
    peer.leave();
  },
});

Deno.test({
  name: "drain ends a connection between requests at once, and another behind its answer",
  fn: async () => {
    const idle = connect();
    await settle();
    idle.connection.drain();
    await idle.ended;
    const answer = Promise.withResolvers<Response>();
    const busy = connect(() => answer.promise);
    busy.peer.say(GET);
    await settle();
    busy.connection.drain();
    assert.equal(busy.peer.isClosed, false);
    answer.resolve(new Response("ok"));
    await busy.ended;
    assert.match(busy.peer.heard, /^HTTP\/1\.1 200 [^]*connection: close/);
  },
});
