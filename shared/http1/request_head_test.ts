import assert from "node:assert/strict";
import { headLength, parseHead } from "./request_head.ts";
import { Refusal } from "./refusal.ts";

const encoder = new TextEncoder();
/** One byte a character. */
const bytesOf = (text: string) => Uint8Array.from(text, (char) => char.charCodeAt(0));

function read(text: string) {
  const bytes = bytesOf(text);
  const length = headLength(bytes, { lineStart: 0, searched: 0 });
  assert.equal(length, bytes.byteLength, "the head has not come whole");
  return parseHead(bytes);
}

/** RFC 9112, and what shows two readers two requests. */
const REFUSED: [name: string, head: string, status: number][] = [
  ["bare LF behind a field", "GET / HTTP/1.1\r\nhost: x\n\r\n", 400],
  ["bare LF behind the first line", "GET / HTTP/1.1\nhost: x\r\n\r\n", 400],
  ["bare LF alone", "GET / HTTP/1.1\nhost: x\n\n", 400],
  ["bare LF as the empty line", "GET / HTTP/1.1\r\nhost: x\r\n\n", 400],
  ["LF first of all", "\nGET / HTTP/1.1\r\nhost: x\r\n\r\n", 400],
  ["bare CR in a value", "GET / HTTP/1.1\r\nhost: x\r\na: b\rc: d\r\n\r\n", 400],
  ["CR CR LF", "GET / HTTP/1.1\r\nhost: x\r\r\n\r\n", 400],
  ["NUL in a value", "GET / HTTP/1.1\r\nhost: x\r\na: b\0c\r\n\r\n", 400],
  ["a folded line", "GET / HTTP/1.1\r\nhost: x\r\na: b\r\n c\r\n\r\n", 400],
  ["a line folded with a tab", "GET / HTTP/1.1\r\nhost: x\r\na: b\r\n\tc\r\n\r\n", 400],
  ["a folded first field", "GET / HTTP/1.1\r\n host: x\r\n\r\n", 400],
  ["space before a colon", "GET / HTTP/1.1\r\nhost : x\r\n\r\n", 400],
  ["space in a name", "GET / HTTP/1.1\r\nhost: x\r\na b: c\r\n\r\n", 400],
  ["no name", "GET / HTTP/1.1\r\nhost: x\r\n: c\r\n\r\n", 400],
  ["no colon", "GET / HTTP/1.1\r\nhost: x\r\nnothing\r\n\r\n", 400],
  ["a name with a letter beyond ASCII", "GET / HTTP/1.1\r\nhost: x\r\n\xe9: c\r\n\r\n", 400],
  ["no host", "GET / HTTP/1.1\r\n\r\n", 400],
  ["two hosts", "GET / HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n", 400],
  ["a host with a path", "GET / HTTP/1.1\r\nhost: x/y\r\n\r\n", 400],
  ["a host that is no number of IPv4", "GET / HTTP/1.1\r\nhost: x.5\r\n\r\n", 400],
  ["a host with a broken escape", "GET / HTTP/1.1\r\nhost: a%zz\r\n\r\n", 400],
  ["a host with no port there is", "GET / HTTP/1.1\r\nhost: x:99999\r\n\r\n", 400],
  ["a port without a host", "GET / HTTP/1.1\r\nhost: :80\r\n\r\n", 400],
  ["a proxy's target of no host", "GET http://x.5/ HTTP/1.1\r\nhost: x\r\n\r\n", 400],
  ["a host with a user", "GET / HTTP/1.1\r\nhost: a@b\r\n\r\n", 400],
  [
    "two lengths",
    "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ncontent-length: 6\r\n\r\n",
    400,
  ],
  [
    "the same length twice",
    "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\nContent-Length: 5\r\n\r\n",
    400,
  ],
  ["a list of lengths", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5, 5\r\n\r\n", 400],
  ["a length with a sign", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: +5\r\n\r\n", 400],
  ["a negative length", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: -1\r\n\r\n", 400],
  ["a length in hexadecimal", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0x5\r\n\r\n", 400],
  ["an empty length", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length:\r\n\r\n", 400],
  [
    "a length beyond numbers",
    `POST / HTTP/1.1\r\nhost: x\r\ncontent-length: ${"9".repeat(20)}\r\n\r\n`,
    400,
  ],
  [
    "length and chunks",
    "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 5\r\ntransfer-encoding: chunked\r\n\r\n",
    400,
  ],
  [
    "chunks and length",
    "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 5\r\n\r\n",
    400,
  ],
  [
    "chunks twice",
    "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ntransfer-encoding: chunked\r\n\r\n",
    400,
  ],
  [
    "chunked twice in one",
    "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, chunked\r\n\r\n",
    501,
  ],
  ["identity", "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: identity\r\n\r\n", 400],
  [
    "chunked not last",
    "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, gzip\r\n\r\n",
    400,
  ],
  [
    "an unknown coding",
    "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: gzip, chunked\r\n\r\n",
    501,
  ],
  ["xchunked", "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: xchunked\r\n\r\n", 400],
  [
    "chunked with a vertical tab",
    "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: \x0bchunked\r\n\r\n",
    400,
  ],
  ["chunks in HTTP/1.0", "POST / HTTP/1.0\r\ntransfer-encoding: chunked\r\n\r\n", 400],
  ["a fragment", "GET /a#b HTTP/1.1\r\nhost: x\r\n\r\n", 400],
  ["two spaces", "GET  / HTTP/1.1\r\nhost: x\r\n\r\n", 400],
  ["a space in the target", "GET /a b HTTP/1.1\r\nhost: x\r\n\r\n", 400],
  ["a tab for a space", "GET\t/ HTTP/1.1\r\nhost: x\r\n\r\n", 400],
  ["a space behind the version", "GET / HTTP/1.1 \r\nhost: x\r\n\r\n", 400],
  ["no version", "GET /\r\nhost: x\r\n\r\n", 400],
  ["a version in small letters", "GET / http/1.1\r\nhost: x\r\n\r\n", 400],
  ["a target without a slash", "GET a HTTP/1.1\r\nhost: x\r\n\r\n", 400],
  ["another scheme", "GET ftp://x/ HTTP/1.1\r\nhost: x\r\n\r\n", 400],
  ["HTTP/2.0 by name", "GET / HTTP/2.0\r\nhost: x\r\n\r\n", 505],
  ["HTTP/0.9 by name", "GET / HTTP/0.9\r\nhost: x\r\n\r\n", 505],
  ["HTTP/2's preface", "PRI * HTTP/2.0\r\n\r\n", 505],
  ["CONNECT", "CONNECT x:443 HTTP/1.1\r\nhost: x\r\n\r\n", 501],
  ["TRACE", "TRACE / HTTP/1.1\r\nhost: x\r\n\r\n", 501],
  ["an expectation", "POST / HTTP/1.1\r\nhost: x\r\nexpect: more\r\n\r\n", 417],
  ["129 fields", `GET / HTTP/1.1\r\nhost: x\r\n${"a: b\r\n".repeat(128)}\r\n`, 431],
];

for (const [name, head, status] of REFUSED) {
  Deno.test({
    name: `parseHead refuses ${name} with ${status}`,
    fn: () => {
      assert.throws(
        () => read(head),
        (error) => error instanceof Refusal && error.status === status,
      );
    },
  });
}

const ACCEPTED: [name: string, head: string, expected: Partial<ReturnType<typeof parseHead>>][] = [
  ["the least", "GET / HTTP/1.1\r\nhost: x\r\n\r\n", {
    method: "GET",
    target: "/",
    host: "x",
    framing: undefined,
    keepsAlive: true,
  }],
  ["a length", "POST /a?b=c HTTP/1.1\r\nHost: x:80\r\nContent-Length: 12\r\n\r\n", {
    target: "/a?b=c",
    host: "x:80",
    framing: 12,
  }],
  ["a length of nothing", "POST / HTTP/1.1\r\nhost: x\r\ncontent-length: 0\r\n\r\n", {
    framing: undefined,
  }],
  ["chunks", "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: Chunked\r\n\r\n", {
    framing: "chunked",
  }],
  ["blanks around a value", "GET / HTTP/1.1\r\nhost: x\r\na:\t b c \t\r\n\r\n", {
    fields: [["host", "x"], ["a", "b c"]],
  }],
  ["an empty value", "GET / HTTP/1.1\r\nhost:\r\na:\r\n\r\n", {
    fields: [["host", ""], ["a", ""]],
  }],
  ["bytes beyond ASCII in a value", "GET / HTTP/1.1\r\nhost: x\r\na: \xe9\xa0\r\n\r\n", {
    fields: [["host", "x"], ["a", "\xe9\xa0"]],
  }],
  ["bytes beyond ASCII in the target", "GET /\xc3\xa9 HTTP/1.1\r\nhost: x\r\n\r\n", {
    target: "/%c3%a9",
  }],
  ["a proxy's target", "GET http://y:1/a?b HTTP/1.1\r\nhost: x\r\n\r\n", {
    host: "y:1",
    target: "/a?b",
  }],
  ["a proxy's target without a path", "GET http://y?b HTTP/1.1\r\nhost: x\r\n\r\n", {
    host: "y",
    target: "/?b",
  }],
  ["OPTIONS of the server", "OPTIONS * HTTP/1.1\r\nhost: x\r\n\r\n", { target: "/*" }],
  ["IPv6", "GET / HTTP/1.1\r\nhost: [::1]:8088\r\n\r\n", { host: "[::1]:8088" }],
  ["HTTP/1.0", "GET / HTTP/1.0\r\n\r\n", { version: "1.0", keepsAlive: false, host: "" }],
  ["HTTP/1.0 that goes on", "GET / HTTP/1.0\r\nconnection: Keep-Alive\r\n\r\n", {
    keepsAlive: true,
  }],
  ["the end", "GET / HTTP/1.1\r\nhost: x\r\nconnection: x, Close\r\n\r\n", { keepsAlive: false }],
  [
    "asking first",
    "POST / HTTP/1.1\r\nhost: x\r\nexpect: 100-Continue\r\ncontent-length: 1\r\n\r\n",
    {
      expectsContinue: true,
    },
  ],
  [
    "Upgrade, which is ignored",
    "POST / HTTP/1.1\r\nconnection: Upgrade, HTTP2-Settings\r\ncontent-length: 7\r\nhost: x\r\n" +
    "http2-settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA\r\nupgrade: h2c\r\n\r\n",
    { framing: 7, keepsAlive: true },
  ],
  ["128 fields", `GET / HTTP/1.1\r\nhost: x\r\n${"a: b\r\n".repeat(127)}\r\n`, { host: "x" }],
];

for (const [name, head, expected] of ACCEPTED) {
  Deno.test({
    name: `parseHead reads ${name}`,
    fn: () => {
      const found = read(head);
      for (const [key, value] of Object.entries(expected)) {
        assert.deepEqual(found[key as keyof typeof found], value, key);
      }
    },
  });
}

Deno.test({
  name: "headLength finds the end of a head that comes byte by byte, looking at each byte once",
  fn: () => {
    const bytes = encoder.encode("GET / HTTP/1.1\r\nhost: x\r\n\r\nbody\r\n\r\n");
    const end = bytes.byteLength - "body\r\n\r\n".length;
    const progress = { lineStart: 0, searched: 0 };
    for (let count = 1; count < end; count++) {
      assert.equal(headLength(bytes.subarray(0, count), progress), -1);
      assert.ok(progress.searched === count);
    }
    assert.equal(headLength(bytes, progress), end);
  },
});
