/** Rows of the page Logs in a real browser: what opens, filters, copies and stays in view. */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Page } from "playwright-core";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import {
  copiedText,
  expectTextOnly,
  LINES,
  type LogLine,
  openLogsLab,
  queryOf,
  RANGE,
  rowsAre,
  searchFor,
  textsOf,
} from "./logs_lab.ts";
import { isTrueIn, withPage } from "./page_lab.ts";

const NAME = "rows of the page Logs in Chromium";
const STACK = "E: no\\n\\tat a.B(C.java:1)\\n\\tat d.E(F.java:2)";
const LARGE = `${"x ".repeat(500_000)}needle`;

/** Rows of one host around a row that the search finds, and one of another host between them. */
const AROUND: readonly LogLine[] = [
  ...Array.from({ length: 30 }, (_, at) => ({
    ms: 1_000 * at,
    raw: `step ${at}`,
    host: "web-1",
    source: "worker",
  })),
  { ms: 15_500, raw: "other host", host: "web-2", source: "worker" },
];

const SHAPED: readonly LogLine[] = [
  {
    ms: 100_000,
    raw: '{"order":{"id":12345678901234567890}}',
    attributes: { "exception.stacktrace": STACK, nested: { a: [1, { b: "c" }] }, score: "1.0" },
  },
  { ms: 101_000, raw: LARGE },
  {
    ms: 102_000,
    raw: "wide",
    attributes: Object.fromEntries(Array.from({ length: 450 }, (_, at) => [`field ${at}`, at])),
  },
];

const openField = (page: Page, name: string) =>
  page.locator(".fields tr", { has: page.locator(`th:text-is("${name}")`) });

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    await using lab = await openLogsLab([[...AROUND, ...SHAPED, ...LINES]]);

    await t.step(
      "a row opens to its fields, and a value filters in, out, alone",
      () =>
        withPage(lab, `?range=${RANGE}&q=cart`, async (page) => {
          await rowsAre(page, 2);
          await page.locator(".row .line").nth(1).click();
          const field = openField(page, "user name");
          strictEqual(await field.locator("td").first().textContent(), 'ann "a" lee');
          await field.getByText("+ filter").click();
          await rowsAre(page, 1);
          const term = String.raw`"user name":"ann \"a\" lee"`;
          strictEqual(await page.inputValue("#search"), `cart ${term}`);
          await page.locator(".row .line").click();
          await field.getByText("only this").click();
          await isTrueIn(page, "!location.search.includes('q=cart')");
          strictEqual(await page.inputValue("#search"), term);
          await page.goBack();
          await page.goBack();
          await rowsAre(page, 2);
          // The row is open as it was.
          await field.getByText("− filter").click();
          await rowsAre(page, 1);
          deepStrictEqual(await textsOf(page), ["GET /cart 200 in 32 ms"]);
        }),
    );

    await t.step(
      "a link opens the row that the sender had open, and Esc closes it",
      () =>
        withPage(lab, `?range=${RANGE}`, async (page) => {
          await page.getByText("card declined").click();
          const key = queryOf(page).get("row");
          ok(key !== null);
          await page.reload();
          await page.waitForSelector('.row[data-open="true"]');
          match(await page.textContent('.row[data-open="true"]') ?? "", /card declined/);
          await page.keyboard.press("Escape");
          await page.locator(".opened").waitFor({ state: "detached" });
          strictEqual(queryOf(page).get("row"), null);
        }),
    );

    await t.step(
      "context shows the rows around of the same host and source, and closes before the row",
      () =>
        withPage(lab, `?range=${RANGE}&q="step 15"`, async (page) => {
          await rowsAre(page, 1);
          await page.locator(".row .line").click();
          await page.getByRole("button", { name: "context" }).click();
          await page.locator(".context-row").nth(20).waitFor();
          deepStrictEqual(
            await page.locator(".context-row .text").allTextContents(),
            Array.from({ length: 21 }, (_, at) => `step ${25 - at}`),
          );
          await page.getByText("more newer rows").click();
          await page.getByText("No newer rows within a day.").waitFor();
          strictEqual(
            await page.locator(".context-row .text").first().textContent(),
            "step 29",
          );
          await page.keyboard.press("Escape");
          await page.locator(".context").waitFor({ state: "detached" });
          strictEqual(await page.locator(".opened").count(), 1);
          await page.keyboard.press("Escape");
          await page.locator(".opened").waitFor({ state: "detached" });
        }),
    );

    await t.step(
      "a trace leads to its page",
      () =>
        withPage(lab, `?range=${RANGE}&q=declined`, async (page) => {
          await page.locator(".row .line").click();
          await page.getByRole("button", { name: "→ trace" }).click();
          await page.waitForURL(/\/ui\/traces\?trace=5b8efff798038103d269b633813fc60c$/);
        }),
    );

    await t.step(
      "columns come from a row, stand in the address, and go",
      () =>
        withPage(lab, `?range=${RANGE}&q=service:*`, async (page) => {
          await page.getByText("card declined").click();
          await openField(page, "http.status_code").getByText("column").click();
          strictEqual(await page.locator('.cell[title="http.status_code"]').first().count(), 1);
          deepStrictEqual(queryOf(page).getAll("column"), ["http.status_code"]);
          await page.reload();
          await page.getByText("502").first().waitFor();
          await page.getByRole("button", { name: "Take the column http.status_code away" }).click();
          await page.locator(".column-heads").waitFor({ state: "detached" });
          deepStrictEqual(queryOf(page).getAll("column"), []);
        }),
    );

    await t.step(
      "JSON and stack traces are laid out, and copied as they were",
      () =>
        withPage(lab, `?range=${RANGE}&q=order`, async (page) => {
          await page.locator(".row .line").click();
          strictEqual(
            await openField(page, "raw").locator(".value").textContent(),
            '{\n  "order": {\n    "id": 12345678901234567890\n  }\n}',
          );
          strictEqual(
            await openField(page, "exception.stacktrace").locator(".value").textContent(),
            "E: no\n    at a.B(C.java:1)\n    at d.E(F.java:2)",
          );
          const raw = openField(page, "raw").getByText("copy");
          strictEqual(await copiedText(page, () => raw.click()), SHAPED[0]?.raw);
          await page.getByText("copied").waitFor({ state: "detached" });
          const stack = openField(page, "exception.stacktrace").getByText("copy");
          strictEqual(await copiedText(page, () => stack.click()), STACK);
          // A page without HTTPS off this machine has none.
          await page.evaluate("Object.defineProperty(navigator, 'clipboard', {})");
          await raw.click();
          await page.fill("#search", "");
          await page.keyboard.press("Control+V");
          strictEqual(await page.inputValue("#search"), SHAPED[0]?.raw);
        }),
    );

    await t.step(
      "a value of 1 MB is found in view, and opens in a viewer of its own",
      () =>
        withPage(lab, `?range=${RANGE}&q=needle`, async (page) => {
          await rowsAre(page, 1);
          const [line = ""] = await textsOf(page);
          match(line, /^…x x .*needle$/);
          ok(line.length < 1_100);
          strictEqual(await page.locator(".row mark").textContent(), "needle");
          await page.locator(".row .line").click();
          await page.getByText("open all").click();
          const viewer = page.locator(".value-dialog");
          await viewer.getByText("1,000,006 characters").waitFor();
          strictEqual((await viewer.locator("pre").textContent())?.length, LARGE.length);
          await page.keyboard.press("Escape");
          await viewer.locator("pre").waitFor({ state: "detached" });
          strictEqual(await page.locator(".opened").count(), 1);
        }),
    );

    await t.step(
      "a row of many fields shows some of them, and more when asked",
      () =>
        withPage(lab, `?range=${RANGE}&q=wide`, async (page) => {
          await rowsAre(page, 1);
          await page.locator(".row .line").click();
          const shown = page.locator(".fields tr");
          await page.getByText("200 of 456 are shown").waitFor();
          strictEqual(await shown.count(), 200);
          await page.getByText("more fields").click();
          await page.getByText("400 of 456 are shown").waitFor();
          await page.getByText("more fields").click();
          await openField(page, "field 449").waitFor();
          strictEqual(await shown.count(), 456);
          strictEqual(await page.getByText("more fields").count(), 0);
        }),
    );

    await t.step(
      "hostile content is text, and what hides in it is named",
      () =>
        withPage(lab, `?range=${RANGE}&q=onerror&wrap=1`, async (page) => {
          await rowsAre(page, 1);
          const raw = LINES[2]?.raw ?? "";
          deepStrictEqual(await textsOf(page), [raw]);
          const named = page.locator(".row .text .hidden-char");
          deepStrictEqual(
            await named.evaluateAll((all) => all.map((one) => one.getAttribute("data-name"))),
            ["ESC", "U+202E"],
          );
          await page.locator(".row .line").click();
          await expectTextOnly(page);
          const copy = openField(page, "raw").getByText("copy");
          strictEqual(await copiedText(page, () => copy.click()), raw);
        }),
    );

    await t.step(
      "a word selected with the mouse may be searched, and opens no row",
      () =>
        withPage(lab, `?range=${RANGE}&q=cart`, async (page) => {
          await rowsAre(page, 2);
          const word = page.locator(".row .text").first();
          const box = await word.boundingBox();
          ok(box !== null);
          // Over "cart" of "GET /cart".
          await page.mouse.move(box.x + 4, box.y + 8);
          await page.mouse.down();
          await page.mouse.move(box.x + 3 * 7.5, box.y + 8, { steps: 5 });
          await page.mouse.up();
          await page.getByRole("group", { name: "The selected text" }).waitFor();
          strictEqual(await page.locator(".opened").count(), 0);
          const selected = await page.evaluate("getSelection().toString().trim()");
          await page.getByText("search this").click();
          await isTrueIn(page, "!location.search.includes('cart')");
          strictEqual(await page.inputValue("#search"), selected);
        }),
    );

    await t.step(
      "wrap and density change how rows look; wrap stays in the address",
      () =>
        withPage(lab, `?range=${RANGE}&q=needle`, async (page) => {
          await rowsAre(page, 1);
          const heightOf = async () => (await page.locator(".row").boundingBox())?.height ?? 0;
          const oneLine = await heightOf();
          await page.getByRole("button", { name: "comfortable" }).click();
          ok(await heightOf() > oneLine);
          await page.getByRole("button", { name: "wrap" }).click();
          ok(await heightOf() > 10 * oneLine);
          strictEqual(queryOf(page).get("wrap"), "1");
          await page.reload();
          await rowsAre(page, 1);
          ok(await heightOf() > 10 * oneLine);
        }),
    );

    await t.step(
      "j and k walk the rows, Enter opens, and / goes to the search",
      () =>
        withPage(lab, `?range=${RANGE}&q=step`, async (page) => {
          await rowsAre(page, 30);
          const focused = () =>
            page.evaluate(
              'document.activeElement.querySelector(".text")?.textContent',
            );
          const goesTo = (text: string) =>
            isTrueIn(
              page,
              `document.activeElement?.querySelector(".text")?.textContent === "${text}"`,
            );
          await page.keyboard.press("j");
          await goesTo("step 29");
          for (let at = 28; at >= 0; at -= 1) {
            await page.keyboard.press("j");
            await goesTo(`step ${at}`);
          }
          ok(await page.locator(".row .line:focus").isVisible());
          await page.keyboard.press("k");
          await goesTo("step 1");
          await page.keyboard.press("Enter");
          await page.waitForSelector(".opened");
          strictEqual(await focused(), "step 1");
          await page.keyboard.press("/");
          strictEqual(await page.evaluate("document.activeElement.id"), "search");
          await page.keyboard.press("Escape");
          await page.keyboard.press("?");
          await page.getByRole("heading", { name: "Keys" }).waitFor();
          await page.keyboard.press("Escape");
          await page.keyboard.press("t");
          await page.getByLabel("Type a time").waitFor();
          await searchFor(page, "card", 1);
        }),
    );
  },
});
