/**
 * The page Tables in a real browser, over a real query server and a compactor: what a user sees,
 * clicks and types. No test may print an error to the browser's console or ask another host.
 */

import { deepStrictEqual, match, strictEqual } from "node:assert/strict";
import type { Page } from "playwright-core";
import { OPTIONS, runOnce } from "../../compactor/mod.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { expectAccessible } from "./axe.ts";
import { openPageLab, type PageLab, withPage } from "./page_lab.ts";

const NAME = "the page Tables in Chromium";
const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const DAY_NS = 86_400_000_000_000n;
const HOSTILE = '<img src=x onerror="document.title=1">';
const NARROW = { width: 390, height: 844 };

interface Lab extends PageLab {
  readonly dir: string;
}

/** Two days of rows: 40 and 20, every fourth of user 4711. */
async function openLab(): Promise<Lab> {
  let dir = "";
  const lab = await openPageLab(async (engine) => {
    ({ dir } = engine);
    for (const [day, rows] of [[0n, 40], [1n, 20]] as const) {
      await engine.commit(Array.from({ length: rows }, (_, at) => ({
        ns: START_NS + day * DAY_NS + BigInt(at) * 1_000_000_000n,
        raw: at === 0 ? HOSTILE : `row ${at}`,
        attributes: JSON.stringify({ user: at % 4 === 0 ? "4711" : "1" }),
      })));
    }
  });
  return Object.assign(lab, { dir });
}

/** Lets a compactor look once, as it does every few seconds. */
async function compact({ dir }: Lab): Promise<void> {
  await Deno.mkdir(`${dir}/wal`, { recursive: true });
  const args = ["--data-dir", dir, "--once", "--role", "maintenance"];
  await runOnce(parseOptions(OPTIONS, args));
}

/** Waits until a figure of the open table is `value`. */
async function figureIs(page: Page, name: string, value: string): Promise<void> {
  const figure = page.locator(".table-details .figures div", {
    has: page.getByText(name, { exact: true }),
  });
  await figure.getByText(value, { exact: true }).waitFor();
}

/** Makes an index with a form, and waits until it is open. */
async function makeIndex(page: Page, name: string): Promise<void> {
  await page.click("text=New index");
  await page.fill("#config-id", name);
  await page.click("text=Make the index");
  await page.locator(".table-details h2", { hasText: name }).waitFor();
}

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    await using lab = await openLab();

    await t.step(
      "tables are listed, and one opens to days, columns and snapshots",
      () =>
        withPage(lab, "tables", async (page) => {
          const row = page.locator(".table-list tr", { hasText: "events" });
          match(await row.innerText(), /events\s+built in\s+60\s+[\d.]+ KiB\s+2\s+for ever/);
          await row.getByRole("button").click();
          await page.waitForSelector(".days");
          match(page.url(), /table=events/);
          for (const [name, value] of [["Rows", "60"], ["Files", "2"], ["Days", "2"]] as const) {
            await figureIs(page, name, value);
          }
          match(await page.innerText(".days"), /2026-11-21\s+20[\s\S]*2026-11-20\s+40/);
          await page.fill("[aria-label='Search columns']", "attr");
          match(
            await page.innerText(".table-details"),
            /1 of 8[\s\S]*attributes\s+string\s+60, 100%/,
          );
          match(await page.innerText(".table-details"), /append\s+\+20\s+\+1/);
          await page.reload();
          await page.waitForSelector(".days");
          await page.keyboard.press("j");
          await page.locator(".table-details h2", { hasText: "query_audit" }).waitFor();
          await page.goBack();
          await page.locator(".table-details h2", { hasText: "events" }).waitFor();
        }),
    );

    await t.step(
      "an index is made with a form that judges as the server does",
      () =>
        withPage(lab, "tables", async (page) => {
          await page.click("text=New index");
          await page.fill("#config-id", "Orders");
          await page.click("text=Make the index");
          match(await page.innerText("#wrong-id"), /index_id "Orders": it must match/);
          strictEqual(await page.getAttribute("#config-id", "aria-invalid"), "true");
          await page.fill("#config-id", "orders");
          await page.locator("#wrong-id").waitFor({ state: "detached" });
          await page.click("text=Add a field");
          const field = page.locator(".field-row").nth(1);
          await page.fill("[id='config-fields.1.name']", "host");
          await page.selectOption("[id='config-fields.1.type']", "long");
          await page.fill("#config-retention", "x");
          await page.click("text=Make the index");
          match(await page.innerText("#wrong-retention"), /period_secs/);
          await page.fill("#config-retention", "30");
          match(await page.innerText("[id='wrong-fields.1.type']"), /every index has it as text/);
          await page.fill("[id='config-fields.1.name']", "status");
          await field.getByText("tag").click();
          await expectAccessible(page, { within: ".modal" });
          await page.click("text=Make the index");
          await page.locator(".table-details h2", { hasText: "orders" }).waitFor();
          await figureIs(page, "Kept for", "30 d");
          const made = await (await fetch(`${lab.url}/api/v1/indexes/orders`)).json();
          deepStrictEqual(made.doc_mapping.tag_fields, ["status"]);
          deepStrictEqual(made.retention, { period_secs: 2_592_000 });
        }),
    );

    await t.step(
      "an index is changed: its fields stay, and new ones may be null",
      () =>
        withPage(lab, "tables?table=orders", async (page) => {
          await page.click("text=Change the index");
          await page.waitForSelector(".modal");
          strictEqual(await page.isDisabled("#config-id"), true);
          strictEqual(await page.isDisabled("[id='config-fields.1.name']"), true);
          await page.click("text=Add a field");
          await page.fill("[id='config-fields.2.name']", "message");
          await page.locator(".field-row").nth(2).getByText("required").click();
          await page.click("text=Save");
          match(await page.innerText(".modal .failure"), /new field "message" as required/);
          await page.locator(".field-row").nth(2).getByText("required").click();
          await page.fill("#config-retention", "7");
          await page.click("text=Save");
          await page.locator(".modal").waitFor({ state: "detached" });
          await figureIs(page, "Kept for", "7 d");
          await page.locator(".table-details tr", { hasText: "message" }).waitFor();
        }),
    );

    await t.step(
      "a name that is taken is told at its field, and nothing typed is lost",
      () =>
        withPage(lab, "tables?table=events", async (page) => {
          await page.waitForSelector(".days");
          await page.click("text=New index");
          await page.fill("#config-id", "events");
          await page.click("text=Make the index");
          match(await page.innerText("#wrong-id"), /the service has a table of that name/);
          await page.keyboard.press("Escape");
          await page.locator(".modal").waitFor({ state: "detached" });
        }),
    );

    await t.step(
      "a template is made, changed and removed by its name",
      () =>
        withPage(lab, "tables?view=templates", async (page) => {
          await page.waitForSelector("text=No templates");
          await page.click("text=New template");
          await page.fill("#config-id", "apps");
          await page.click("text=Make the template");
          match(await page.innerText("#wrong-patterns"), /index_id_patterns/);
          await page.fill("#config-patterns", "app-* web-?");
          await page.fill("#config-priority", "5");
          await page.click("text=Make the template");
          const row = page.locator(".table-list tr", { hasText: "apps" });
          match(await row.innerText(), /app-\*, web-\?\s+5/);
          await row.getByText("Change").click();
          await page.waitForSelector(".modal");
          await page.fill("#config-priority", "6");
          await page.click("text=Save");
          await row.getByText("6").waitFor();
          await row.getByText("Remove").click();
          strictEqual(await page.isDisabled("text=Remove apps"), true);
          await page.locator(".modal input").fill("apps");
          await page.click("text=Remove apps");
          await page.waitForSelector("text=No templates");
        }),
    );

    await t.step(
      "rows are deleted by a condition: counted, confirmed, and followed to the end",
      () =>
        withPage(lab, "tables?table=events", async (page) => {
          await page.click("text=Delete rows…");
          await page.click("text=Count the rows");
          match(await page.innerText("#delete-predicate-wrong"), /Say which rows/);
          await page.fill("#delete-predicate", "attr_get(attributes, 'user') = '4711' -- gone");
          await page.fill("#delete-from", "yesterday");
          await page.click("text=Count the rows");
          match(await page.innerText("#delete-from-wrong"), /2026-11-20T00:00:00Z/);
          await page.fill("#delete-from", "2026-11-21T00:00:00Z");
          await page.click("text=Count the rows");
          await page.locator(".modal", { hasText: "5 rows would go, of 20 of that time." })
            .waitFor();
          strictEqual(await page.isDisabled("text=Delete 5 rows"), true);
          await expectAccessible(page, { within: ".modal" });
          // Another condition needs another count.
          await page.fill("#delete-from", "");
          strictEqual(await page.locator("#delete-confirm").count(), 0);
          await page.click("text=Count the rows");
          await page.fill("#delete-confirm", "event");
          strictEqual(await page.isDisabled("text=Delete 15 rows"), true);
          await page.fill("#delete-confirm", "events");
          await page.click("text=Delete 15 rows");
          const task = page.locator(".tasks li");
          await task.getByText("waits for a compactor").waitFor();
          match(page.url(), /view=deletes/);
          await compact(lab);
          await task.getByText("15 rows deleted").waitFor();
          await page.locator(".views").getByText("Tables").click();
          await figureIs(page, "Rows", "45");
        }),
    );

    await t.step(
      "an index is dropped only by its name",
      () =>
        withPage(lab, "tables", async (page) => {
          await makeIndex(page, "scratch");
          await page.click("text=Drop the index…");
          await page.locator(".modal input").fill("scratc");
          strictEqual(await page.isDisabled("text=Drop scratch"), true);
          await page.locator(".modal input").fill("scratch");
          await page.click("text=Drop scratch");
          await page.locator(".table-details").waitFor({ state: "detached" });
          await page.locator(".table-list tr", { hasText: "scratch" }).waitFor({
            state: "detached",
          });
        }),
    );

    for (const query of ["tables", "tables?table=events", "tables?view=deletes"]) {
      await t.step(
        `${query} is accessible in both themes, and fits 390 pixels`,
        () =>
          withPage(lab, query, async (page) => {
            await page.waitForSelector(query === "tables" ? ".table-list" : ".days, .tasks li");
            await expectAccessible(page);
            await page.setViewportSize(NARROW);
            strictEqual(await page.evaluate("document.documentElement.scrollWidth"), NARROW.width);
            await expectAccessible(page);
          }),
      );
    }
  },
});
