/** Local tables in a real browser: kept, asked, joined, reloaded and dropped. */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Page } from "playwright-core";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { expectAccessible } from "./axe.ts";
import { openPageLab, withPage } from "./page_lab.ts";
import { cellsOf, costLine, runSql, sqlRows, START_NS, START_TEXT, typeSql } from "./sql_lab.ts";

const NAME = "local tables in Chromium";
const ROWS = 12_000;
/** Reads 27 billion pairs, and is one step of DuckDB's. */
const ENDLESS = "SELECT count(*) FROM local.hits a, local.hits b, local.hits c " +
  "WHERE a.code + b.code + c.code = 7";

/** The browser tells of an answer that is the beginning of a longer one. */
const CUT = /status of 413/;

/** Keeps the result that is shown, as a user does. */
async function keep(page: Page, name: string): Promise<void> {
  await page.fill(".keep input", name);
  await page.click(".keep button");
  await page.locator(".result-actions output", { hasText: `local.${name} has` }).waitFor();
}

async function keepHits(page: Page): Promise<void> {
  await runSql(
    page,
    "SELECT timestamp, host, raw, timestamp_ns, " +
      "attr_get(attributes, 'http.status_code')::INTEGER AS code FROM events",
  );
  await keep(page, "hits");
}

/** Steps on one page, which loads DuckDB and keeps the rows of `keepHits` once. */
const STEPS: readonly {
  readonly name: string;
  readonly test: (page: Page) => Promise<void>;
}[] = [
  {
    name: "two kept results join without a request, also after a reload",
    async test(page) {
      await runSql(page, "SELECT host, 'rack ' || right(host, 1) AS rack FROM events GROUP BY ALL");
      await keep(page, "hosts");
      // More rows than the page shows are kept.
      deepStrictEqual(
        await page.locator(".sql-side .kept summary").evaluateAll((all) =>
          all.map((one) => one.firstChild?.nodeValue + String(one.childNodes[1]?.nodeValue))
        ),
        ["local.hits", "local.hosts"],
      );
      match(await page.textContent(".sql-side .kept .size") ?? "", /^12,000 rows · [\d.]+ [KM]iB$/);
      const joined = "SELECT rack, date_bin('1 hour', timestamp) AS hour, count(*) AS errors, " +
        "max(timestamp_ns) AS last\nFROM local.hits JOIN local.hosts USING (host)\n" +
        "WHERE code >= 500 GROUP BY ALL ORDER BY ALL";
      const expected = ["rack 2", START_TEXT, "1200", String(START_NS + 3_599_000_000_000n)];
      for (let round = 0; round < 2; round += 1) {
        const asked: string[] = [];
        page.on("request", (request) => asked.push(request.postData() ?? ""));
        await runSql(page, joined);
        deepStrictEqual(await cellsOf(page, 1), expected);
        match(
          await costLine(page) ?? "",
          /^Ran in this browser 4 rows · local\.hits · local\.hosts/,
        );
        deepStrictEqual(asked.filter((body) => body.includes("rack")), []);
        await expectAccessible(page);
        page.removeAllListeners("request");
        if (round > 0) break;
        await page.reload();
        await page.locator(".sql-side .kept").first().waitFor();
      }
    },
  },
  {
    name: "what the server keeps to itself is said, at its place",
    async test(page) {
      const failsAt = async (sql: string, marked: string | undefined, told: RegExp) => {
        await runSql(page, sql);
        match(await page.textContent(".sql-failure") ?? "", told, sql);
        const mark = page.locator(".cm-lintRange-error");
        if (marked !== undefined) strictEqual(await mark.first().textContent(), marked, sql);
      };
      await failsAt(
        "SELECT *\nFROM local.hits JOIN events USING (host)",
        "events",
        /"events" is not in this browser.*keep its result/s,
      );
      await failsAt("SELECT 1 FROM local.hits,\n  local.other", "local", /"other" is not/);
      await failsAt("SELECT raw->'a' FROM local.hits", undefined, /extension json.*never loads/s);
      await failsAt("SELECT current_date FROM local.hits", undefined, /extension icu.*TIMESTAMP/s);
      await failsAt("SELECT * FROM local.hits, 'https://example.com/x.csv'", undefined, /disabled/);
      await failsAt("SELECT nofn(raw)\nFROM local.hits", "nofn", /nofn does not exist/);
      await runSql(page, "SELECT count(*) AS n FROM local.hits");
      deepStrictEqual(await cellsOf(page, 1), ["12000"]);
      await page.click("button:text-is('Cost')");
      await page.locator(".sql-failure", { hasText: "costs the server nothing" }).waitFor();
    },
  },
  {
    name: "a local statement stops, and its tables stay",
    async test(page) {
      await typeSql(page, ENDLESS);
      await page.keyboard.press("Control+Enter");
      await page.click("button:has-text('Stop')");
      await page.locator(".sql-waiting", { hasText: "Stopped" }).waitFor();
      await runSql(page, "SELECT count(*) AS n, min(timestamp) AS first FROM local.hits");
      deepStrictEqual(await cellsOf(page, 1), ["12000", START_TEXT]);
    },
  },
  {
    name: "a local result is kept, charted, saved and dropped, in all tabs",
    async test(page) {
      await runSql(page, "SELECT code, count(*) AS n FROM local.hits GROUP BY ALL ORDER BY code");
      const waiting = page.waitForEvent("download");
      await page.selectOption(".download select", "csv");
      const saved = await Deno.readTextFile(await (await waiting).path());
      strictEqual(saved, '"code","n"\r\n200,4000\r\n404,4000\r\n500,4000\r\n');
      await keep(page, "codes");
      const other = await page.context().newPage();
      await other.goto(new URL("sql", page.url()).href);
      await other.waitForSelector(".cm-content");
      await runSql(other, "SELECT sum(n)::BIGINT AS n FROM local.codes");
      deepStrictEqual(await cellsOf(other, 1), ["12000"]);
      await page.click("button[aria-label='Drop local.codes']");
      await other.locator(".kept", { hasText: "local.codes" }).waitFor({ state: "detached" });
      await runSql(other, "FROM local.codes");
      match(await other.textContent(".sql-failure") ?? "", /"codes" is not in this browser/);
      await other.reload();
      strictEqual(await other.locator(".kept", { hasText: "local.codes" }).count(), 0);
    },
  },
  {
    name: "a name that is taken is replaced, and a bad one refused",
    async test(page) {
      await runSql(page, "SELECT 1 AS a");
      await keep(page, "one");
      await runSql(page, "SELECT 2 AS a");
      await page.fill(".keep input", "one");
      await page.click(".keep button:text-is('Replace')");
      await page.locator(".result-actions output", { hasText: "has 1 row" }).waitFor();
      await runSql(page, "FROM local.one");
      deepStrictEqual(await cellsOf(page, 1), ["2"]);
      await page.fill(".keep input", "Not a name");
      await page.click(".keep button");
      ok(await page.locator(".keep input:invalid").count() === 1);
    },
  },
];

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    await using lab = await openPageLab((lab) => lab.commit(sqlRows(ROWS)));
    await withPage(lab, "sql", async (page) => {
      await page.waitForSelector(".cm-content");
      await keepHits(page);
      for (const { name, test } of STEPS) await t.step(name, () => test(page));
    }, { allowed: CUT });

    await t.step(
      "DuckDB is loaded with the first local table, and not before",
      () =>
        withPage(lab, "", async (page) => {
          const asked: string[] = [];
          page.on("request", (request) => asked.push(request.url()));
          await page.reload();
          await page.waitForSelector(".rows, .empty");
          ok(!asked.some((url) => /wasm|duckdb|editor|plot|sql_page/.test(url)), asked.join("\n"));
        }),
    );
  },
});
