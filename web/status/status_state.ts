/** What the page Status shows: the last hour, asked again with each sample while it is shown. */

import { signal } from "@preact/signals";
import { pause } from "../api/pause.ts";
import { requestJson } from "../api/request.ts";

export type Unit = "rows" | "bytes" | "requests" | "seconds" | "segments" | "statements";

export interface Series {
  readonly name: string;
  readonly role: string;
  readonly kind: "rate" | "gauge";
  readonly unit: Unit;
  readonly help: string;
  readonly values: readonly (number | null)[];
}

export interface Role {
  readonly role: string;
  readonly state: "up" | "away" | "not_configured";
}

/** `GET /api/v1/status`: docs/api/query.md#status. */
export interface Status {
  readonly every_secs: number;
  /** Unix milliseconds. */
  readonly times: readonly number[];
  readonly roles: readonly Role[];
  readonly series: readonly Series[];
}

export const status = signal<Status | undefined>(undefined);
export const failure = signal<string | undefined>(undefined);

/** Keeps the status new until `signal` ends it. */
export async function followStatus(signal: AbortSignal): Promise<void> {
  try {
    for (;;) {
      // A server that was just started has one sample, which shows no rate.
      const secs = await read(signal);
      await pause(1_000 * secs, signal);
    }
  } catch (error) {
    if (!signal.aborted) failure.value = error instanceof Error ? error.message : String(error);
  }
}

async function read(signal: AbortSignal): Promise<number> {
  const answer = await requestJson("status", { signal }) as Status;
  status.value = answer;
  failure.value = undefined;
  return answer.every_secs;
}
