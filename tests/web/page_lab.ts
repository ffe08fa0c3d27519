/**
 * A query server over a table of its own, the page that it serves, and a real browser. No test may
 * print an error to the browser's console or ask another host.
 */

import { deepStrictEqual, ok } from "node:assert/strict";
import type { Browser, Page } from "playwright-core";
import { OPTIONS, startQuery } from "../../query/mod.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { launchChromium } from "../clients/chromium.ts";

const WAIT_MS_MAX = 30_000;

export interface PageLab extends AsyncDisposable {
  readonly url: string;
  readonly browser: Browser;
}

/**
 * Builds the page and starts a server over the rows that `fill` commits; `args` are its options.
 */
export async function openPageLab(
  fill: (lab: EngineLab) => Promise<unknown>,
  args: readonly string[] = [],
): Promise<PageLab> {
  await buildPage();
  await using held = new AsyncDisposableStack();
  const lab = held.use(await EngineLab.open());
  await fill(lab);
  const server = held.use(
    await startQuery(parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--audit-disabled"],
      ...["--data-dir", lab.dir, "--threads", "2", ...args],
    ])),
  );
  const browser = await launchChromium();
  held.defer(() => browser.close());
  const all = held.move();
  return {
    url: `http://127.0.0.1:${server.address.port}`,
    browser,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

/** Builds the page by its task, where a source is newer. */
export async function buildPage(): Promise<void> {
  const root = new URL("../..", import.meta.url);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "web", "--if-newer"],
    cwd: root,
  }).output();
  ok(success, new TextDecoder().decode(stderr));
}

/**
 * A page of its own at `/ui/` and `query`; `test` may cause no error in it and no request to
 * elsewhere.
 */
export async function withPage(
  lab: Pick<PageLab, "url" | "browser">,
  query: string,
  test: (page: Page) => Promise<void>,
): Promise<void> {
  const context = await lab.browser.newContext({ timezoneId: "UTC", locale: "en-US" });
  context.setDefaultTimeout(WAIT_MS_MAX);
  const page = await context.newPage();
  const faults: string[] = [];
  page.on("console", (message) => {
    if (message.type() === "error") faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(lab.url)) faults.push(request.url());
  });
  await page.goto(`${lab.url}/ui/${query}`);
  await test(page);
  deepStrictEqual(faults, []);
  await context.close();
}
