/**
 * `deno task screenshots`: makes the pictures of README.md from a running stack with an hour of
 * demo data, dark and light. Arguments name pictures; without any all are made.
 */

import { join } from "node:path";
import type { Browser } from "playwright-core";
import { launchChromium } from "../clients/chromium.ts";
import { startDemoStack } from "./demo_stack.ts";
import { buildPage } from "./page_lab.ts";
import { type Picture, PICTURES, THEMES } from "./pictures.ts";

const FOLDER = join(import.meta.dirname ?? ".", "../../docs/pictures");
const VIEWPORT = { width: 1280, height: 720 };
const SEED = 7;
const EVENTS = 20_000;
const TRACES = 400;
/** The status shows rates from its third sample on; rows come meanwhile. */
const TRICKLE_ROUNDS = 30;
const TRICKLE_MS = 2_000;

if (import.meta.main) await takePictures(Deno.args);

async function takePictures(names: readonly string[]): Promise<void> {
  const wanted = PICTURES.filter(({ name }) => names.length === 0 || names.includes(name));
  await buildPage();
  await Deno.mkdir(FOLDER, { recursive: true });
  await using demo = await startDemoStack({ seed: SEED, events: EVENTS, traces: TRACES });
  if (wanted.some(({ name }) => name === "status")) {
    for (let round = 0; round < TRICKLE_ROUNDS; round += 1) {
      const rows = 200 + 50 * (round % 7);
      await demo.stack.sendLogs(Array.from({ length: rows }, () => "heartbeat"), {
        commit: "auto",
      });
      await new Promise((resolve) => setTimeout(resolve, TRICKLE_MS));
    }
  }
  const browser = await launchChromium();
  try {
    for (const picture of wanted) {
      for (const theme of THEMES) {
        await takePicture(browser, { picture, theme, url: demo.stack.queryUrl });
      }
    }
  } finally {
    await browser.close();
  }
}

async function takePicture(
  browser: Browser,
  { picture, theme, url }: {
    readonly picture: Picture;
    readonly theme: typeof THEMES[number];
    readonly url: string;
  },
): Promise<void> {
  const context = await browser.newContext({
    viewport: VIEWPORT,
    colorScheme: theme,
    timezoneId: "UTC",
    locale: "en-US",
  });
  const page = await context.newPage();
  await page.goto(`${url}/ui/${picture.address}`);
  await page.waitForSelector(picture.ready);
  await picture.act?.(page);
  await page.waitForLoadState("networkidle");
  await page.screenshot({ path: join(FOLDER, `${picture.name}-${theme}.png`) });
  await context.close();
}
