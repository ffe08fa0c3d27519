/** Who may ask for a shard, and what of a request is believed. */

import { deepStrictEqual, ok, rejects, strictEqual } from "node:assert/strict";
import { zstdDecompressSync } from "node:zlib";
import { VERSION } from "../../shared/base/version.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { ONE_DUCKDB } from "../../shared/testing/one_duckdb.ts";
import { OPTIONS, startQuery } from "../mod.ts";
import { VERSION_HEADER } from "./peer_client.ts";
import { writeShardRequest } from "./shard_request.ts";
import { IN_THIS_PROCESS } from "../../shared/testing/in_this_process.ts";

const START_NS = 1_795_132_800_000_000_000n;
const ROWS = 1_000;

interface Lab extends AsyncDisposable {
  readonly url: string;
  readonly pin: string;
  readonly key: string;
}

async function openLab(args: readonly string[]): Promise<Lab> {
  await using stack = new AsyncDisposableStack();
  const lab = stack.use(await EngineLab.open());
  await lab.commit(
    Array.from({ length: ROWS }, (_, at) => ({ ns: START_NS + BigInt(at), raw: `row ${at}` })),
  );
  const [port = 0] = freePorts(1);
  stack.use(
    await startQuery(
      parseOptions(OPTIONS, [
        ...["--bind", `127.0.0.1:${port}`, "--metrics-bind", "127.0.0.1:0", "--audit-disabled"],
        ...["--data-dir", lab.dir, "--threads", "2", ...ONE_DUCKDB],
        ...["--peers", `127.0.0.1:${port}`, ...args],
      ]),
      IN_THIS_PROCESS,
    ),
  );
  const { stats } = await lab.query("SELECT count(raw) FROM events", { snapshot: "latest" });
  const key = await keyOf(lab.dir);
  const held = stack.move();
  return {
    url: `http://127.0.0.1:${port}`,
    pin: stats.snapshot ?? "",
    key,
    [Symbol.asyncDispose]: () => held.disposeAsync(),
  };
}

/** The key of the one data file. */
async function keyOf(dir: string): Promise<string> {
  const folder = `${dir}/warehouse/`;
  const found: string[] = [];
  const look = async (path: string): Promise<void> => {
    for await (const { name, isDirectory } of Deno.readDir(path)) {
      if (isDirectory) await look(`${path}/${name}`);
      else if (name.endsWith(".parquet")) found.push(`${path}/${name}`.slice(folder.length));
    }
  };
  await look(`${dir}/warehouse`);
  strictEqual(found.length, 1);
  return (found[0] ?? "").replace(/^\/+/, "");
}

const SECRET = { authorization: "Bearer servers" };

async function askShard(
  { url, pin, key }: Lab,
  {
    headers = SECRET,
    version = VERSION,
    ...fields
  }:
    & { readonly headers?: Record<string, string>; readonly version?: string }
    & Partial<
      Parameters<typeof writeShardRequest>[0]
    > = {},
) {
  const response = await fetch(`${url}/api/v1/sql/shard`, {
    method: "POST",
    headers: { "content-type": "application/json", [VERSION_HEADER]: version, ...headers },
    body: writeShardRequest({
      query: "SELECT raw FROM events WHERE raw LIKE '%9'",
      shard: { index: 0, count: 1 },
      table: "events",
      files: [{ key }],
      namespace: "svc",
      tenant: "default",
      timeoutMs: 30_000,
      pin,
      ...fields,
    }),
  });
  const bytes = new Uint8Array(await response.arrayBuffer());
  if (response.status === 200) return { status: 200, bytes };
  const { reason, error } = JSON.parse(new TextDecoder().decode(bytes));
  return { status: response.status, reason, error };
}

/** The measurements behind the stream. */
function statsOf(bytes: Uint8Array = new Uint8Array()): Record<string, unknown> {
  const text = new TextDecoder().decode(zstdDecompressSync(bytes));
  return JSON.parse(text.slice(text.indexOf('{"rows_scanned"')));
}

/** Whether a 64-bit integer is in the stream. */
function holdsNumber(
  { bytes = new Uint8Array() }: { bytes?: Uint8Array },
  wanted: number,
): boolean {
  const number = new Uint8Array(new BigInt64Array([BigInt(wanted)]).buffer);
  return zstdDecompressSync(bytes).indexOf(number) >= 0;
}

Deno.test({
  name: "POST /api/v1/sql/shard is for servers with the coordinators' token alone",
  async fn() {
    await using lab = await openLab(["--tokens", "client", "--coordinator-token", "servers"]);
    const told = async (options: Parameters<typeof askShard>[1]) => {
      const { status, reason } = await askShard(lab, options);
      return [status, reason];
    };
    deepStrictEqual(await told({}), [200, undefined]);
    deepStrictEqual(await told({ headers: {} }), [401, "token_missing"]);
    deepStrictEqual(await told({ headers: { authorization: "Bearer server" } }), [
      401,
      "token_unknown",
    ]);
    const client = { authorization: "Bearer client" };
    deepStrictEqual(await told({ headers: client }), [403, "not_a_coordinator"]);
    deepStrictEqual(await told({ version: "0.0.1" }), [503, "other_version"]);
    deepStrictEqual(await told({ shard: { index: 1, count: 1 } }), [400, "invalid_body"]);
    deepStrictEqual(await told({ query: "SELECT 1; SELECT 2" }), [400, "not_one_select"]);
    const elsewhere = [{ key: "svc/events/data/no.parquet" }];
    deepStrictEqual(await told({ files: elsewhere }), [503, "shard_pin_unresolved"]);
    // No other tenant's table is there, and files are looked for in the tenant's snapshot alone.
    deepStrictEqual(await told({ namespace: "other" }), [503, "shard_pin_unresolved"]);
    const named = { query: "SELECT * FROM svc.events", namespace: "other" };
    deepStrictEqual(await told(named), [503, "shard_pin_unresolved"]);
    // The token opens no other route.
    const sql = await fetch(`${lab.url}/api/v1/sql`, {
      method: "POST",
      headers: { "content-type": "application/json", ...SECRET },
      body: '{"query":"SELECT 1"}',
    });
    deepStrictEqual([sql.status, (await sql.json()).reason], [401, "token_unknown"]);
  },
});

Deno.test({
  name: "POST /api/v1/sql/shard of an open server reads its own namespace and no other",
  async fn() {
    await using lab = await openLab([]);
    strictEqual((await askShard(lab, { headers: {} })).status, 200);
    const { status, reason } = await askShard(lab, { headers: {}, namespace: "other" });
    deepStrictEqual([status, reason], [403, "not_a_coordinator"]);
  },
});

Deno.test({
  name: "POST /api/v1/sql/shard reads the rows of the shard, and measures them",
  async fn() {
    await using lab = await openLab([]);
    const whole = await askShard(lab, { headers: {} });
    strictEqual(statsOf(whole.bytes)["rows_scanned"], ROWS);
    const files = [{ key: lab.key, rows: { first: 0, end: 500 } }];
    const query = "SELECT count(raw) FROM events";
    ok(holdsNumber(await askShard(lab, { headers: {}, query }), ROWS));
    ok(holdsNumber(await askShard(lab, { headers: {}, query, files }), 500));
    const none = await askShard(lab, { headers: {}, files: [] });
    strictEqual(statsOf(none.bytes)["rows_scanned"], 0);
  },
});

Deno.test({
  name: "startQuery peers and tokens without a coordinators' token end the start",
  async fn() {
    await using lab = await EngineLab.open();
    const args = ["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--data-dir", lab.dir];
    for (const peers of [["--peers", "127.0.0.1:1"], ["--peers-dns", "query:8089"]]) {
      const settings = parseOptions(OPTIONS, [...args, ...peers, "--tokens", "client"]);
      await rejects(startQuery(settings), { message: /--coordinator-token/ });
    }
  },
});
