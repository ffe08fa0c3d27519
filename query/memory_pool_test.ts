import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { parseOptions } from "../shared/config/parse_options.ts";
import { EngineLab } from "../shared/testing/engine_lab.ts";
import { until } from "../shared/testing/until.ts";
import { WarehouseLab } from "../shared/testing/warehouse_lab.ts";
import { FakeEngine } from "../tests/doubles/fake_engine.ts";
import { OPTIONS, startQuery } from "./mod.ts";
import { startTestServer } from "../tests/doubles/query_server.ts";

const PATH = "/debug/memory-pool";

Deno.test({
  name: "GET /debug/memory-pool tells engine and admission, and /metrics the same",
  fn: async () => {
    const pool = 64 * 2 ** 20;
    await using server = await startTestServer({}, ["--memory-pool-bytes", String(pool)]);
    const response = await fetch(`${server.url}${PATH}`);
    strictEqual(response.status, 200);
    deepStrictEqual(await response.json(), {
      limit_bytes: 1_000,
      reserved_bytes: 70,
      spill_bytes: 5,
      spill_limit_bytes: 500,
      admission: { budget_bytes: pool, reserved_bytes: 0, waiting: 0 },
      top_consumers: [{ tag: "order_by", bytes: 60 }, { tag: "hash_table", bytes: 10 }],
    });
    strictEqual(await server.metric("svc_query_memory_pool_bytes"), 70);
    strictEqual(await server.metric("svc_query_spill_bytes"), 5);
  },
});

Deno.test({
  name: "GET /debug/memory-pool is for whoever may read",
  fn: async () => {
    await using server = await startTestServer({}, ["--tokens", "secret"]);
    const refused = await fetch(`${server.url}${PATH}`);
    strictEqual(refused.status, 401);
    await refused.body?.cancel();
    const headers = { authorization: "Bearer secret" };
    const allowed = await fetch(`${server.url}${PATH}`, { headers });
    strictEqual(allowed.status, 200);
    await allowed.body?.cancel();
  },
});

Deno.test({
  name: "GET /debug/memory-pool tells one of many tenants its own figures alone",
  fn: async () => {
    const pool = 64 * 2 ** 20;
    const held = Promise.withResolvers<void>();
    const engine = new FakeEngine({ rows: [1], onChunk: () => held.promise });
    const settings = parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0"],
      ...["--memory-pool-bytes", String(pool)],
    ]);
    await using server = await startQuery(settings, {
      engine,
      observer: { completed() {} },
      callers: {
        admit({ headers }) {
          const tenant = headers.get("x-test-tenant") ?? "";
          return Promise.resolve({ tenant, namespace: tenant, isOneOfMany: tenant !== "" });
        },
      },
    });
    const url = `http://127.0.0.1:${server.address.port}`;
    const asked = fetch(`${url}/api/v1/sql`, {
      method: "POST",
      headers: { "content-type": "application/json", "x-test-tenant": "acme" },
      body: '{"query":"SELECT 1"}',
    });
    const report = async (tenant: string) =>
      await (await fetch(`${url}${PATH}`, { headers: { "x-test-tenant": tenant } })).json();
    const whole = { limit_bytes: 1_000, spill_limit_bytes: 500 };
    const none = { budget_bytes: pool, reserved_bytes: 0, waiting: 0 };
    const own = { ...none, reserved_bytes: 16 * 2 ** 20 };
    const isolated = { ...whole, spill_bytes: 0, top_consumers: [] };
    await until(async () => (await report("acme")).reserved_bytes > 0);
    deepStrictEqual(await report("acme"), {
      ...isolated,
      reserved_bytes: own.reserved_bytes,
      admission: own,
    });
    deepStrictEqual(await report("zebra"), { ...isolated, reserved_bytes: 0, admission: none });
    const all = await report("");
    deepStrictEqual([all.reserved_bytes, all.spill_bytes, all.admission], [70, 5, own]);
    held.resolve();
    await (await asked).body?.cancel();
    await until(async () => (await report("acme")).reserved_bytes === 0);
  },
});

Deno.test({
  name: "GET /debug/memory-pool of a real engine sees a sort spill, and nothing of it afterwards",
  fn: async () => {
    await using lab = await WarehouseLab.open();
    const limits = { limit_bytes: 128 * 2 ** 20, spill_limit_bytes: 512 * 2 ** 20 };
    await using server = await startQuery(parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--threads", "2"],
      ...["--data-dir", lab.dir, "--audit-disabled"],
      ...["--memory-pool-bytes", String(limits.limit_bytes)],
      ...["--spill-max-bytes", String(limits.spill_limit_bytes)],
    ]));
    const url = `http://127.0.0.1:${server.address.port}`;
    const report = async () => await (await fetch(`${url}${PATH}`)).json();
    const query =
      "SELECT count(*), min(length(t)) FROM (SELECT t, row_number() OVER (ORDER BY md5(t)) n " +
      "FROM (SELECT repeat(md5(range::VARCHAR), 4) t FROM range(1200000))) WHERE n % 7 = 0";
    let running = true;
    const done = fetch(`${url}/api/v1/sql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query }),
    }).then(async (response) => {
      running = false;
      return { status: response.status, body: await response.json() };
    });
    let most = await report();
    while (running) {
      const now = await report();
      deepStrictEqual({ ...now, ...limits }, now);
      if (now.spill_bytes > most.spill_bytes) most = now;
      await new Promise((resolve) => setTimeout(resolve, 2));
    }
    const { status, body } = await done;
    strictEqual(status, 200, JSON.stringify(body));
    deepStrictEqual(body.rows, [[171_428, 128]]);
    ok(most.spill_bytes > 2 ** 20, `${most.spill_bytes} bytes spilled`);
    ok(most.reserved_bytes > 2 ** 20, `${most.reserved_bytes} bytes held`);
    strictEqual(most.admission.reserved_bytes, 16 * 2 ** 20);
    ok(most.top_consumers.length > 0);
    const after = await report();
    deepStrictEqual([after.spill_bytes, after.admission.reserved_bytes], [0, 0]);
    ok(after.reserved_bytes < 2 ** 20, `${after.reserved_bytes} bytes held`);
  },
});

Deno.test({
  name: "Engine.memory holds nothing of a sort whose rows were only begun, once it is given back",
  fn: async () => {
    await using lab = await EngineLab.open();
    const request = { rowsMax: 1_000_000, deadlineMs: 20_000 };
    const heldBytes = async () => (await lab.engine.memory()).poolBytes;
    {
      await using prepared = await lab.prepare(
        "SELECT md5(range::VARCHAR) || md5(range::VARCHAR) AS t FROM range(300000) ORDER BY md5(t)",
        request,
      );
      await using running = await prepared.run();
      const rows = running.chunks("objects")[Symbol.asyncIterator]();
      strictEqual((await rows.next()).done, false);
      ok(await heldBytes() > 10 * 2 ** 20, "it sorted");
    }
    ok(await heldBytes() < 2 ** 20, `${await heldBytes()} bytes held`);
  },
});
