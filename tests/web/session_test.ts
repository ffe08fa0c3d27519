/**
 * Who asks, and whether the server answers: tokens, a restart under an open page, and paths that a
 * proxy puts before the page.
 */

import { deepStrictEqual, match, ok, strictEqual } from "node:assert/strict";
import type { Page } from "playwright-core";
import { until } from "../../shared/testing/until.ts";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { expectAccessible } from "./axe.ts";
import { openPageLab, type PageLab, PAINTED, withPage } from "./page_lab.ts";
import { untilRun } from "./sql_lab.ts";

const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const QUERY = "?range=1795132800000..1795140000000";
const TOKEN = "three-in-the-morning";
const NEXT_TOKEN = "four-in-the-morning";
const BANNER = ".server-banner:not([hidden])";
/** Chromium tells of each answer that is no success. */
const FAILED_REQUESTS = /^Failed to load resource/;

const NAME = "who asks for the page, and whether its server answers, in Chromium";

function openLab(): Promise<PageLab> {
  return openPageLab((lab) =>
    lab.commit([
      { ns: START_NS, raw: "card declined" },
      { ns: START_NS + 1_000_000n, raw: "cart emptied" },
    ])
  );
}

/** Another server in place of the one there is. */
async function restart(lab: PageLab, args: readonly string[]): Promise<void> {
  await lab.stop();
  await lab.start(args);
}

async function search(page: Page, text: string): Promise<void> {
  await page.fill("#search", text);
  await page.keyboard.press("Enter");
}

async function rowsAre(page: Page, texts: readonly string[]): Promise<void> {
  const wanted = JSON.stringify(texts);
  await until(async () =>
    JSON.stringify(await page.locator(".row .text").allTextContents()) === wanted
  );
}

async function giveToken(page: Page, token: string): Promise<void> {
  await page.fill("#token", token);
  await page.keyboard.press("Enter");
}

/** They share a browser; each begins with the server that the one before left, unless it says. */
const STEPS: readonly {
  readonly name: string;
  readonly args?: readonly string[];
  readonly test: (lab: PageLab) => Promise<void>;
}[] = [
  {
    name: "a page says that its server is away, and goes on when it is back",
    test: (lab) =>
      withPage(lab, QUERY, async (page) => {
        await rowsAre(page, ["cart emptied", "card declined"]);
        await lab.stop();
        await search(page, "declined");
        await page.waitForSelector(BANNER);
        match(await page.locator(BANNER).innerText(), /does not answer/);
        await expectAccessible(page, { within: BANNER });
        await lab.start();
        await rowsAre(page, ["card declined"]);
        await page.waitForSelector(BANNER, { state: "detached" });

        await lab.stop();
        await search(page, "cart");
        await page.click("text=Stop waiting");
        await page.waitForSelector("text=The server cannot be reached.");
        // What the page finds by itself would take the button away before the click.
        await page.route("**/readyz", (route) => route.abort());
        await lab.start();
        await Promise.all([page.waitForRequest("**/readyz"), page.click("text=Look now")]);
        await page.unroute("**/readyz");
        await page.waitForSelector(BANNER, { state: "detached" });
        await page.focus("#search");
        await page.keyboard.press("Enter");
        await rowsAre(page, ["cart emptied"]);
      }, { allowed: FAILED_REQUESTS }),
  },
  {
    name: "a statement of the page SQL waits for a server that is away",
    test: (lab) =>
      withPage(lab, "", async (page) => {
        await untilRun(page);
        await lab.stop();
        await page.click("button:has-text('Run')");
        await page.waitForSelector(BANNER);
        await lab.start();
        await page.locator(".result-table td", { hasText: "42" }).waitFor();
        await page.waitForSelector(BANNER, { state: "detached" });
      }, { at: `${lab.url}/ui/sql?query=SELECT%2042`, allowed: FAILED_REQUESTS }),
  },
  {
    name: "a page works behind a proxy that takes its path away",
    test: (lab) => worksBehindProxy(lab, { strips: true }),
  },
  {
    name: "a link of another site leads to the page",
    async test(lab) {
      await using chat = Deno.serve(
        { hostname: "127.0.0.1", port: 0, onListen: () => {} },
        () =>
          new Response(`<title>chat</title><a href="${lab.url}/ui/${QUERY}">look</a>`, {
            headers: { "content-type": "text/html" },
          }),
      );
      // Another name is another site; another port alone is not.
      const at = `http://localhost:${chat.addr.port}/`;
      await withPage(lab, "", async (page) => {
        await page.click("text=look");
        await rowsAre(page, ["cart emptied", "card declined"]);
      }, { at, other: lab.url, allowed: /favicon|404|Failed to load/ });
    },
  },
  {
    name: "a page works behind a proxy that leaves its path, with --ui-base-path",
    args: ["--ui-base-path", "/tools/logs/"],
    test: (lab) => worksBehindProxy(lab, { strips: false }),
  },
  {
    name: "a page asks for a token, again when it ends, and loses nothing that was typed",
    args: ["--tokens", TOKEN],
    test: (lab) =>
      withPage(lab, `${QUERY}&q=declined`, async (page) => {
        await page.waitForSelector("dialog.sign-in[open] #token");
        await expectAccessible(page);
        await giveToken(page, "wrong");
        await page.waitForSelector("text=The server says:");
        await giveToken(page, TOKEN);
        await rowsAre(page, ["card declined"]);
        await page.waitForSelector('button[popovertarget="caller"] >> text=default');
        await page.reload();
        await rowsAre(page, ["card declined"]);
        strictEqual(await page.locator("dialog[open]").count(), 0);
        // Nothing but the tab keeps it.
        strictEqual(await page.evaluate("localStorage.length + document.cookie.length"), 0);

        await restart(lab, ["--tokens", NEXT_TOKEN]);
        await search(page, "cart");
        await page.waitForSelector("dialog.sign-in[open] #token");
        strictEqual(await page.inputValue("#search"), "cart");
        await giveToken(page, NEXT_TOKEN);
        await rowsAre(page, ["cart emptied"]);

        await page.click('button[popovertarget="caller"]');
        await page.click("text=Sign out in this tab");
        await page.waitForSelector('button[popovertarget="caller"]', { state: "detached" });
        strictEqual(await page.evaluate("sessionStorage.length"), 0);
        await search(page, "declined");
        await page.waitForSelector("dialog.sign-in[open] #token");
        await page.keyboard.press("Escape");
        await page.waitForSelector("text=The server wants to know who asks");
      }, { allowed: FAILED_REQUESTS }),
  },
  {
    name: "who does not sign in is not asked again by what repeats itself",
    args: ["--tokens", TOKEN],
    test: (lab) =>
      withPage(lab, "jobs", async (page) => {
        const dialog = page.locator("dialog.sign-in[open]");
        await dialog.waitFor();
        // Repeated at once: whatever repeats itself must not open it.
        await page.clock.install();
        await page.keyboard.press("Escape");
        await page.waitForSelector("text=The server wants to know who asks");
        strictEqual(await page.locator("text=Loading").count(), 0);
        await expectAccessible(page);
        await page.clock.runFor(60_000);
        strictEqual(await dialog.count(), 0);
        await page.click("header >> text=Sign in");
        await dialog.waitFor();
        await giveToken(page, TOKEN);
        await page.waitForSelector("text=No batch jobs");
        await page.waitForSelector("text=The server wants to know", { state: "detached" });
      }, { allowed: FAILED_REQUESTS }),
  },
  {
    name: "a link that breaks without a word is noticed, and what was asked is asked again",
    args: [],
    test: (lab) =>
      withPage(lab, QUERY, async (page) => {
        await page.clock.install();
        await rowsAre(page, ["cart emptied", "card declined"]);
        // Nothing fails: no answer comes.
        let looks = 0;
        await page.route(/\/(?:api\/|readyz)/, (route) => {
          if (route.request().url().endsWith("/readyz")) looks += 1;
        });
        await Promise.all([page.waitForRequest("**/api/v1/sql"), search(page, "declined")]);
        await page.clock.runFor(11_000);
        await page.waitForSelector(BANNER);
        // One look may miss a busy server. The third begins once the second has missed it.
        await until(() => looks >= 3);
        await page.unroute(/\/(?:api\/|readyz)/);
        await rowsAre(page, ["card declined"]);
        await page.waitForSelector(BANNER, { state: "detached" });
      }, { allowed: FAILED_REQUESTS }),
  },
  {
    name: "a page waits for its code as for rows, and offers a reload where there is none",
    args: [],
    test: (lab) =>
      withPage(lab, QUERY, async (page) => {
        // A page that routes has no HTTP cache, which another step may have filled.
        await page.route("**/ui/*.js", (route) => route.continue());
        await rowsAre(page, ["cart emptied", "card declined"]);
        await lab.stop();
        await page.click("nav >> text=SQL");
        await page.waitForSelector("text=Loading SQL");
        await page.waitForSelector(BANNER);
        await lab.start();
        await page.waitForSelector(".cm-content");

        await lab.stop();
        await page.click("nav >> text=Traces");
        await page.click("text=Stop waiting");
        await page.waitForSelector("main >> text=The server cannot be reached.");
        await lab.start();
        await page.waitForSelector(BANNER, { state: "detached" });
        await page.click("text=Try again");
        await page.waitForSelector(".traces");

        // An upgrade gives files other names: the page reloads itself, once.
        const documents: string[] = [];
        await page.route("**/ui/tables_page-*", (route) => route.fulfill({ status: 404 }));
        await page.route(/\/ui\/(?:tables|jobs)$/, (route) => {
          documents.push(new URL(route.request().url()).pathname);
          return page.unroute("**/ui/tables_page-*").then(() => route.continue());
        });
        await page.click("nav >> text=Tables");
        await page.getByRole("button", { name: "New index" }).waitFor();
        await page.route("**/ui/jobs_page-*", (route) => route.fulfill({ status: 404 }));
        await page.click("nav >> text=Jobs");
        await page.waitForSelector("text=The server may have a newer page");
        deepStrictEqual(documents, ["/ui/tables", "/ui/jobs"]);
        await expectAccessible(page);
        await page.unroute("**/ui/jobs_page-*");
        await page.click("text=Reload the page");
        await page.waitForSelector("text=No batch jobs");
      }, { allowed: FAILED_REQUESTS }),
  },
  {
    name: "each page tells that a proxy answered with its sign-in, and waits for nothing",
    test: (lab) =>
      withPage(lab, QUERY, async (page) => {
        await rowsAre(page, ["cart emptied", "card declined"]);
        const body = "<!doctype html><title>Sign in</title>";
        await page.route("**/api/v1/**", (route) =>
          route.fulfill({ contentType: "text/html; charset=utf-8", body }));
        await search(page, "declined");
        for (const path of ["", "sql?query=SELECT+1", "traces", "jobs", "tables", "status"]) {
          if (path !== "") {
            await page.goto(`${lab.url}/ui/${path}`);
          }
          await page.locator("text=answered with a page of its own").first().waitFor();
          strictEqual(await page.locator("[aria-busy=true]").count(), 0, path);
          strictEqual(await page.locator("text=/^Loading/").count(), 0, path);
        }
      }),
  },
  {
    name: "the page Status says that it waits, and goes on after an answer that failed",
    test: (lab) =>
      withPage(lab, QUERY, async (page) => {
        await page.clock.install();
        let answers = 0;
        await page.route("**/api/v1/status", async (route) => {
          answers += 1;
          await page.waitForSelector("text=Loading the status");
          if (answers > 1) return await route.continue();
          await route.fulfill({ status: 500, json: { error: "a slip" } });
        });
        await page.click("nav >> text=Status");
        await page.waitForSelector("text=a slip");
        await page.unroute("**/api/v1/status");
        await page.clock.runFor(11_000);
        await page.waitForSelector(".roles");
        strictEqual(await page.locator("text=a slip").count(), 0);
      }, { allowed: FAILED_REQUESTS }),
  },
  {
    name: "the page Status tells what does not get on, and nothing while all is well",
    test: (lab) =>
      withPage(lab, QUERY, async (page) => {
        await page.clock.install();
        const since_ms = Date.UTC(2026, 10, 20, 12);
        const role = "compactor";
        const stalls = [
          { role, kind: "lane", name: "default/events", step: "stage", why: "hangs", since_ms },
          { role, kind: "sweep", name: "svc.events", step: "merge", why: "corrupt", since_ms },
          { role, kind: "thread", name: "writes Parquet", why: "left_behind", since_ms },
          { role, kind: "role", name: role, why: "not_ready", since_ms },
        ];
        await page.route("**/api/v1/status", async (route) => {
          const told = await (await route.fetch()).json();
          await route.fulfill({ json: { ...told, stalls } });
        });
        await page.click("nav >> text=Status");
        for (
          const text of [
            "compactor lane default/events does not get on (hangs in step stage) since",
            "compactor merge of table svc.events does not get on (corrupt) since",
            "compactor has left a thread behind that writes Parquet; it takes a core since",
            "compactor is not ready, and its /readyz says why, since",
          ]
        ) await page.locator(".stalls li", { hasText: text }).waitFor();
        await page.unroute("**/api/v1/status");
        await page.clock.runFor(11_000);
        await page.locator(".stalls").waitFor({ state: "detached" });
      }),
  },
  {
    name: "the page that is shown is in the bar's view, however narrow",
    test: (lab) =>
      withPage(lab, QUERY, async (page) => {
        await page.setViewportSize({ width: 375, height: 720 });
        await page.waitForSelector('button[popovertarget="caller"]');
        const isInView = `(() => {
          const of = (selector) => document.querySelector(selector).getBoundingClientRect();
          const [bar, link] = [of("header nav"), of("header nav [aria-current]")];
          return link.left >= bar.left - 1 && link.right <= bar.right + 1;
        })()`;
        for (const path of ["status", "tables", ""]) {
          await page.goto(`${lab.url}/ui/${path}`);
          await page.waitForSelector('button[popovertarget="caller"]');
          await page.evaluate(PAINTED);
          ok(await page.evaluate(isInView), path);
        }
      }),
  },
  {
    name: "--no-ui serves no page",
    args: ["--no-ui"],
    async test(lab) {
      const answer = await fetch(`${lab.url}/ui/`);
      strictEqual(answer.status, 404);
      await answer.body?.cancel();
    },
  },
];

interface Proxy extends AsyncDisposable {
  readonly url: string;
}

/** A proxy that has the server below `prefix`, and takes that away or not. */
function proxyOf(target: string, prefix: string, strips: boolean): Proxy {
  const server = Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: () => {} }, (request) => {
    const { pathname, search } = new URL(request.url);
    if (!pathname.startsWith(`${prefix}/`)) return new Response("not here", { status: 404 });
    const headers = new Headers(request.headers);
    headers.set("host", new URL(target).host);
    headers.delete("origin");
    const path = strips ? pathname.slice(prefix.length) : pathname;
    return fetch(target + path + search, {
      method: request.method,
      headers,
      body: request.body,
      redirect: "manual",
    });
  });
  return {
    url: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}

async function worksBehindProxy(
  lab: PageLab,
  { strips }: { readonly strips: boolean },
): Promise<void> {
  await using proxy = proxyOf(lab.url, "/tools/logs", strips);
  const at = `${proxy.url}/tools/logs/`;
  const query = `ui/${QUERY}`;
  await withPage(lab, "", async (page) => {
    strictEqual(new URL(page.url()).pathname, "/tools/logs/ui/");
    await page.goto(at + query);
    await rowsAre(page, ["cart emptied", "card declined"]);
    await search(page, "cart");
    await rowsAre(page, ["cart emptied"]);
    ok(new URL(page.url()).pathname.startsWith("/tools/logs/ui/"));
    await page.reload();
    await rowsAre(page, ["cart emptied"]);
  }, { at });
}

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    await using lab = await openLab();
    for (const { name, args, test } of STEPS) {
      if (args !== undefined) await restart(lab, args);
      await t.step(name, () => test(lab));
    }
  },
});
