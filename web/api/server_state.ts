/**
 * Whether the server answers. What may be asked again waits while it is away, and goes on by itself
 * once it is back.
 */

import { signal } from "@preact/signals";
import { pause } from "./pause.ts";
import { settledOrAborted } from "./settled_or_aborted.ts";

/** `away`: requests wait. `given_up`: it is away, and the user does not want to wait. */
export type ServerState = "here" | "away" | "given_up";

export const serverState = signal<ServerState>("here");

const POLL_MS_MIN = 500;
const POLL_MS_MAX = 5_000;
const POLL_ANSWER_MS_MAX = 5_000;

/** The page lies beside the probes, whatever path a proxy puts before both. */
const READY = "../readyz";

/** A server that misses one look may be busy. */
const AWAY_LOOKS = 2;

let isLooking = false;
/** How often it was away, as far as anybody looked. */
let absences = 0;
/** Whether it is back; false when the user stops waiting. */
let back = Promise.withResolvers<boolean>();
let hurry = new AbortController();

/**
 * Waits until the server answers. Returns false when the user stops waiting. Errors: the signal's
 * reason.
 */
export async function untilBack(signal: AbortSignal): Promise<boolean> {
  const { promise } = back;
  noteServerAway();
  return await settledOrAborted(promise, signal);
}

/**
 * Looks whether the server answers. Returns false if it does, and true once it is back, or the user
 * stops waiting. Errors: the signal's reason.
 */
export async function wasAway(signal: AbortSignal): Promise<boolean> {
  const before = absences;
  return !await untilBack(signal) || absences > before;
}

/** A request found the server away: it is looked for from now on. */
export function noteServerAway(): void {
  if (serverState.peek() === "given_up") serverState.value = "away";
  if (isLooking) return;
  isLooking = true;
  look();
}

/** The server answered a request. */
export function noteServerHere(): void {
  if (isLooking) lookForServer();
}

/** Looks at once whether the server is back. */
export function lookForServer(): void {
  hurry.abort();
}

/** What waits for the server fails; whether it is back is still looked for. */
export function stopWaiting(): void {
  serverState.value = "given_up";
  tell(false);
}

async function look(): Promise<void> {
  let waitMs = POLL_MS_MIN;
  for (let looks = 1; !await isReady(); looks += 1) {
    if (looks === AWAY_LOOKS) absences += 1;
    if (serverState.peek() === "here") serverState.value = "away";
    hurry = new AbortController();
    await pause(waitMs, hurry.signal).catch(() => {});
    waitMs = Math.min(2 * waitMs, POLL_MS_MAX);
  }
  isLooking = false;
  serverState.value = "here";
  tell(true);
}

function tell(isBack: boolean): void {
  const { resolve } = back;
  back = Promise.withResolvers();
  resolve(isBack);
}

/** A proxy may keep probes for itself, so whatever is no failure of a server counts. */
async function isReady(): Promise<boolean> {
  const signal = AbortSignal.timeout(POLL_ANSWER_MS_MAX);
  const response = await fetch(new URL(READY, location.href), { signal, cache: "no-store" })
    .catch(() => undefined);
  await response?.body?.cancel();
  return response !== undefined && response.status < 500;
}

addEventListener("online", lookForServer);
