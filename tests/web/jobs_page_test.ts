/**
 * The page Jobs in a real browser, over a real query server that runs the jobs. No test may print
 * an error to the browser's console or ask another host.
 */

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import type { Page } from "playwright-core";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { expectAccessible } from "./axe.ts";
import { openPageLab, type PageLab, withPage } from "./page_lab.ts";

const NAME = "the page Jobs in Chromium";
const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const ROWS = 700;
const HOSTILE = '<img src=x onerror="document.title=1">\u202e "quoted", \x1b[31m';
const NARROW = { width: 390, height: 844 };
/** It runs until it is cancelled, or for its hour. */
const ENDLESS = "SELECT count(*) FROM range(9000000000) AS t(i) WHERE i % 7 = 3";

const openLab = () =>
  openPageLab((lab) =>
    lab.commit(Array.from({ length: ROWS }, (_, at) => ({
      ns: START_NS + BigInt(at),
      raw: at === 0 ? HOSTILE : `row ${at}`,
    })))
  );

/** Submits a batch job, and waits for its end if it is to come. */
async function submit(lab: PageLab, query: string, { waits = true } = {}): Promise<string> {
  const response = await fetch(`${lab.url}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query, priority: "batch" }),
  });
  strictEqual(response.status, 202);
  const { job_id } = await response.json();
  if (waits) await (await fetch(`${lab.url}/api/v1/jobs/${job_id}?wait_secs=30`)).body?.cancel();
  return job_id;
}

const stateOf = (page: Page) => page.locator(".open-job .state").innerText();

async function stateIs(page: Page, state: string): Promise<void> {
  await page.locator(".open-job .state", { hasText: state }).waitFor();
}

async function downloaded(page: Page, button: string): Promise<string> {
  const [file] = await Promise.all([page.waitForEvent("download"), page.click(`text=${button}`)]);
  return await Deno.readTextFile(await file.path());
}

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    await using lab = await openLab();

    await t.step(
      "without a job it says how one comes, and lists it when it has come",
      () =>
        withPage(lab, "jobs", async (page) => {
          await page.waitForSelector("text=No batch jobs");
          match(await page.innerText("main pre"), /"priority":"batch"/);
          await expectAccessible(page);
          await submit(lab, "SELECT 1 AS one");
          await page.locator(".job-row", { hasText: /succeeded.*SELECT 1 AS one/s }).waitFor();
        }),
    );

    const wide = `SELECT timestamp_ns, 9007199254740993 AS big, raw, NULL AS none, [1, 2] AS list
      FROM events ORDER BY timestamp_ns`;
    const big = await submit(lab, wide);
    const small = await submit(lab, "SELECT raw, timestamp FROM events LIMIT 3");
    const failed = await submit(lab, "SELECT CAST(raw AS BIGINT) FROM events");

    await t.step(
      "a job opens to its rows, whole and exact; reload and back show the same",
      () =>
        withPage(lab, "jobs", async (page) => {
          await page.locator(".job-row", { hasText: "9007199254740993" }).getByRole("button")
            .click();
          await stateIs(page, "succeeded");
          match(page.url(), new RegExp(`job=${big}`));
          await page.waitForSelector(".result-table");
          match(await page.innerText(".result .acts"), /700 rows\s+the first 500 are shown/);
          strictEqual(await page.locator(".result-table tbody tr").count(), 500);
          const cells = await page.locator(".result-table tbody tr").first().locator("td")
            .allTextContents();
          deepStrictEqual(cells, [
            ...[String(START_NS), "9007199254740993", HOSTILE, "null", "[1,2]"],
          ]);
          strictEqual(await page.locator("main img").count(), 0);
          await page.reload();
          await page.waitForSelector(".result-table");
          await page.click("text=Close");
          await page.locator(".open-job").waitFor({ state: "detached" });
          await page.goBack();
          await page.waitForSelector(".result-table");
          await page.keyboard.press("Escape");
          await page.locator(".open-job").waitFor({ state: "detached" });
          await page.keyboard.press("j");
          await stateIs(page, "failed");
        }),
    );

    await t.step(
      "a result is downloaded whole, as CSV and as JSON",
      () =>
        withPage(lab, `jobs?job=${big}`, async (page) => {
          await page.waitForSelector(".result-table");
          const lines = (await downloaded(page, "Download CSV")).split("\r\n");
          deepStrictEqual(lines.slice(0, 2), [
            '"timestamp_ns","big","raw","none","list"',
            `"${START_NS}","9007199254740993","${HOSTILE.replaceAll('"', '""')}",,"[1,2]"`,
          ]);
          strictEqual(lines.length, ROWS + 2);
          const answer = JSON.parse(await downloaded(page, "Download JSON"));
          deepStrictEqual([answer.row_count, answer.rows.length], [ROWS, ROWS]);
        }),
    );

    await t.step(
      "why a job failed is told where it stands",
      () =>
        withPage(lab, `jobs?job=${failed}`, async (page) => {
          await stateIs(page, "failed");
          match(await page.innerText(".open-job .failure"), /Could not convert/i);
          strictEqual(await page.locator(".result").count(), 0);
          await expectAccessible(page);
        }),
    );

    await t.step(
      "a running job shows its progress without a reload, and is cancelled",
      () =>
        withPage(lab, "jobs", async (page) => {
          await page.waitForSelector(".job-row");
          const id = await submit(lab, ENDLESS, { waits: false });
          const row = page.locator(".job-row", { hasText: "range(9000000000)" });
          await row.getByText("running").waitFor();
          await row.getByRole("button").click();
          strictEqual(await stateOf(page), "▶ running");
          await page.locator(".open-job .progress", { hasText: "rows read" }).waitFor();
          await page.click("text=Cancel the job");
          await stateIs(page, "cancelled");
          await row.getByText("cancelled").waitFor();
          const told = await (await fetch(`${lab.url}/api/v1/jobs/${id}`)).json();
          strictEqual(told.status, "cancelled");
        }),
    );

    for (const query of ["jobs", `jobs?job=${small}`]) {
      await t.step(
        `${query.slice(0, 8)} is accessible in both themes, and fits 390 pixels`,
        () =>
          withPage(lab, query, async (page) => {
            await page.waitForSelector(query === "jobs" ? ".job-row" : ".result-table");
            await expectAccessible(page);
            await page.setViewportSize(NARROW);
            strictEqual(await page.evaluate("document.documentElement.scrollWidth"), NARROW.width);
            await expectAccessible(page);
          }),
      );
    }
  },
});
