/**
 * Attacks a server with one of `HTTP2_ATTACKS`, as fast as it is read.
 *
 * Usage: `http2_attacker.ts <port> <seconds> <connections> <name>`; one JSON line on stdout.
 */

import { GREETING, HTTP2_ATTACKS, type Http2Attack } from "../../shared/testing/http2_attacks.ts";

export interface AttackReport {
  /** How often a connection was opened. */
  readonly connections: number;
  readonly bytes: number;
}

/** A connection that was cut is opened again so much later, as a peer elsewhere could at best. */
const AGAIN_MS = 1;

if (import.meta.main) {
  const [port = "", seconds = "", connections = "", name = ""] = Deno.args;
  const attack = HTTP2_ATTACKS.find((one) => one.name === name);
  if (attack === undefined) throw new Error(`there is no attack ${JSON.stringify(name)}`);
  const untilMs = performance.now() + Number(seconds) * 1_000;
  const reports = await Promise.all(
    Array.from({ length: Number(connections) }, () => attackUntil(attack, Number(port), untilMs)),
  );
  const report: AttackReport = {
    connections: reports.reduce((sum, one) => sum + one.connections, 0),
    bytes: reports.reduce((sum, one) => sum + one.bytes, 0),
  };
  Deno.stdout.writeSync(new TextEncoder().encode(`${JSON.stringify(report)}\n`));
}

/** Over one connection at a time, until `untilMs` of `performance.now()`. */
async function attackUntil(
  attack: Http2Attack,
  port: number,
  untilMs: number,
): Promise<AttackReport> {
  const report = { connections: 0, bytes: 0 };
  while (performance.now() < untilMs) {
    try {
      using conn = await Deno.connect({ hostname: "127.0.0.1", port });
      report.connections += 1;
      const timer = setTimeout(() => conn.close(), Math.max(0, untilMs - performance.now()));
      const discarding = discard(conn);
      try {
        await write(conn, GREETING);
        await write(conn, attack.opening());
        for (let turn = 0; performance.now() < untilMs; turn++) {
          const bytes = attack.round(turn);
          await write(conn, bytes);
          report.bytes += bytes.byteLength;
        }
      } finally {
        clearTimeout(timer);
        conn.close();
        await discarding;
      }
    } catch {
      // Cut off: once more.
    }
    await new Promise((resolve) => setTimeout(resolve, AGAIN_MS));
  }
  return report;
}

async function write(conn: Deno.Conn, bytes: Uint8Array): Promise<void> {
  for (let at = 0; at < bytes.byteLength;) at += await conn.write(bytes.subarray(at));
}

async function discard(conn: Deno.Conn): Promise<void> {
  const into = new Uint8Array(64 * 1024);
  try {
    while (await conn.read(into) !== null);
  } catch {
    // Closed by either side.
  }
}
