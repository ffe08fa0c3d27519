import { strict as assert } from "node:assert";
import { ByteBudget } from "../../shared/base/byte_budget.ts";
import { FakeEngine } from "../../tests/doubles/fake_engine.ts";
import { queryApp } from "../routes.ts";
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
  name: "recordsResponse: a stream needs no room for answers",
  async fn() {
    const body = '{"query":"SELECT n","format":"ndjson"}';
    const response = await appWith(new ByteBudget(0))
      .request("/api/v1/sql", { method: "POST", headers: HEADERS, body });
    assert.equal((await response.text()).trim().split("\n").length, 5);
  },
});
