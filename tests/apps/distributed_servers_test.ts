/**
 * Servers that share statements, as processes: over TLS with tokens, with a damaged file,
 * over an object store.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { present } from "../../shared/base/assert.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { openS3Store } from "../../shared/storage/s3_store.ts";
import { S3Process } from "../../shared/testing/s3_process.ts";
import { selfSigned } from "../../shared/testing/self_signed.ts";
import { until } from "../../shared/testing/until.ts";
import { QueryFleet } from "./query_fleet.ts";
import {
  ask,
  commitSharedEvents,
  FLEET_ARGS,
  openSharedEvents,
  STATEMENTS,
} from "./shared_events.ts";

const GROUPED = STATEMENTS[0] ?? "";

Deno.test({
  name:
    "servers with TLS and tokens share a statement, explain how they would, and name a damaged file",
  async fn() {
    await using lab = await openSharedEvents();
    const { cert, key } = await selfSigned();
    const [certFile, keyFile] = [join(lab.dir, "cert.pem"), join(lab.dir, "key.pem")];
    await Deno.writeTextFile(certFile, cert);
    await Deno.writeTextFile(keyFile, key);
    const token = "a-caller";
    await using fleet = await QueryFleet.start({
      ...{ dataDir: lab.dir, count: 2, tls: cert, token },
      args: [
        ...FLEET_ARGS,
        ...["--tls-cert", certFile, "--tls-key", keyFile, "--peer-tls-ca", certFile],
        ...["--tokens", token, "--coordinator-token", "a-server"],
      ],
    });
    const { url } = fleet.at(0);
    const options = { client: fleet.client, token };
    const alone = await ask(url, "/local", GROUPED, options);
    const shared = await ask(url, "/distributed", GROUPED, options);
    assert.deepEqual(shared.rows, alone.rows);
    const { mode, shards = [] } = shared.stats.phases.distributed ?? {};
    assert.equal(mode, "aggregate");
    assert.equal(new Set(shards.map(({ server }) => server)).size, 2, JSON.stringify(shards));

    const plan = async (query: string) =>
      (await ask(url, "/explain", query, options)).plan?.split("\n") ?? [];
    const told = await plan(GROUPED);
    assert.match(told[0] ?? "", /^distributed: aggregate, \d+ shards on 2 servers$/);
    assert.match(
      told[1] ?? "",
      /^each shard: SELECT .*count_star\(\)|^each shard: SELECT .*count\(/,
    );
    assert.match(told[2] ?? "", /^merge: SELECT .* svc_parts/);
    assert.match(
      told[3] ?? "",
      /^\/api\/v1\/sql does not share it: 0 bytes must come from the object store, and it shares from \d+ on$/,
    );
    assert.match(told[4] ?? "", /^scan: /, "the plan of one server");
    const [first] = await plan("SELECT random() AS r, raw FROM events LIMIT 1");
    assert.equal(first, "on this server alone: random differs from server to server");

    const damaged = await commitDamaged(lab);
    const names = new RegExp(`Cannot read ${damaged}: .*fails its checksum.*"damaged_file"`);
    for (const { url } of fleet.servers) {
      await assert.rejects(ask(url, "/distributed", GROUPED, options), names);
    }
  },
});

Deno.test({
  name: "POST /api/v1/sql and batch jobs share by themselves what an object store must send",
  async fn() {
    await using s3 = await S3Process.start();
    const store = openS3Store(s3.place("lake"), s3.access);
    await using lab = await WarehouseLab.open({ store });
    await commitSharedEvents(lab);
    await using fleet = await QueryFleet.start({
      ...{ dataDir: lab.dir, count: 2, envOf: () => s3.environment },
      args: [
        ...FLEET_ARGS,
        "--warehouse-url",
        "s3://warehouse/lake",
        "--distribute-bytes-min",
        "1",
      ],
    });
    const { url, metricsUrl } = fleet.at(0);
    const fanOuts = async () => {
      const text = await (await fetch(metricsUrl)).text();
      return Number(/^svc_query_fan_outs_total\{mode="aggregate"\} (\d+)$/m.exec(text)?.[1]);
    };
    const job = await jobRows(url, GROUPED);
    assert.equal(await fanOuts(), 1);
    const shared = await ask(url, "", GROUPED);
    assert.deepEqual(job, shared.rows);
    assert.equal(await fanOuts(), 2);
    assert.equal(shared.stats.phases.distributed?.mode, "aggregate");
    const counted = await ask(url, "", "SELECT count(*) AS n FROM events");
    assert.equal(counted.stats.phases.distributed, undefined, "a summary answers");
    const alone = await ask(url, "/local", GROUPED);
    assert.deepEqual(shared.rows, alone.rows);
    assert.equal(alone.stats.phases.distributed, undefined);
    // All of it is in this server's cache now.
    const again = await ask(url, "", GROUPED);
    assert.deepEqual(again.rows, alone.rows);
    assert.equal(again.stats.phases.distributed, undefined);
  },
});

/** The rows of a batch job that succeeds. */
async function jobRows(url: string, query: string): Promise<unknown> {
  const submitted = await fetch(`${url}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, priority: "batch" }),
  });
  const { status_url: statusUrl, result_url: resultUrl } = await submitted.json();
  await until(async () => {
    const { status, error } = await (await fetch(`${url}${statusUrl}`)).json();
    assert.ok(["pending", "running", "succeeded"].includes(status), error);
    return status === "succeeded";
  }, { msMax: 60_000, pollMs: 50 });
  return (await (await fetch(`${url}${resultUrl}`)).json()).rows;
}

/** One more file, with bits flipped all over its columns; its key. No server has read it yet. */
async function commitDamaged(lab: WarehouseLab): Promise<string> {
  const files = async () =>
    (await Array.fromAsync(lab.store.list(""))).map(({ key }) => key)
      .filter((key) => key.endsWith(".parquet"));
  const before = await files();
  await commitSharedEvents(lab, 1);
  const key = present((await files()).find((one) => !before.includes(one)));
  const path = `${lab.dir}/warehouse/${key}`;
  const bytes = await Deno.readFile(path);
  // The footer stays as it is.
  for (let at = 200; at < bytes.byteLength / 2; at += 50) bytes[at] = (bytes[at] ?? 0) ^ 1;
  await Deno.writeFile(path, bytes);
  return key;
}
