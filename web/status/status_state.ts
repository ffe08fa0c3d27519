/** What the page Status shows: the last hour, asked again with each sample while it is shown. */

import { signal } from "@preact/signals";
import { requestJson } from "../api/request.ts";
import { poll } from "../view/poll.ts";
import type { Status } from "./status_answer.ts";

/** Milliseconds between samples. */
const EVERY_MS = 10_000;

export const status = signal<Status | undefined>(undefined);
export const failure = signal<string | undefined>(undefined);

/** Keeps the status new until `signal` ends it. */
export async function followStatus(signal: AbortSignal): Promise<void> {
  const ask = async () => {
    try {
      status.value = await requestJson("status", { signal }) as Status;
      failure.value = undefined;
    } catch (error) {
      // The next answer may be a good one.
      if (!signal.aborted) failure.value = error instanceof Error ? error.message : String(error);
    }
    return true;
  };
  await poll(ask, { leastMs: EVERY_MS, mostMs: EVERY_MS, signal });
}
