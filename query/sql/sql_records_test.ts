import { strict as assert } from "node:assert";
import { ByteBudget } from "../../shared/base/byte_budget.ts";
import { FakeEngine } from "../../tests/doubles/fake_engine.ts";
import { queryApp } from "../routes.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { flipped } from "../../shared/testing/flipped_store.ts";
import { testService } from "../../tests/doubles/query_server.ts";

/** An app whose answer is five rows of 1,000 characters and some. */
function appWith(answers: ByteBudget) {
  const rows = Array.from({ length: 5 }, () => "x".repeat(1_000));
  return queryApp(testService(new FakeEngine({ rows }), { answers }));
}

const HEADERS = { "content-type": "application/json" };
const REQUEST = { method: "POST", headers: HEADERS, body: '{"query":"SELECT n"}' };

Deno.test({
  name: "recordsResponse charges an answer until it is read or left",
  async fn() {
    const answers = new ByteBudget(8_000);
    const app = appWith(answers);
    const first = await app.request("/api/v1/sql", REQUEST);
    assert.ok(answers.used > 5_000, `${answers.used} bytes`);

    const refused = await app.request("/api/v1/sql", REQUEST);
    assert.equal(refused.status, 503);
    assert.equal(refused.headers.get("retry-after"), "1");
    assert.equal((await refused.json()).reason, "answers_in_flight");

    assert.equal((await first.json()).row_count, 5);
    assert.equal(answers.used, 0);

    const left = await app.request("/api/v1/sql", REQUEST);
    assert.equal(left.status, 200);
    await left.body?.cancel();
    assert.equal(answers.used, 0);
  },
});

Deno.test({
  name: "recordsResponse: answers that one tenant leaves unread leave another tenant room",
  async fn() {
    const answers = new ByteBudget(16_000, { isShared: true });
    const callers = {
      admit: ({ headers }: Pick<Request, "headers">) => {
        const tenant = headers.get("authorization") ?? "";
        return Promise.resolve({ tenant, namespace: "svc" });
      },
    };
    const rows = Array.from({ length: 5 }, () => "x".repeat(1_000));
    const app = queryApp(testService(new FakeEngine({ rows }), { answers, callers }));
    const ask = (authorization: string) =>
      app.request("/api/v1/sql", { ...REQUEST, headers: { ...HEADERS, authorization } });
    const [first, second, third] = [await ask("a"), await ask("a"), await ask("b")];
    assert.deepEqual([first.status, second.status, third.status], [200, 503, 200]);
    for (const { body } of [first, second, third]) await body?.cancel();
    assert.equal(answers.used, 0);
  },
});

Deno.test({
  name: "recordsResponse: a stream needs no room for answers",
  async fn() {
    const body = '{"query":"SELECT n","format":"ndjson"}';
    const response = await appWith(new ByteBudget(0))
      .request("/api/v1/sql", { method: "POST", headers: HEADERS, body });
    assert.equal((await response.text()).trim().split("\n").length, 5);
  },
});

for (const format of ["records", "ndjson", "csv"]) {
  Deno.test({
    name: `an answer of ${format} leaves a damaged file out, of which nobody knew before`,
    async fn() {
      await using lab = await EngineLab.open({ engine: { skipDamagedFiles: true } });
      const keys: string[] = [];
      for (let file = 0; file < 3; file += 1) {
        await lab.commit([{ ns: 1_790_000_000_000_000_000n + BigInt(file), raw: `row${file}` }]);
        for await (const { key } of lab.store.list("")) {
          if (key.endsWith(".parquet") && !keys.includes(key)) keys.push(key);
        }
      }
      const [intact = "", ...damaged] = keys;
      for (const key of damaged) {
        const bytes = await lab.store.get(key);
        const at = Buffer.from(bytes).indexOf("row");
        await lab.store.delete([key]);
        await lab.store.putNew(key, flipped(bytes, { at, bit: 0 }));
      }
      assert.ok(!damaged.includes(intact));
      const app = queryApp(testService(lab.engine));
      const query = "SELECT raw FROM events WHERE raw <> 'none' ORDER BY raw";
      const body = JSON.stringify({ query, format });
      const response = await app.request("/api/v1/sql", { method: "POST", headers: HEADERS, body });
      const text = await response.text();
      assert.equal(response.status, 200, text);
      assert.deepEqual(text.match(/row\d/g), ["row0"]);
      if (format !== "records") return;
      const { cost } = JSON.parse(text);
      assert.equal(cost.exact, false);
      for (const key of damaged) assert.ok(cost.warnings.join().includes(key), cost.warnings);
    },
  });
}
