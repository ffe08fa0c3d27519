/** Clients that take an NDJSON answer slowly or not at all, on sockets of their own. */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import { textOf, utf8 } from "../../shared/base/bytes.ts";
import { type RealServer, startRealServer, TURNS } from "./real_query_server.ts";

/** More than sockets and buffers between them hold. */
const WIDE = `SELECT repeat('x', 1000) AS x FROM range(300000)`;
const STALLED = 'svc_query_breaker_trips_total{breaker="stalled_reader"}';
const CANCELLED = 'svc_query_requests_total{endpoint="sql",outcome="cancelled"}';

/** Asks, reads the first bytes of the answer and nothing more. */
async function askAndStopReading(server: RealServer, query = WIDE): Promise<Deno.TcpConn> {
  const socket = await Deno.connect({ hostname: "127.0.0.1", port: server.port });
  const body = JSON.stringify({
    query,
    format: "ndjson",
    limits: { max_rows_returned: 1_000_000 },
  });
  await socket.write(utf8(
    "POST /api/v1/sql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n" +
      `content-length: ${body.length}\r\n\r\n${body}`,
  ));
  const head = new Uint8Array(512);
  const read = await socket.read(head) ?? 0;
  match(textOf(head.subarray(0, read)), /^HTTP\/1\.1 200 OK\r\n/);
  return socket;
}

async function readToEnd(socket: Deno.TcpConn): Promise<string> {
  let last = "";
  const part = new Uint8Array(65_536);
  for (let read = await socket.read(part); read !== null; read = await socket.read(part)) {
    last = (last + textOf(part.subarray(0, read))).slice(-2_000);
    if (last.endsWith("0\r\n\r\n")) break;
  }
  return last;
}

Deno.test({
  name:
    "a client that stops reading is given up after the stall deadline, long before the wall clock",
  fn: async () => {
    await using server = await startRealServer(["--stream-stall-secs", "2"]);
    using socket = await askAndStopReading(server);
    strictEqual(await server.metric("svc_query_in_flight"), 1);
    await server.until(STALLED, 1);
    await server.idle();
    strictEqual(await server.metric(CANCELLED), 1);
    // Should it come back after all, it is not left to believe that this was the whole answer.
    const end = await readToEnd(socket);
    const trailer = /\{"_meta":"error".*\}/.exec(end)?.[0] ?? "{}";
    const { code, error } = JSON.parse(trailer);
    strictEqual(code, 499, end);
    match(error, /nothing of it was taken for 2 s/);
  },
});

Deno.test({
  name: "a client that reads slowly, but reads, is not given up",
  fn: async () => {
    await using server = await startRealServer(["--stream-stall-secs", "2"]);
    const rows = 20_000;
    using socket = await askAndStopReading(server, `${WIDE} LIMIT ${rows}`);
    const part = new Uint8Array(4 * 2 ** 20);
    let last = "";
    while (!last.endsWith("0\r\n\r\n")) {
      const read = await socket.read(part) ?? 0;
      ok(read > 0, "the answer ends whole");
      last = textOf(part.subarray(Math.max(0, read - 10), read));
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await server.idle();
    deepStrictEqual(
      [await server.metric(STALLED), await server.metric(CANCELLED)],
      [0, 0],
    );
  },
});

Deno.test({
  name: "clients that pause hold up no other statement, cheap or expensive",
  fn: async () => {
    await using server = await startRealServer(["--dear-wait-ms", "60000"]);
    const paused: Deno.TcpConn[] = [];
    for (let at = 0; at < TURNS.light + TURNS.dear + 1; at += 1) {
      paused.push(await askAndStopReading(server));
    }
    for (const query of ["SELECT 4000000", "SELECT count(*) FROM range(4000000)"]) {
      deepStrictEqual((await (await server.post(query)).json()).rows, [[4_000_000]]);
    }
    strictEqual(await server.metric("svc_query_in_flight"), paused.length);
    for (const socket of paused) socket.close();
    await server.idle();
  },
});
