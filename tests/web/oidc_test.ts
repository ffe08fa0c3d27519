/**
 * Sign-in by OpenID Connect, with a real provider and real windows: the first one, a renewal that
 * nobody sees, and the end of a session under an open page.
 */

import { match, ok, strictEqual } from "node:assert/strict";
import type { Page } from "playwright-core";
import { freePort } from "../../shared/testing/free_ports.ts";
import { until } from "../../shared/testing/until.ts";
import { HAS_CHROMIUM } from "../clients/chromium.ts";
import { expectAccessible } from "./axe.ts";
import { AUDIENCE, CLIENT_ID, issuerUrl, startIssuer } from "./issuer.ts";
import { openPageLab, type PageLab, type PageOptions, withPage } from "./page_lab.ts";

const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const QUERY = "?range=1795132800000..1795140000000";
const DIALOG = "dialog.sign-in[open]";
const FAILED_REQUESTS = /^Failed to load resource/;

const NAME = "sign-in by OpenID Connect in Chromium";

interface Setting {
  readonly lab: PageLab;
  readonly options: PageOptions;
  /** How often in this step. */
  readonly exchanged: { readonly codes: number; readonly refreshes: number };
}

/** Clicks and types as a person does at the issuer, in the window that it has. */
async function signInThere(window: Page): Promise<void> {
  await window.fill('input[name="login"]', "ann");
  await window.fill('input[name="password"]', "any");
  await window.click('button[type="submit"]');
  await window.click('button[type="submit"]:has-text("Continue")');
}

async function signIn(page: Page): Promise<void> {
  const opened = page.waitForEvent("popup");
  await page.click("text=Sign in at 127.0.0.1");
  const window = await opened;
  const closed = window.waitForEvent("close");
  await signInThere(window);
  await closed;
}

/** Makes the token one that the server refuses, and that the page has no reason to doubt. */
const spoilToken = (page: Page) =>
  page.evaluate(`{
    const kept = JSON.parse(sessionStorage.getItem("svc.session"));
    const [head, body] = kept.bearer.split(".");
    const spoilt = { bearer: [head, body, "AAAA"].join("."), expiresAtMs: Date.now() + 1e6 };
    sessionStorage.setItem("svc.session", JSON.stringify({ ...kept, ...spoilt }));
  }`);

const typed = (page: Page) => page.inputValue("#search");
const row = (page: Page) => page.waitForSelector("text=card declined");

/** Steps of one scope stand together: they share a server. */
const STEPS: readonly {
  readonly name: string;
  readonly scope: string;
  readonly test: (setting: Setting) => Promise<void>;
}[] = [
  {
    name: "a page signs in at the issuer, and again when the server refuses its token",
    scope: "openid",
    async test({ lab, options, exchanged }) {
      await withPage(lab, `${QUERY}&q=card`, async (page) => {
        await page.waitForSelector(DIALOG);
        await page.waitForSelector("button:enabled >> text=Sign in at 127.0.0.1");
        await expectAccessible(page, { within: DIALOG });
        await signIn(page);
        await row(page);
        await page.click('button[popovertarget="caller"]');
        match(await page.innerText(".caller"), /Signed in as\s+ann/);
        await page.keyboard.press("Escape");
        await page.reload();
        await row(page);

        await spoilToken(page);
        await page.reload();
        await page.waitForSelector(`${DIALOG} >> text=The server says`);
        strictEqual(await typed(page), "card");
        await page.waitForSelector("button:enabled >> text=Sign in at 127.0.0.1");
        await Promise.all([
          page.waitForEvent("popup").then((window) => window.waitForEvent("close")),
          page.click("text=Sign in at 127.0.0.1"),
        ]);
        await row(page);
        strictEqual(exchanged.codes, 2);
        strictEqual(await page.evaluate("localStorage.length"), 0);
      }, options);
    },
  },
  {
    name: "where no window opens the tab itself goes to the issuer and comes back",
    scope: "openid",
    async test({ lab, options }) {
      await withPage(lab, `${QUERY}&q=card`, async (page) => {
        await page.evaluate("window.open = () => null");
        await page.click("text=Sign in at 127.0.0.1");
        await page.waitForSelector('input[name="login"]');
        await page.fill('input[name="login"]', "ann");
        await page.fill('input[name="password"]', "any");
        await page.click('button[type="submit"]');
        await page.click('button[type="submit"]:has-text("Continue")');
        await row(page);
        strictEqual(await typed(page), "card");
        ok(!page.url().includes("code="));
        // A code that nobody asked for is nobody's.
        await page.goto(`${lab.url}/ui/signed-in?code=x&state=y`);
        await page.waitForSelector("text=You can close this window.");
      }, options);
    },
  },
  {
    name: "a page renews its token without the user, before and after the server refuses it",
    scope: "openid offline_access",
    async test({ lab, options, exchanged }) {
      await withPage(lab, QUERY, async (page) => {
        await page.waitForSelector("button:enabled >> text=Sign in at 127.0.0.1");
        await signIn(page);
        await row(page);
        await page.waitForLoadState("networkidle");
        // The token is made to be one that ends soon.
        await page.evaluate(`sessionStorage.setItem("svc.session", JSON.stringify({
          ...JSON.parse(sessionStorage.getItem("svc.session")), expiresAtMs: Date.now() + 1000 }))`);
        await page.reload();
        await until(() => exchanged.refreshes > 0);
        await row(page);
        // A renewal whose answer a reload loses would spend the refresh token.
        await page.waitForLoadState("networkidle");
        await spoilToken(page);
        const before = exchanged.refreshes;
        await page.reload();
        await row(page);
        ok(exchanged.refreshes > before);
        strictEqual(await page.locator(DIALOG).count(), 0);
        strictEqual(exchanged.codes, 1);
      }, options);
    },
  },
  {
    name: "a refresh token that is spent is tried once, and leads to the sign-in",
    scope: "openid offline_access",
    async test({ lab, options, exchanged }) {
      await withPage(lab, QUERY, async (page) => {
        await page.waitForSelector("button:enabled >> text=Sign in at 127.0.0.1");
        await signIn(page);
        await row(page);
        await spoilToken(page);
        // A reload that loses the answer of a renewal leaves this behind.
        await page.evaluate(`sessionStorage.setItem("svc.session", JSON.stringify({
          ...JSON.parse(sessionStorage.getItem("svc.session")),
          refreshToken: "spent", expiresAtMs: Date.now() + 1000 }))`);
        let tries = 0;
        page.on("request", (request) => {
          if (/grant_type=refresh_token/.test(request.postData() ?? "")) tries += 1;
        });
        await page.reload();
        await page.waitForSelector(`${DIALOG} >> text=The server says`);
        await page.waitForSelector("button:enabled >> text=Sign in at 127.0.0.1");
        const opened = page.waitForEvent("popup");
        await page.click("text=Sign in at 127.0.0.1");
        const window = await opened;
        const closed = window.waitForEvent("close");
        await window.click('button[type="submit"]:has-text("Continue")');
        await closed;
        await row(page);
        strictEqual(tries, 1);
        strictEqual(exchanged.codes, 2);
      }, options);
    },
  },
];

Deno.test({
  name: HAS_CHROMIUM ? NAME : `${NAME} (ignored: chromium is not installed)`,
  ignore: !HAS_CHROMIUM,
  async fn(t) {
    const port = freePort();
    const url = issuerUrl(port);
    const argsOf = (scope: string) => [
      ...["--oidc-issuer", url, "--oidc-audience", AUDIENCE],
      ...["--oidc-client-id", CLIENT_ID, "--oidc-scope", scope],
    ];
    // The issuer must know the page's address, and be there before a server asks it for keys.
    let running: string | undefined;
    await using lab = await openPageLab((lab) =>
      lab.commit([{ ns: START_NS, raw: "card declined" }])
    );
    await using issuer = await startIssuer({
      ...{ port, tokenSecs: 600, refreshSecs: 600 },
      redirectUris: [`${lab.url}/ui/signed-in`],
    });
    const { exchanged } = issuer;
    for (const { name, scope, test } of STEPS) {
      if (scope !== running) {
        await lab.stop();
        await lab.start(argsOf(scope));
        running = scope;
      }
      Object.assign(exchanged, { codes: 0, refreshes: 0 });
      const options = { allowed: FAILED_REQUESTS, other: url };
      await t.step(name, () => test({ lab, options, exchanged }));
    }
  },
});
