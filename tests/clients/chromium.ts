/** Chromium, as the system has it, for tests: none where it is not installed. */

import { type Browser, chromium } from "playwright-core";
import { isInstalled } from "./programs.ts";

const PROGRAM = "chromium";
const START_MS_MAX = 60_000;

export const HAS_CHROMIUM = await isInstalled(PROGRAM);

/** Starts it without a window, with further arguments. */
export async function launchChromium(args: readonly string[] = []): Promise<Browser> {
  const { stdout } = await new Deno.Command("sh", { args: ["-c", `command -v ${PROGRAM}`] })
    .output();
  return await chromium.launch({
    executablePath: new TextDecoder().decode(stdout).trim(),
    timeout: START_MS_MAX,
    // The sandbox cannot be had as root and in most containers; the pages are the tests' own.
    args: ["--no-sandbox", ...args],
  });
}
