/**
 * `deno task screenshots`: makes the pictures of README.md from a running stack with an hour of
 * demo data, dark and light. Arguments name pictures; without any all are made.
 */

import type { Buffer } from "node:buffer";
import { join } from "node:path";
import type { Browser } from "playwright-core";
import { seedDemo } from "../../cli/dev/seed_demo.ts";
import { utf8 } from "../../shared/base/bytes.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { launchChromium } from "../clients/chromium.ts";
import { startDemoStack } from "./demo_stack.ts";
import { buildPage } from "./page_lab.ts";
import { type Picture, PICTURES, THEMES } from "./pictures.ts";

const FOLDER = join(import.meta.dirname ?? ".", "../../docs/pictures");
const VIEWPORT = { width: 1280, height: 720 };
const SEED = 7;
const EVENTS = 20_000;
const TRACES = 400;

if (import.meta.main) await takePictures(Deno.args);

async function takePictures(names: readonly string[]): Promise<void> {
  const wanted = PICTURES.filter(({ name }) => names.length === 0 || names.includes(name));
  await buildPage();
  await Deno.mkdir(FOLDER, { recursive: true });
  await using demo = await startDemoStack({ seed: SEED, events: EVENTS, traces: TRACES });
  const browser = await launchChromium();
  try {
    for (const picture of wanted) {
      for (const theme of THEMES) {
        const rows = new AbortController();
        const sent = picture.isLive === true
          ? sendOn(demo.stack.ingestUrl, rows.signal)
          : undefined;
        await takePicture(browser, { picture, theme, url: demo.stack.queryUrl });
        rows.abort();
        await sent;
      }
    }
  } finally {
    await browser.close();
  }
}

/** Sends rows as `svc dev --seed-demo` does. */
async function sendOn(ingestUrl: string, signal: AbortSignal): Promise<void> {
  const note = (text: string) => void Deno.stderr.writeSync(utf8(`${text}\n`));
  await seedDemo({ ingestUrl, clock: new SystemClock(), seed: SEED, signal, note });
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
  // Live rows never end.
  if (picture.isLive !== true) await page.waitForLoadState("networkidle");
  const webp = await losslessWebp(browser, await page.screenshot());
  await Deno.writeFile(join(FOLDER, `${picture.name}-${theme}.webp`), webp);
  await context.close();
}

/** A PNG in fewer bytes: the WebP of quality 1 that Chromium writes is lossless. */
async function losslessWebp(browser: Browser, png: Buffer): Promise<Uint8Array> {
  const page = await browser.newPage();
  const base64 = await page.evaluate<string>(`(async () => {
    const image = new Image();
    image.src = "data:image/png;base64,${png.toString("base64")}";
    await image.decode();
    const canvas = document.createElement("canvas");
    [canvas.width, canvas.height] = [image.width, image.height];
    canvas.getContext("2d").drawImage(image, 0, 0);
    return canvas.toDataURL("image/webp", 1).split(",")[1];
  })()`);
  await page.close();
  return Uint8Array.fromBase64(base64);
}
