/**
 * A query server over a table of its own, the page that it serves, and a real browser. No test may
 * print an error to the browser's console or ask another host.
 */

import { deepStrictEqual, ok } from "node:assert/strict";
import type { Browser, BrowserContext, Page } from "playwright-core";
import { OPTIONS, type QueryServer, startQuery } from "../../query/mod.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { freePort } from "../../shared/testing/free_ports.ts";
import { ONE_DUCKDB } from "../../shared/testing/one_duckdb.ts";
import { until } from "../../shared/testing/until.ts";
import { launchForPages } from "../clients/chromium.ts";
import { IN_THIS_PROCESS } from "../../shared/testing/in_this_process.ts";

/** Generous: an upper bound on a busy machine, not a pause. */
const WAIT_MS_MAX = 60_000;

/** What a browser stores for an origin, beside its HTTP cache. */
const STORED = "cookies,local_storage,indexeddb,cache_storage,service_workers";

/** In the page: resolves once a frame has painted what changed before it. */
export const PAINTED =
  "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))";

/** In the page: tells what its policy refused, also to code that catches the error. */
const TELL_REFUSED = `addEventListener("securitypolicyviolation", (event) =>
  console.error("the policy refuses", event.effectiveDirective, event.blockedURI))`;

/** A server that serves the page. */
export interface PageServer extends AsyncDisposable {
  readonly url: string;
  /** Ends the server, and begins another at the same address, with other options if given. */
  stop(): Promise<void>;
  start(args?: readonly string[]): Promise<void>;
}

/** And a Chromium. */
export interface PageLab extends PageServer {
  readonly browser: Browser;
}

/** A page server over the rows that `fill` commits, and a Chromium; `args` are its options. */
export async function openPageLab(
  fill: (lab: WarehouseLab) => Promise<unknown>,
  args: readonly string[] = [],
): Promise<PageLab> {
  await using held = new AsyncDisposableStack();
  const server = held.use(await openPageServer(fill, args));
  const browser = await launchForPages();
  held.defer(() => browser.close());
  const all = held.move();
  return { ...server, browser, [Symbol.asyncDispose]: () => all.disposeAsync() };
}

/** Builds the page and starts a server over the rows that `fill` commits. */
export async function openPageServer(
  fill: (lab: WarehouseLab) => Promise<unknown>,
  args: readonly string[] = [],
): Promise<PageServer> {
  await buildPage();
  await using held = new AsyncDisposableStack();
  const lab = held.use(await WarehouseLab.open());
  await fill(lab);
  // The system hands an ephemeral one to others while the server is stopped.
  const port = freePort();
  let server: QueryServer | undefined;
  const stop = async () => await server?.stop();
  const start = async (given = args) => {
    server = await startQuery(
      parseOptions(OPTIONS, [
        ...["--bind", `127.0.0.1:${port}`, "--metrics-bind", "127.0.0.1:0", "--audit-disabled"],
        ...["--data-dir", lab.dir, "--threads", "2", ...ONE_DUCKDB, ...given],
      ]),
      IN_THIS_PROCESS,
    );
  };
  await start();
  held.defer(stop);
  const all = held.move();
  return {
    url: `http://127.0.0.1:${port}`,
    stop,
    start,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}

let built: Promise<void> | undefined;

/** Builds the page by its task, where a source is newer: once for all files of a process. */
export function buildPage(): Promise<void> {
  return built ??= buildByTask();
}

async function buildByTask(): Promise<void> {
  const root = new URL("../..", import.meta.url);
  const { success, stderr } = await new Deno.Command(Deno.execPath(), {
    args: ["task", "--quiet", "web", "--if-newer"],
    cwd: root,
  }).output();
  ok(success, new TextDecoder().decode(stderr));
}

/**
 * Returns once `expression` is true in the page. Playwright's `waitForFunction` calls `eval` for
 * each look but the first, which the page's policy refuses.
 */
export async function isTrueIn(page: Page, expression: string): Promise<void> {
  await until(() => page.evaluate<boolean>(expression), { msMax: WAIT_MS_MAX });
}

export interface PageOptions {
  /** Where the page is, when not at the server itself. */
  readonly at?: string;
  /** What the browser may print: it tells of each request that fails. */
  readonly allowed?: RegExp;
  /** Another origin that the page may ask and lead to; what that one asks is its own matter. */
  readonly other?: string;
}

/**
 * A page of its own at `/ui/` and `query`; `test` may cause no error in it and no request to
 * elsewhere. It finds nothing that a page before it stored, but for the HTTP cache. All share a
 * profile, because each new one fetches and compiles the scripts anew.
 */
export async function withPage(
  lab: Pick<PageLab, "url" | "browser">,
  query: string,
  test: (page: Page) => Promise<void>,
  { at = `${lab.url}/ui/`, allowed, other }: PageOptions = {},
): Promise<void> {
  const context = lab.browser.contexts()[0] ?? await openContext(lab.browser);
  const before = context.pages();
  const page = await context.newPage();
  const { origin } = new URL(at);
  const known = other === undefined ? [origin] : [origin, other];
  await forgetAll(page, known);
  await page.addInitScript(TELL_REFUSED);
  const faults: string[] = [];
  page.on("console", (message) => {
    const isAllowed = allowed?.test(message.text()) ?? false;
    if (message.type() === "error" && !isAllowed) faults.push(message.text());
  });
  page.on("pageerror", (error) => faults.push(error.message));
  page.on("request", (request) => {
    const isOthers = other !== undefined && request.frame().url().startsWith(other);
    if (!isOthers && !known.includes(new URL(request.url()).origin)) faults.push(request.url());
  });
  try {
    await page.goto(at + query);
    await test(page);
    deepStrictEqual(faults, []);
  } finally {
    for (const one of context.pages()) if (!before.includes(one)) await one.close();
  }
}

async function openContext(browser: Browser): Promise<BrowserContext> {
  const context = await browser.newContext({ timezoneId: "UTC", locale: "en-US" });
  context.setDefaultTimeout(WAIT_MS_MAX);
  return context;
}

/** Takes away what pages of these origins stored, and what they were permitted. */
async function forgetAll(page: Page, origins: readonly string[]): Promise<void> {
  const context = page.context();
  await context.clearPermissions();
  await context.clearCookies();
  const session = await context.newCDPSession(page);
  for (const origin of origins) {
    await session.send("Storage.clearDataForOrigin", { origin, storageTypes: STORED });
  }
  await session.detach();
}
