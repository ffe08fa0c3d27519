/**
 * Damaged messages against a real query server: another session goes on meanwhile, and nothing is
 * left of what was damaged. `SVC_FUZZ_MESSAGES` and `SVC_FUZZ_REFUSALS` raise the numbers; the seed
 * is printed first.
 */

import assert from "node:assert/strict";
import { concatBytes, textOf, utf8 } from "../../shared/base/bytes.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { until } from "../../shared/testing/until.ts";
import { startLabServer } from "../doubles/lab_server.ts";
import {
  answerOf,
  bind,
  execute,
  frame,
  int32,
  packet,
  parse,
  PgWireClient,
  SYNC,
  zero,
} from "../doubles/pg_wire_client.ts";

const MESSAGES = Number(Deno.env.get("SVC_FUZZ_MESSAGES") ?? 3_000);
const PER_SESSION = 40;
const REFUSALS = Number(Deno.env.get("SVC_FUZZ_REFUSALS") ?? 1_000);
const AT_ONCE = 40;
const SESSIONS_MAX = 64;
const SEED = Number(Deno.env.get("SVC_FUZZ_SEED") ?? 29);

const STATEMENTS = [
  "SELECT 1",
  "SELECT $1::int + $2 AS x",
  "SELECT count(*) FROM events WHERE raw = $1",
  "COPY (SELECT 1) TO STDOUT",
  "BEGIN",
  "COMMIT",
  "",
  "SELECT 'unfinished",
  "SHOW server_version",
  ";;;",
];

type Damage = (bytes: Uint8Array, random: SeededRandom) => Uint8Array;

/** Each keeps most of what it is given, so that what follows is reached, too. */
const DAMAGES: readonly Damage[] = [
  (bytes) => bytes,
  (bytes, random) => {
    const changed = bytes.slice();
    changed[random.below(changed.byteLength)] = random.below(256);
    return changed;
  },
  (bytes, random) => bytes.slice(0, random.below(bytes.byteLength + 1)),
  (bytes, random) => concatBytes([bytes, random.bytes(random.below(12))]),
  // The body alone is damaged: the frame stays whole.
  (bytes, random) => {
    const changed = bytes.slice();
    for (let at = 5; at < changed.byteLength; at += 1) {
      if (random.below(8) === 0) changed[at] = random.below(256);
    }
    return changed;
  },
  (bytes, random) => {
    const changed = bytes.slice();
    const lengths = [-1, 0, 3, 4, 0x7fff_ffff, -0x8000_0000, 5_000_000];
    changed.set(int32(lengths[random.below(lengths.length)] ?? 0), 1);
    return changed;
  },
];

function message(random: SeededRandom): Uint8Array {
  const names = ["", "a", "b"];
  const pick = <T>(values: readonly T[]) => values[random.below(values.length)] as T;
  const parameter = () => ({
    bytes: random.below(4) === 0 ? null : random.bytes(random.below(10)),
    format: random.below(2) as 0 | 1,
  });
  switch (random.below(9)) {
    case 0:
      return frame("Q", zero(pick(STATEMENTS)));
    case 1:
      return parse(pick(names), pick(STATEMENTS), [pick([0, 23, 25, 1007, 1700, 1184, 99])]);
    case 2: {
      const parameters = Array.from({ length: random.below(4) }, parameter);
      return bind(pick(names), pick(names), parameters, random.below(2) as 0 | 1);
    }
    case 3:
      return frame("D", concatBytes([utf8(pick(["S", "P"])), zero(pick(names))]));
    case 4:
      return execute(pick(names), pick([0, 1, -1, 0x7fff_ffff]));
    case 5:
      return frame("C", concatBytes([utf8(pick(["S", "P"])), zero(pick(names))]));
    case 6:
      return frame("H", new Uint8Array());
    case 7:
      return SYNC;
    default:
      return frame(pick(["d", "c", "f", "F", "p", "z", "\u0001"]), random.bytes(random.below(9)));
  }
}

Deno.test({
  name: `${MESSAGES} damaged messages disturb no other session and leave nothing (seed ${SEED})`,
  fn: async () => {
    await using lab = await WarehouseLab.open();
    await lab.commit([{ ns: 1_700_000_000_000_000_000n, raw: "kept" }]);
    await using server = await startLabServer(lab, ["--pg-listen", "127.0.0.1:0"]);
    const port = server.server.pgAddress?.port ?? 0;
    const random = new SeededRandom(SEED);
    using steady = await PgWireClient.start(port);
    const bugs: string[] = [];
    for (let sent = 0; sent < MESSAGES; sent += PER_SESSION) {
      using client =
        await (random.below(5) === 0 ? PgWireClient.open(port) : PgWireClient.start(port));
      const reading = readAll(client, bugs);
      for (let at = 0; at < PER_SESSION; at += 1) {
        const damage = DAMAGES[random.below(DAMAGES.length)] ?? ((bytes) => bytes);
        const bytes = damage(message(random), random);
        if (!await client.write(bytes).then(() => true, () => false)) break;
      }
      await client.write(SYNC).catch(() => {});
      // Half of them leave without a word, amid whatever runs.
      if (random.below(2) === 0) {
        await client.conn.closeWrite().catch(() => {});
        await reading;
      }
      const answer = await steady.extended("SELECT raw FROM events WHERE raw = $1", {
        parameters: [{ bytes: utf8("kept") }],
      });
      assert.deepEqual(answer.rows.map(([cell]) => textOf(cell ?? new Uint8Array())), ["kept"]);
    }
    await untilOnly(server, 1);
    assert.deepEqual(bugs, []);
  },
});

Deno.test({
  name:
    `half-open and slow sessions hold up nobody; ${REFUSALS} connections past the bound refused`,
  fn: async () => {
    await using lab = await WarehouseLab.open();
    await using server = await startLabServer(lab, [
      ...["--pg-listen", "127.0.0.1:0", "--pg-max-sessions", String(SESSIONS_MAX)],
      "--max-connections-per-address",
      "0",
    ]);
    const port = server.server.pgAddress?.port ?? 0;
    using steady = await PgWireClient.start(port);
    const goesOn = async () =>
      assert.deepEqual((await steady.simple("SELECT 1")).tags, ["SELECT 1"]);
    {
      using halves = new DisposableStack();
      const startup = packet(concatBytes([int32(0x30000), zero("user"), zero("u"), utf8("\0")]));
      for (let at = 0; at < AT_ONCE; at += 1) {
        const client = halves.use(await PgWireClient.open(port));
        await client.write(startup.subarray(0, at % startup.byteLength));
      }
      await goesOn();
    }
    await untilOnly(server, 1);
    using slow = await PgWireClient.start(port);
    for (const byte of frame("Q", zero("SELECT 7"))) {
      await slow.write(Uint8Array.of(byte));
      await goesOn();
    }
    assert.deepEqual(answerOf(await slow.untilReady()).tags, ["SELECT 1"]);
    using sessions = new DisposableStack();
    for (let open = 2; open < SESSIONS_MAX; open += 1) {
      sessions.use(await PgWireClient.start(port));
    }
    await untilOnly(server, SESSIONS_MAX);
    for (let refused = 0; refused < REFUSALS; refused += AT_ONCE) {
      await Promise.all(Array.from({ length: AT_ONCE }, async () => {
        using client = await PgWireClient.open(port);
        const told = await client.read();
        assert.equal(told?.code, "E");
        assert.match(textOf(told?.body ?? new Uint8Array()), /FATAL.*53300/s);
        assert.equal(await client.read(), undefined);
      }));
      await goesOn();
    }
    sessions.dispose();
    await untilOnly(server, 2);
    using next = await PgWireClient.start(port);
    assert.deepEqual((await next.simple("SELECT 1")).tags, ["SELECT 1"]);
  },
});

/** Reads to the end; notes errors that tell of a bug. */
async function readAll(client: PgWireClient, bugs: string[]): Promise<void> {
  for (let next = await client.read(); next !== undefined; next = await client.read()) {
    const text = next.code === "E" ? new TextDecoder().decode(next.body) : "";
    if (text.includes("XX000")) bugs.push(text.replaceAll("\0", " "));
  }
}

/** So many connections are left, and no statement. */
async function untilOnly(
  { server }: Awaited<ReturnType<typeof startLabServer>>,
  connections: number,
): Promise<void> {
  await until(async () => {
    const url = `http://127.0.0.1:${server.metricsAddress.port}/metrics`;
    const page = await (await fetch(url)).text();
    return page.includes(`svc_http_connections{listener="pg"} ${connections}\n`) &&
      /^svc_query_in_flight 0$/m.test(page);
  });
}
