/** Asks before a statement runs that reads more than a bound, which the user chooses. */

import { signal } from "@preact/signals";
import type { Cost } from "./sql_requests.ts";

/** What the user says to a statement that is dear. */
export type CostAnswer = "run" | "job" | "no";

/** Bounds that the page offers, in bytes. */
export const COST_BOUNDS: readonly { readonly label: string; readonly bytes: number }[] = [
  { label: "always", bytes: 0 },
  { label: "above 100 MiB", bytes: 100 * 2 ** 20 },
  { label: "above 1 GiB", bytes: 2 ** 30 },
  { label: "above 10 GiB", bytes: 10 * 2 ** 30 },
  { label: "never", bytes: Infinity },
];
const BOUND_DEFAULT = 2 ** 30;
const KEY = "svc.sql.ask_above";

/** Bytes above which the page asks, as this browser keeps it. */
export const costBound = signal(readBound());

export function setCostBound(bytes: number): void {
  costBound.value = bytes;
  localStorage.setItem(KEY, String(bytes));
}

function readBound(): number {
  const kept = localStorage.getItem(KEY);
  const bytes = kept === null ? NaN : Number(kept);
  return COST_BOUNDS.some((bound) => bound.bytes === bytes) ? bytes : BOUND_DEFAULT;
}

/** Whether a statement is asked about before it runs. */
export function asksBefore(cost: Cost, boundBytes: number): boolean {
  return boundBytes === 0 || cost.estimated_bytes_scanned > boundBytes;
}

/** The question that is open now. */
export const openQuestion = signal<
  { readonly cost: Cost; readonly answer: (answer: CostAnswer) => void } | undefined
>(undefined);

/** Asks the user. Errors: the signal's reason. */
export async function costQuestion(cost: Cost, signal: AbortSignal): Promise<CostAnswer> {
  const asked = Promise.withResolvers<CostAnswer>();
  const abort = () => asked.reject(signal.reason);
  signal.addEventListener("abort", abort, { once: true });
  openQuestion.value = { cost, answer: asked.resolve };
  try {
    return await asked.promise;
  } finally {
    signal.removeEventListener("abort", abort);
    openQuestion.value = undefined;
  }
}
