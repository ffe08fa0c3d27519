/** The page SQL in a real browser, over a real query server: what a user types, clicks and sees. */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Page } from "playwright-core";
import { until } from "../../shared/testing/until.ts";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { expectAccessible } from "./axe.ts";
import { openPageLab, withPage } from "./page_lab.ts";
import {
  cellsOf,
  costLine,
  REFUSED,
  runSql,
  sqlRows,
  START_TEXT,
  typeSql,
  untilRun,
} from "./sql_lab.ts";

const NAME = "the page SQL in Chromium";
const ROWS = 3_000;
const HOSTILE = '<img src=x onerror="document.title=1">\u202e\x1b[31m';
const HOSTILE_SQL = `'<img src=x onerror="document.title=1">' || chr(8238) || chr(27) || '[31m'`;
const MEGABYTE_SQL = "(SELECT string_agg(repeat('x', 50000), '') FROM range(20))";
const LONG =
  "SELECT count(*) FROM range(1000000) a, range(1000000) b WHERE (a.range + b.range) % 7 = 1";

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    await using lab = await openPageLab((lab) => lab.commit(sqlRows(ROWS)));
    const step = (
      name: string,
      test: (page: Page) => Promise<void>,
      { query = "", allowed }: { readonly query?: string; readonly allowed?: RegExp } = {},
    ) =>
      t.step(name, () =>
        withPage(lab, `sql${query}`, async (page) => {
          await page.waitForSelector(".cm-content");
          await test(page);
        }, allowed === undefined ? {} : { allowed }));

    await step("Ctrl-Enter runs what is typed, and reload and back show it again", async (page) => {
      await runSql(page, "SELECT host, count(*) AS n FROM events GROUP BY ALL ORDER BY host");
      deepStrictEqual(await cellsOf(page, 1), ["web-0", "1000"]);
      deepStrictEqual(await page.locator("thead .type").allTextContents(), ["VARCHAR", "BIGINT"]);
      match(await costLine(page) ?? "", /Ran on the server 3 rows · served by .* of 1 files · /);
      const first = page.url();
      match(first, /\?query=SELECT\+host/);
      await runSql(page, "SELECT 9007199254740993 AS big, [1, 2] AS list, NULL AS none");
      deepStrictEqual(await cellsOf(page, 1), ["9007199254740993", "[1,2]", "null"]);
      await page.reload();
      await untilRun(page);
      deepStrictEqual(await cellsOf(page, 1), ["9007199254740993", "[1,2]", "null"]);
      await page.goBack();
      await page.locator("th", { hasText: "host" }).waitFor();
      strictEqual(page.url(), first);
      match(await page.textContent(".cm-content") ?? "", /^SELECT host, count/);
    });

    await step("what is typed and did not run survives a reload", async (page) => {
      await typeSql(page, "SELECT 'half a thou");
      await page.reload();
      await page.locator(".cm-content", { hasText: "half a thou" }).waitFor();
    });

    await step("a selection runs alone, and several statements have a tab each", async (page) => {
      await runSql(page, "SELECT 1 AS a;\nSELECT 2 AS b; -- the end");
      deepStrictEqual(await page.locator(".run-tabs button").allTextContents(), ["1", "2"]);
      deepStrictEqual(await cellsOf(page, 1), ["2"]);
      await page.click(".run-tabs button >> nth=0");
      deepStrictEqual(await cellsOf(page, 1), ["1"]);
      await page.click(".cm-line >> nth=1");
      await page.keyboard.press("Home");
      await page.keyboard.press("Shift+End");
      await page.keyboard.press("Control+Enter");
      await page.locator("th", { hasText: "b" }).waitFor();
      strictEqual(await page.locator(".run-tabs").count(), 0);
    });

    await step(
      "typing offers tables, columns, attributes, and functions with a text",
      async (page) => {
        const offered = page.locator(".cm-tooltip-autocomplete li");
        // Nothing is offered that the server has not told yet.
        await page.locator(".sql-side .columns button", { hasText: "http.status_code" })
          .waitFor({ state: "attached" });
        await typeSql(page, "");
        await page.keyboard.type("SELECT * FROM ev");
        await offered.filter({ hasText: "events" }).waitFor();
        // What has just come up takes no key, so that nobody accepts what they did not see.
        await page.waitForTimeout(200);
        await page.keyboard.press("Tab");
        await page.locator(".cm-line", { hasText: /^SELECT \* FROM events$/ }).waitFor();
        await typeSql(page, "- FROM events");
        await page.keyboard.press("Home");
        await page.keyboard.press("Delete");
        await page.keyboard.type("SELECT log_p");
        await offered.filter({ hasText: "log_pattern" }).waitFor();
        const text = page.locator(".cm-completionInfo");
        match(await text.textContent() ?? "", /log_pattern\(text\).*shape of a line/s);
        await offered.filter({ hasText: "log_pattern" }).click();
        await page.keyboard.type("raw), sourcet");
        await offered.filter({ hasText: "sourcetype" }).click();
        await page.keyboard.type(", http");
        await offered.filter({ hasText: "http.status_code" }).click();
        await page.locator(".cm-line", {
          hasText:
            "SELECT log_pattern(raw), sourcetype, attr_get(attributes, 'http.status_code') " +
            "FROM events",
        }).waitFor();
        await page.keyboard.press("Control+Enter");
        await untilRun(page);
        match((await cellsOf(page, 1))[0] ?? "", /^GET \/item\/<\*> took <\*> ms$/);
      },
    );

    await step("an error is underlined at its place, and a click goes there", async (page) => {
      await runSql(page, "SELECT 1;\n\nSELECT host,\n  hots\nFROM events");
      strictEqual(await page.locator(".cm-lintRange-error").textContent(), "hots");
      const failure = page.locator(".sql-failure");
      match(await failure.textContent() ?? "", /column "hots" not found.*Line 2: hots/s);
      await expectAccessible(page);
      await failure.locator("button").click();
      await page.keyboard.type("x");
      match(await page.textContent(".cm-content") ?? "", /xhots/);
      await page.locator(".cm-lintRange-error").waitFor({ state: "detached" });
      await runSql(page, "SELECT nofn(raw) FROM events");
      strictEqual(await page.locator(".cm-lintRange-error").textContent(), "nofn");
    }, { allowed: REFUSED });

    await step("rows are sorted, scrolled and opened by mouse and by keys", async (page) => {
      await runSql(page, "SELECT timestamp, raw, attributes FROM events LIMIT 3000");
      strictEqual(await page.locator("table[role=grid]").getAttribute("aria-rowcount"), "3001");
      ok(await page.locator("tbody tr").count() < 100, "rows in the document");
      await page.click("th button[title='Sort by timestamp']");
      await page.locator("th[aria-sort=ascending] .name", { hasText: "timestamp" }).waitFor();
      deepStrictEqual((await cellsOf(page, 1)).slice(0, 2), [
        START_TEXT,
        "GET /item/0 took 0 ms",
      ]);
      await page.click("th button[title='Sort by raw']");
      await page.click("th button[title='Sort by raw']");
      await page.locator("th[aria-sort=descending] .name", { hasText: "raw" }).waitFor();
      strictEqual((await cellsOf(page, 1))[1], "GET /item/999 took 29 ms");
      await page.locator("td", { hasText: "status_code" }).first().click();
      const dialog = page.locator(".value-dialog[open]");
      match(await dialog.textContent() ?? "", /attributes\{\n {2}"http.status_code": 200\n\}/);
      await expectAccessible(page, { within: ".value-dialog" });
      await page.keyboard.press("Escape");
      // It is empty once the page has heard that it was closed.
      await page.locator(".value-dialog:not([open]) h2:empty").waitFor({ state: "attached" });
      await page.focus("table[role=grid]");
      for (const key of ["ArrowDown", "ArrowDown", "ArrowRight", "Enter"]) {
        await page.keyboard.press(key);
      }
      match(await dialog.textContent() ?? "", /^rawGET \/item\/998 took 28 ms/);
      await page.keyboard.press("Escape");
      await page.locator(".result-table").evaluate((pane) => pane.scrollTo(0, pane.scrollHeight));
      await page.locator("tbody tr[aria-rowindex='3001']").waitFor();
    });

    await step(
      "of many columns those in view are in the document, by mouse and keys",
      async (page) => {
        const names = Array.from({ length: 300 }, (_, at) => `range + ${at} AS c${at}`).join(", ");
        await runSql(page, `SELECT ${names} FROM range(1000)`);
        const table = page.locator("table[role=grid]");
        strictEqual(await table.getAttribute("aria-colcount"), "301");
        ok(
          await page.locator("tbody tr[aria-rowindex='2'] td").count() < 40,
          "cells in the document",
        );
        await table.focus();
        for (const key of ["ArrowDown", "End"]) await page.keyboard.press(key);
        const last = page.locator("td.active");
        strictEqual(await last.textContent(), "299");
        strictEqual(await last.getAttribute("aria-colindex"), "301");
        const [pane, cell] = [
          await page.locator(".result-table").boundingBox(),
          await last.boundingBox(),
        ];
        ok(
          pane !== null && cell !== null && cell.x + cell.width < pane.x + pane.width + 1,
          "in view",
        );
        strictEqual(await page.locator("th .name", { hasText: "c0" }).count(), 0);
        const head = await page.locator("th", { hasText: "c299" }).boundingBox();
        ok(head !== null && Math.abs(head.x - cell.x) < 1, "the head is above its cells");
        await expectAccessible(page, { within: ".result-table" });
        await page.click("th button[title='Sort by c299']");
        await page.click("th button[title='Sort by c299']");
        await page.locator("tbody tr[aria-rowindex='2'] td", { hasText: /^1298$/ }).waitFor();
        await table.focus();
        await page.keyboard.press("Home");
        await page.locator("td.active", { hasText: /^999$/ }).waitFor();
      },
    );

    await step("a chart follows the columns, and can be another", async (page) => {
      await runSql(
        page,
        "SELECT date_bin(INTERVAL '5 minutes', timestamp) AS bin, host, count(*) AS n " +
          "FROM events GROUP BY ALL ORDER BY bin",
      );
      await page.click("button:text-is('Chart')");
      await page.waitForSelector(".plot canvas");
      const chart = page.locator(".plot");
      match(await chart.getAttribute("aria-label") ?? "", /^line chart of web-\d, .* 10 places$/);
      await expectAccessible(page);
      await page.selectOption(".chart-bar label:has-text('Chart') select", "bar");
      strictEqual(await page.locator(".bars tr").count(), 3);
      await page.selectOption(".chart-bar label:has-text('Across') select", { label: "bin" });
      await page.selectOption(".chart-bar label:has-text('Split by') select", { label: "host" });
      strictEqual(await page.locator(".bars tr").count(), 10);
      strictEqual(await page.locator(".bar-names li").count(), 3);
      await expectAccessible(page);
      await runSql(page, "SELECT length(raw) AS letters, timestamp_ns % 7 AS rest FROM events");
      match(await chart.getAttribute("aria-label") ?? "", /^scatter chart of rest/);
      await runSql(page, "SELECT count(*) AS n, 12.5 AS share FROM events");
      strictEqual(await page.locator(".figures").textContent(), "n3,000share12.5");
      await runSql(page, "SELECT host FROM events");
      match(await page.textContent(".no-chart") ?? "", /nothing to draw/);
    });

    await step("a result is saved as a file, whole", async (page) => {
      await runSql(page, "SELECT raw, length(raw) AS n FROM events ORDER BY timestamp");
      const saved = async (format: string) => {
        const waiting = page.waitForEvent("download");
        await page.selectOption(".download select", format);
        const download = await waiting;
        strictEqual(download.suggestedFilename(), `result.${format}`);
        return await Deno.readTextFile(await download.path());
      };
      const csv = (await saved("csv")).split("\r\n");
      deepStrictEqual(csv.slice(0, 2), ['"raw","n"', '"GET /item/0 took 0 ms",21']);
      strictEqual(csv.length, ROWS + 2);
      const lines = (await saved("ndjson")).trimEnd().split("\n");
      deepStrictEqual(JSON.parse(lines[1] ?? ""), { raw: "GET /item/1 took 1 ms", n: 21 });
      strictEqual(lines.length, ROWS);
    });

    await step("cost and plan come without running, and a bound asks first", async (page) => {
      await typeSql(page, "SELECT sum(length(raw)) AS n FROM events");
      await page.click("button:text-is('Cost')");
      await untilRun(page);
      match(await page.textContent(".sql-waiting") ?? "", /about .* 3,000 rows · 1 of 1 files/);
      await page.click("button:text-is('Plan')");
      await page.locator("pre.plan", { hasText: /SCAN/i }).waitFor();
      await page.selectOption("label:has-text('Ask before reading') select", { label: "always" });
      await page.click("button:has-text('Run')");
      const question = page.locator(".cost-dialog[open]");
      match(await question.textContent() ?? "", /read about .* 3,000 rows/);
      await expectAccessible(page, { within: ".cost-dialog" });
      await question.getByText("Cancel").click();
      await page.locator(".sql-waiting", { hasText: "Stopped" }).waitFor();
      await page.click("button:has-text('Run')");
      await question.getByText("Run", { exact: true }).click();
      await page.locator("th .name", { hasText: "n" }).waitFor();
      await page.reload();
      await question.waitFor();
      await page.keyboard.press("Escape");
      await page.locator(".sql-waiting", { hasText: "Stopped" }).waitFor();
    });

    await step("a batch job is followed to its rows", async (page) => {
      await typeSql(page, "SELECT host, count(*) AS n FROM events GROUP BY ALL ORDER BY host");
      await page.click("button:text-is('Batch job')");
      await page.locator("td.number").first().waitFor();
      deepStrictEqual(await cellsOf(page, 3), ["web-2", "1000"]);
    });

    await step("a statement stops on the server, too", async (page) => {
      await typeSql(page, LONG);
      await page.keyboard.press("Control+Enter");
      const held = async () => {
        const pool = await fetch(`${lab.url}/debug/memory-pool`).then((answer) => answer.json());
        return pool.admission.reserved_bytes > 0;
      };
      await until(held);
      await page.click("button:has-text('Stop')");
      await page.locator(".sql-waiting", { hasText: "Stopped" }).waitFor();
      await until(async () => !await held());
      await runSql(page, "SELECT 1 AS one");
      deepStrictEqual(await cellsOf(page, 1), ["1"]);
    });

    await step("statements that ran can be found and taken up again", async (page) => {
      await runSql(page, "SELECT 'needle' AS found");
      await runSql(page, "SELECT 2 AS two");
      await page.click("button:text-is('History')");
      const dialog = page.locator(".history-dialog");
      strictEqual(await dialog.locator("li").count(), 2);
      await expectAccessible(page, { within: ".history-dialog" });
      await page.fill(".history-dialog input", "NEEDLE");
      strictEqual(await dialog.locator("li").count(), 1);
      await dialog.locator("li button").click();
      await page.locator(".cm-line", { hasText: "needle" }).waitFor();
      await page.reload();
      await page.click("button:text-is('History')");
      await page.click("button:text-is('Forget all')");
      strictEqual(await dialog.locator("li").count(), 0);
    });

    await step("values are text, whatever they hold", async (page) => {
      await runSql(
        page,
        `SELECT ${HOSTILE_SQL} AS "<b>name</b>", ${MEGABYTE_SQL} AS long UNION ALL SELECT 'a', 'b'`,
      );
      strictEqual((await cellsOf(page, 1))[0], HOSTILE);
      const named = page.locator("td .hidden-char");
      deepStrictEqual(
        await named.evaluateAll((all) => all.map((one) => one.getAttribute("data-name"))),
        ["U+202E", "ESC"],
      );
      const rows = page.locator("tbody tr", { has: page.locator("td.place") });
      const [hostile, plain] = await rows.evaluateAll((all) => all.map((row) => row.clientHeight));
      strictEqual(hostile, plain);
      strictEqual(await page.locator("thead .name").first().textContent(), "<b>name</b>");
      await page.locator("td", { hasText: "xxx" }).click();
      match(await page.textContent(".value-dialog") ?? "", /1,000,000 letters/);
      match(await page.title(), /SQL/);
    });

    await step("tables and columns beside the editor write themselves into it", async (page) => {
      await typeSql(page, "SELECT ");
      await page.click(".sql-side summary:text-is('events')");
      await page.click(".sql-side .columns button:has-text('sourcetype')");
      await page.locator(".cm-line", { hasText: "SELECT sourcetype" }).waitFor();
      await expectAccessible(page);
    });

    await step("the page fits 390 px", async (page) => {
      await page.setViewportSize({ width: 390, height: 844 });
      await page.reload();
      await page.waitForSelector(".cm-content");
      await runSql(page, "SELECT raw, attributes, host FROM events LIMIT 50");
      const width = () => page.evaluate<number>("document.documentElement.scrollWidth");
      strictEqual(await width(), 390);
      await expectAccessible(page);
      await runSql(page, "SELECT host, count(*) AS n FROM events GROUP BY ALL");
      await page.click("button:text-is('Chart')");
      await page.waitForSelector(".bar-fill");
      strictEqual(await width(), 390);
    });
  },
});
