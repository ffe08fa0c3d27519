/** Chromium, as the system has it, for tests: none where it is not installed. */

import { type Browser, chromium } from "playwright-core";

const START_MS_MAX = 60_000;

const whole = await pathOf("chromium");
/** Chromium without what is around a page: windows, menus, extensions. */
const shell = await pathOf("chromium-headless-shell");

export const HAS_CHROMIUM = whole !== undefined;

/** Starts the whole browser without a window, with further arguments. */
export function launchChromium(args: readonly string[] = []): Promise<Browser> {
  return launch(whole, args);
}

/**
 * Starts what runs and draws pages, and finds no host but this machine: the shell, where it is
 * installed. For a page in a profile of its own it takes a third of the whole browser's time.
 */
export function launchForPages(): Promise<Browser> {
  return launch(shell ?? whole, [
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1, EXCLUDE localhost",
  ]);
}

async function launch(path: string | undefined, args: readonly string[]): Promise<Browser> {
  if (path === undefined) throw new Error("chromium is not installed");
  return await chromium.launch({
    executablePath: path,
    timeout: START_MS_MAX,
    // The sandbox cannot be had as root and in most containers; the pages are the tests' own.
    args: ["--no-sandbox", ...args],
  });
}

/** Where a program of the system is; undefined: it is not installed. */
async function pathOf(program: string): Promise<string | undefined> {
  const { success, stdout } = await new Deno.Command("sh", {
    args: ["-c", `command -v ${program}`],
  }).output();
  return success ? new TextDecoder().decode(stdout).trim() : undefined;
}
