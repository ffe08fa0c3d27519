/**
 * Sends requests that are damaged at random to this server and to `node:http`, whose parser
 * (llhttp) stands behind many proxies. What this server takes for a request the other takes for the
 * same one. This server may refuse more.
 */

import assert from "node:assert/strict";
import { createServer, type IncomingMessage, METHODS } from "node:http";
import type { AddressInfo } from "node:net";
import { serve } from "./serve.ts";
import { SeededRandom } from "../testing/seeded_random.ts";

const CASES = 500;
/** llhttp waits for the rest of some; ours ends each connection whose sender has ended. */
const THEIR_MS_MAX = 100;
const OUR_MS_MAX = 8_000;
const SEED = Number(Deno.env.get("SVC_SEED") ?? Math.floor(Math.random() * 2 ** 31));

/** A request as a server understood it. */
interface Understood {
  readonly method: string;
  readonly target: string;
  readonly fields: readonly string[];
  readonly body: string;
}

/** None with Upgrade: behind such a request llhttp reads nothing more. */
const VALID = [
  "GET /a?b=c HTTP/1.1\r\nHost: x\r\nAccept: */*\r\n\r\n",
  "POST /v1/logs HTTP/1.1\r\nHost: x\r\nContent-Type: a\r\nContent-Length: 5\r\n\r\nhello",
  "POST /b HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" +
  "5\r\nhello\r\n6;a=b\r\n world\r\n0\r\n\r\n",
  "POST /c HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\nX: y\r\n\r\n1\r\na\r\n0\r\nt: u\r\n\r\n",
];
/** What parsers have disagreed about. */
const INSERTED = [
  ...[
    "\r",
    "\n",
    "\r\n",
    "\t",
    " ",
    "\0",
    "\x0b",
    "\x7f",
    "\x80",
    "\xff",
    ":",
    ";",
    ",",
    "0",
    "-",
    "+",
  ],
  ...["chunked", "Content-Length: 3\r\n", "Transfer-Encoding: chunked\r\n", " \r\n", "0x", "\r\n "],
  ...[
    "Transfer-Encoding: identity\r\n",
    "Host: y\r\n",
    "HTTP/1.0",
    "Transfer-Encoding:\x0bchunked\r\n",
  ],
];

function damaged(random: SeededRandom): string {
  const pick = <T>(items: readonly T[]): T => items[random.below(items.length)] as T;
  let text = pick(VALID) + pick(VALID);
  const changes = 1 + random.below(3);
  for (let change = 0; change < changes; change++) {
    const at = random.below(text.length);
    const kind = random.below(4);
    if (kind === 0) text = text.slice(0, at) + text.slice(at + 1 + random.below(3));
    else if (kind === 1) text = text.slice(0, at) + pick(INSERTED) + text.slice(at);
    else if (kind === 2) {
      const lineAt = text.lastIndexOf("\n", at) + 1;
      text = text.slice(0, lineAt) + pick(INSERTED) + text.slice(lineAt);
    } else {
      const lineAt = text.lastIndexOf("\n", at) + 1;
      const end = text.indexOf("\n", at) + 1 || text.length;
      text = text.slice(0, end) + text.slice(lineAt, end) + text.slice(end);
    }
  }
  // RFC 9110 allows a tab behind a value as it does a space. Behind what says how a body is framed
  // llhttp takes the space alone.
  return text.replaceAll(
    /((?:content-length|transfer-encoding):[^\r\n]*)\t(?=\s*\r\n)/gi,
    "$1 ",
  );
}

/** Sends all of `text`; whether the server ended the connection within `msMax`. */
async function send(port: number, text: string, msMax: number): Promise<boolean> {
  const conn = await Deno.connect({ hostname: "127.0.0.1", port });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    conn.close();
  }, msMax);
  try {
    await conn.write(Uint8Array.from(text, (char) => char.charCodeAt(0)));
    await conn.closeWrite();
    const chunk = new Uint8Array(4096);
    while (await conn.read(chunk) !== null);
  } catch (error) {
    const { ConnectionReset, BrokenPipe, BadResource, Interrupted, NotConnected } = Deno.errors;
    const isEnd = [ConnectionReset, BrokenPipe, BadResource, Interrupted, NotConnected]
      .some((kind) => error instanceof kind);
    if (!isEnd) throw error;
  } finally {
    clearTimeout(timer);
    if (!isLate) conn.close();
  }
  return !isLate;
}

const sortedFields = (fields: Iterable<[string, string]>) =>
  [...fields].map(([name, value]) => `${name.toLowerCase()}: ${value}`).sort();

function pairs(raw: readonly string[]): Map<string, string> {
  const fields = new Map<string, string>();
  for (let at = 0; at < raw.length; at += 2) {
    const name = raw[at]?.toLowerCase() ?? "";
    const value = raw[at + 1] ?? "";
    fields.set(name, fields.has(name) ? `${fields.get(name)}, ${value}` : value);
  }
  return fields;
}

async function textOf(request: IncomingMessage): Promise<string> {
  let text = "";
  for await (const part of request) text += String(part);
  return text;
}

Deno.test({
  name:
    `what is taken for a request is what llhttp takes for one, in ${CASES} damaged cases (seed ${SEED})`,
  fn: async () => {
    let ours: Understood[] = [];
    let theirs: (Understood | undefined)[] = [];
    await using server = serve({
      hostname: "127.0.0.1",
      port: 0,
      handler: async (request) => {
        try {
          const body = await request.text();
          const target = request.url.slice(request.url.indexOf("/", 7));
          ours.push({
            method: request.method,
            target,
            fields: sortedFields(request.headers),
            body,
          });
        } catch {
          return new Response(null, { status: 400 });
        }
        return new Response("ok");
      },
    });
    const other = createServer(async (request, response) => {
      // They come all at once, and end as their bodies do.
      const places = theirs;
      const place = places.push(undefined) - 1;
      try {
        const body = await textOf(request);
        places[place] = {
          method: request.method ?? "",
          target: request.url ?? "",
          fields: sortedFields(pairs(request.rawHeaders)),
          body,
        };
        response.end("ok");
      } catch {
        response.destroy();
      }
    });
    // The end of what is sent is not the end of the connection.
    Object.assign(other, { httpAllowHalfOpen: true });
    await new Promise<void>((resolve) => other.listen(0, "127.0.0.1", resolve));
    const otherPort = (other.address() as AddressInfo).port;
    const random = new SeededRandom(SEED);
    let alike = 0;
    for (let turn = 0; turn < CASES; turn++) {
      [ours, theirs] = [[], []];
      const text = damaged(random);
      const [hasEnded, haveTheyEnded] = await Promise.all([
        send(server.address.port, text, OUR_MS_MAX),
        send(otherPort, text, THEIR_MS_MAX),
      ]);
      assert.ok(hasEnded, `no end: ${JSON.stringify(text)}`);
      if (!haveTheyEnded) continue;
      const shown = JSON.stringify({ text, ours, theirs }, null, 1);
      for (const [at, request] of ours.entries()) {
        // llhttp knows a list of methods, whose others are for routes here to refuse, and no bytes
        // beyond ASCII in a target, which are escaped here.
        if (!METHODS.includes(request.method) || /%80|%ff/.test(request.target)) break;
        const { target: _ours, ...seen } = request;
        const { target: _theirs, ...seenThere } = theirs[at] ?? {};
        assert.deepEqual(seen, seenThere, shown);
        alike += 1;
      }
    }
    assert.ok(alike > CASES / 4, `only ${alike} requests were taken: the cases show little`);
    other.closeAllConnections();
    await new Promise((resolve) => other.close(resolve));
  },
});
