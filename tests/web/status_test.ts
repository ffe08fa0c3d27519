/** The page Status over the three real processes. */

import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { HAS_CHROMIUM, launchForPages } from "../clients/chromium.ts";
import { expectAccessible } from "./axe.ts";
import { startDemoStack } from "./demo_stack.ts";
import { buildPage, withPage } from "./page_lab.ts";

const NAME = "the page Status shows the three servers, at any width, to everybody";

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn() {
    await buildPage();
    await using demo = await startDemoStack({ seed: 1, events: 200, traces: 5 });
    const browser = await launchForPages();
    await using _browser = { [Symbol.asyncDispose]: () => browser.close() };
    const lab = { url: demo.stack.queryUrl, browser };
    await withPage(lab, "status", async (page) => {
      await page.waitForSelector(".chart .now");
      const roles = await page.locator(".roles li strong").allTextContents();
      deepStrictEqual(roles, ["ingest", "compactor", "query"]);
      const memory = page.getByRole("region", { name: "Memory" });
      // A busy server is in the next sample.
      for (const role of ["ingest", "compactor"]) {
        const figure = new RegExp(`${role}\\s+\\d+(\\.\\d)? [KMG]iB`);
        await memory.getByRole("listitem").filter({ hasText: figure }).waitFor();
      }
      // Its newest sample is not older than one period, so rates come by themselves.
      await page.getByRole("region", { name: "Rows a second" }).getByText("/s").first().waitFor();
      ok(await page.locator(".chart canvas").count() >= 7);
      await expectAccessible(page);
      const overflow =
        "document.documentElement.scrollWidth - document.documentElement.clientWidth";
      // Charts follow a frame after the window: until then, they must not widen the page.
      for (const width of [1280, 820, 1280, 600, 1280, 390]) {
        await page.setViewportSize({ width, height: 844 });
        strictEqual(await page.evaluate(overflow), 0, `at ${width} pixels`);
      }
      await expectAccessible(page);
      await page.keyboard.press("?");
      await page.waitForSelector("dialog.help[open]");
      await expectAccessible(page, { within: "dialog.help" });
      await page.keyboard.press("Escape");

      await demo.stack.stop("compactor");
      await page.waitForSelector(".roles .away >> text=compactor");
    });
  },
});
