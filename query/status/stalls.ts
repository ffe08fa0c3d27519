/** What of the servers does not get on, out of their scrapes. */

import { samplesOf } from "./exposition_values.ts";
import type { StatusRole } from "./status_series.ts";

/** Something that stands still; docs/api/query.md#status. */
export interface Stall {
  readonly role: StatusRole;
  readonly kind: "lane" | "sweep" | "thread" | "role";
  /** The lane, the table, what the thread does, or the role. */
  readonly name: string;
  /** The part of a lane's turn, or the sweep's name. */
  readonly step?: string;
  /** `hangs`, `left_behind`, `not_ready`, or the reason of an error. */
  readonly why: string;
  /** Unix milliseconds. */
  readonly since_ms: number;
}

/** The metrics that tell of it, in seconds, and the labels that say what. */
export const STALL_METRICS = [
  { kind: "lane", metric: "svc_drain_stalled_seconds", name: "lane", step: "step", why: "why" },
  {
    kind: "sweep",
    metric: "svc_compactor_sweep_stalled_seconds",
    name: "table",
    step: "sweep",
    why: "why",
  },
  { kind: "thread", metric: "svc_lost_thread_seconds", name: "what" },
] as const;

/** An outage stalls all lanes there are. */
const STALLS_MAX = 50;

/** Whether the role answers and cannot do its work: `/readyz` of the same address says why. */
export function isUnready(role: StatusRole, text: string): boolean {
  return samplesOf(text, `svc_${role}_ready`).some(({ value }) => value === 0);
}

/** The ones that began first, of a scrape at `nowMs`. */
export function stallsOf(role: StatusRole, text: string, nowMs: number): Stall[] {
  return STALL_METRICS.flatMap((one) =>
    samplesOf(text, one.metric).map(({ labels, value }): Stall => ({
      role,
      kind: one.kind,
      name: labels[one.name] ?? "",
      ...("step" in one ? { step: labels[one.step] ?? "" } : {}),
      why: "why" in one ? labels[one.why] ?? "" : "left_behind",
      since_ms: Math.round(nowMs - 1_000 * value),
    }))
  ).toSorted((a, b) => a.since_ms - b.since_ms).slice(0, STALLS_MAX);
}
