/** Each page in a real Firefox, over a real query server: what Chromium's tests cannot see. */

import { deepStrictEqual } from "node:assert/strict";
import { TRACES_SCHEMA } from "../../shared/schema/traces.ts";
import { type Firefox, HAS_FIREFOX, KEY, openFirefox } from "../clients/firefox.ts";
import { openPageServer, type PageServer } from "./page_lab.ts";
import { sqlRows } from "./sql_lab.ts";
import { ORDER, RANGE, traceRows } from "./trace_rows.ts";

const NAME = "the page in Firefox";
const ROWS = 300;
const EDITOR = "document.querySelector('.sql-editor')?.shadowRoot";

/** Path and query of each page, and what is there once it is shown. */
const PAGES: readonly (readonly [string, string])[] = [
  ["?range=7d", ".row"],
  ["?range=7d&view=patterns", ".patterns button"],
  ["sql?query=SELECT+host,+count(*)+AS+n+FROM+events+GROUP+BY+ALL", ".result-table td"],
  [`traces?range=${RANGE}`, ".trace-row"],
  [`traces?range=${RANGE}&view=graph`, ".service-graph .picture"],
  ["jobs", "main h2"],
  ["tables", ".table-list tbody tr"],
  ["status", ".roles"],
];

Deno.test({
  name: HAS_FIREFOX ? NAME : `${NAME} (ignored: firefox-esr is not installed)`,
  ignore: !HAS_FIREFOX,
  async fn(t) {
    await using server = await openServer();
    await using firefox = await openFirefox();
    const at = (path: string) => `${server.url}/ui/${path}`;
    const step = (name: string, test: () => Promise<void>) =>
      t.step(name, async () => {
        await test();
        deepStrictEqual(firefox.faults, []);
      });

    // First, since Firefox caches the scripts of all pages that it has shown.
    await t.step("a page that is opened while the server is away comes with it", async () => {
      await opensWhileAway(firefox, server);
    });
    for (const [path, shown] of PAGES) {
      await step(`/ui/${path} is shown`, async () => {
        await firefox.goTo(at(path));
        await firefox.isTrue(`document.querySelector(${JSON.stringify(shown)}) !== null`);
      });
    }

    await step("the form of an index is opened", async () => {
      await firefox.goTo(at("tables"));
      await firefox.click(".views .main");
      await firefox.isTrue("document.querySelector('dialog[open] input') !== null");
    });

    await step("the Tab key goes from the tools to the rows", async () => {
      await firefox.goTo(at("?range=7d"));
      await firefox.isTrue("document.querySelector('.row') !== null");
      await firefox.isTrue(
        "[...document.querySelectorAll('.tool-bar button')].at(-1).focus() ?? true",
      );
      await firefox.type(KEY.tab);
      await firefox.isTrue("document.activeElement.role === 'grid'");
    });

    await step("a search is typed, and keys open a row", async () => {
      await firefox.goTo(at("?range=7d"));
      await firefox.click("#search");
      await firefox.type(`item/17 ${KEY.enter}`);
      await firefox.isTrue("document.querySelector('.rows[aria-rowcount=\"1\"] .row') !== null");
      await firefox.click(".tool-bar");
      await firefox.type(`j${KEY.enter}`);
      await firefox.isTrue("document.querySelector('.opened') !== null");
    });

    await step("a statement is typed, completion offered, and keys run it", async () => {
      await firefox.goTo(at("sql"));
      await firefox.isTrue(`${EDITOR}?.querySelector(".cm-content") != null`);
      await firefox.click(".sql-editor");
      // The tab keeps the text of the statement before.
      await firefox.chord(`${KEY.control}a`);
      await firefox.type("SELECT count(*) AS n FROM even");
      await firefox.isTrue(
        `${EDITOR}.querySelector(".cm-completionLabel")?.innerText === "events"`,
      );
      await firefox.type("ts");
      await firefox.chord(KEY.control + KEY.enter);
      await firefox.isTrue(`document.querySelector("tbody")?.innerText.includes("${ROWS}")`);
    });
  },
});

function openServer(): Promise<PageServer> {
  return openPageServer(async (lab) => {
    await lab.commit(sqlRows(ROWS));
    await lab.commitRows(traceRows(1, 0, ORDER), {
      ident: { namespace: "svc", name: "traces" },
      schema: TRACES_SCHEMA,
    });
  });
}

/** Firefox does not ask again for a script that it failed to load. */
async function opensWhileAway(firefox: Firefox, server: PageServer): Promise<void> {
  await firefox.goTo(`${server.url}/ui/?range=7d`);
  await firefox.isTrue("document.querySelector('.row') !== null");
  await server.stop();
  await firefox.click('nav a[href*="jobs"]');
  await firefox.isTrue("document.querySelector('.server-banner:not([hidden])') !== null");
  await server.start();
  await firefox.isTrue("document.querySelector('main h2') !== null");
}
