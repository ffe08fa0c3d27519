/**
 * Pages of other origins in a real browser against the three roles as processes: open servers on
 * loopback, as `dev` starts them. A page of a foreign origin stores, deletes and reads nothing. Nor
 * does one whose name was pointed at this machine (DNS rebinding). A page of a listed origin sends
 * telemetry and reads.
 */

import assert from "node:assert/strict";
import { until } from "../../shared/testing/until.ts";
import { Stack } from "../apps/stack.ts";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { PageLab } from "./foreign_page_lab.ts";
import { askOwnServer, attack, sendTelemetry } from "./foreign_page_scripts.js";

const ROWS = ["one", "two", "three"];

interface Addresses {
  readonly ingest: string;
  readonly query: string;
  /** `/metrics` of each role. */
  readonly metrics: readonly string[];
}

/**
 * What pages send; each value is a body that the route takes when its media type is the right one.
 */
const BODIES = {
  deleteTask: JSON.stringify({ index_id: "events", predicate_sql: "true" }),
  sql: JSON.stringify({ query: "SELECT raw FROM events" }),
  index: JSON.stringify({ index_id: "made-by-a-page" }),
  logs: JSON.stringify({
    resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: "by a page" } }] }] }],
  }),
  bulk: '{"index":{"_index":"events"}}\n{"message":"by a page"}\n',
};

Deno.test({
  name: "pages of a real browser: foreign and rebound ones reach nothing, listed ones do" +
    (!HAS_CHROMIUM ? " (no chromium: install Debian's package)" : ""),
  ignore: !HAS_CHROMIUM,
  // What the driver of the browser keeps for the next one.
  sanitizeOps: false,
  sanitizeResources: false,
  async fn(t) {
    await using lab = await PageLab.open();
    const shop = lab.originOf("shop.example");
    const listed = ["--cors-origins", shop];
    await using stack = await Stack.start({ ingestArgs: listed, queryArgs: listed });
    assert.ok(await stack.sendLogs(ROWS, { commit: "force" }));
    const to = {
      ingest: stack.ingestUrl,
      query: stack.queryUrl,
      metrics: [stack.ingestMetricsUrl, stack.compactorMetricsUrl, stack.queryMetricsUrl],
    };
    const foreign = [lab.originOf("evil.example"), lab.originOf("127.0.0.1")];
    for (const origin of foreign) {
      await t.step(`a page of ${origin.replace(/:\d+$/, "")}`, async () => {
        const before = await requestsServed(stack);
        const { page, seen } = await lab.openAt(origin);
        const told = await page.evaluate(attack, { to, bodies: BODIES });
        const expected = told.filter(({ isSeen }) => isSeen).length;
        await until(() => seen.length >= expected);
        const after = await requestsServed(stack);
        await assertUntouched(stack);
        assert.deepEqual(after, before, "no route was reached");
        assert.deepEqual(told.filter(({ read }) => read !== ""), [], "a page read something");
        assert.deepEqual(seen.filter(({ status }) => status !== 403), []);
        assert.ok(expected > 30, `${expected} answers seen`);
      });
    }
    await t.step("a page whose name was pointed here after it was loaded", async () => {
      for (const url of [to.ingest, to.query, ...to.metrics]) {
        const { port } = new URL(url);
        const { page } = await lab.openAt(`http://rebound.example:${port}/`);
        const answers = await page.evaluate(askOwnServer, BODIES);
        assert.ok(answers.length >= 6);
        for (const { path, status, text } of answers) {
          assert.equal(status, 403, `port ${port} answered ${path}: ${text}`);
          assert.match(text, /foreign_host/);
        }
      }
      await assertUntouched(stack);
    });
    await t.step("the address bar, and a page of the server's own origin", async () => {
      const { page } = await lab.openAt(`${to.query}/api/v1/jobs`);
      const [sql] = (await page.evaluate(askOwnServer, BODIES)).filter(({ path }) =>
        path === "/api/v1/sql"
      );
      assert.equal(sql?.status, 200, sql?.text);
    });
    await t.step("a page of a listed origin", () => assertListed({ lab, shop, to, stack }));
  },
});

async function assertUntouched(stack: Stack): Promise<void> {
  const { rows } = await stack.sql("SELECT raw FROM events ORDER BY timestamp_ns, raw");
  assert.deepEqual(rows.map(([raw]) => raw).sort(), [...ROWS].sort());
  for (const list of ["delete-tasks", "jobs"]) {
    const made = await (await fetch(`${stack.queryUrl}/api/v1/${list}`)).json();
    assert.deepEqual(made, [], list);
  }
  const indexes = await (await fetch(`${stack.queryUrl}/api/v1/indexes`)).text();
  assert.ok(!indexes.includes("made-by-a-page"), indexes);
}

/** What the roles count of requests that reach a route. */
async function requestsServed({ ingestMetricsUrl, queryMetricsUrl }: Stack): Promise<string[]> {
  const pages = await Promise.all(
    [ingestMetricsUrl, queryMetricsUrl].map(async (url) => await (await fetch(url)).text()),
  );
  const counters = /^svc_(ingest|query)_requests_total\{.*\} [1-9]\d*$/gm;
  return pages.flatMap((page) => page.match(counters) ?? []);
}

async function assertListed(
  { lab, shop, to, stack }: { lab: PageLab; shop: string; to: Addresses; stack: Stack },
): Promise<void> {
  const { page } = await lab.openAt(shop);
  const told = await page.evaluate(sendTelemetry, { to, bodies: BODIES });
  assert.deepEqual(told, {
    stream: "open",
    logs: "200 {}",
    refused: '400 yes "unknown_table"',
    rows: ROWS.length,
  });
  // Its row and the beacon's.
  const count = async () => (await stack.sql("SELECT raw FROM events")).rows.length;
  await until(async () => await count() === ROWS.length + 2);
  // Each listener has its own list: nobody listed the shop at the compactor.
  const compactor = await page.evaluate(
    (url) => fetch(url).then(() => "read", () => "not read"),
    stack.compactorMetricsUrl,
  );
  assert.equal(compactor, "not read");
}
