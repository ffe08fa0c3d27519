/**
 * The last hour of what the status tells, in a ring: a sample each 10 s, some 40 KiB in all. A
 * restart begins anew.
 */

import type { Clock } from "../../shared/os/clock.ts";
import { valuesOf } from "./exposition_values.ts";
import { isUnready, type Stall, stallsOf } from "./stalls.ts";
import {
  STATUS_ROLES,
  STATUS_SERIES,
  type StatusRole,
  type StatusSeries,
} from "./status_series.ts";

/** Gives a role's metrics as text; undefined: they cannot be had now. */
export type Scrape = (signal: AbortSignal) => Promise<string | undefined>;

/** `GET /api/v1/status`; docs/api/query.md#status. */
export interface StatusReport {
  readonly every_secs: number;
  /** Unix milliseconds of the samples, the oldest first. */
  readonly times: readonly number[];
  readonly roles: readonly {
    readonly role: StatusRole;
    /** `not_configured`: the server was not told where its metrics are. */
    readonly state: "up" | "away" | "not_configured";
  }[];
  readonly series: readonly (Pick<StatusSeries, "name" | "role" | "kind" | "unit" | "help"> & {
    /** A value for each time; null where it is not known. */
    readonly values: readonly (number | null)[];
  })[];
  /** What does not get on, as of the last sample, by when it began. */
  readonly stalls: readonly Stall[];
}

export const SAMPLE_SECS = 10;
const SAMPLES_MAX = 360;
const SCRAPE_MS_MAX = 5_000;

interface Sample {
  readonly ms: number;
  /** A value for each of `STATUS_SERIES`, as the metric has it. */
  readonly values: Float64Array;
  /** Roles whose metrics could be had. */
  readonly up: ReadonlySet<StatusRole>;
}

export interface HistoryOptions {
  readonly clock: Clock;
  readonly scrapes: Readonly<Partial<Record<StatusRole, Scrape>>>;
}

/** Takes samples until it is disposed of. */
export class StatusHistory implements AsyncDisposable {
  readonly #samples: Sample[] = [];
  #stalls: readonly Stall[] = [];
  readonly #over = new AbortController();
  readonly #sampling: Promise<void>;

  constructor(private readonly options: HistoryOptions) {
    this.#sampling = this.#run();
  }

  report(): StatusReport {
    const samples = this.#samples;
    const last = samples.at(-1);
    return {
      every_secs: SAMPLE_SECS,
      times: samples.map(({ ms }) => ms),
      roles: STATUS_ROLES.map((role) => ({
        role,
        state: this.options.scrapes[role] === undefined
          ? "not_configured"
          : last?.up.has(role) === true
          ? "up"
          : "away",
      })),
      series: STATUS_SERIES.map(({ name, role, kind, unit, help }, at) => ({
        name,
        role,
        kind,
        unit,
        help,
        values: kind === "gauge" ? samples.map((one) => known(one, at)) : ratesOf(samples, at),
      })),
      stalls: this.#stalls,
    };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#over.abort();
    await this.#sampling;
  }

  async #run(): Promise<void> {
    const { clock } = this.options;
    const { signal } = this.#over;
    while (!signal.aborted) {
      const startMs = clock.monotonicMs();
      await this.#sample(signal);
      const tookMs = clock.monotonicMs() - startMs;
      await clock.sleep(Math.max(0, 1_000 * SAMPLE_SECS - tookMs), { signal }).catch(() => {});
    }
  }

  async #sample(over: AbortSignal): Promise<void> {
    const values = new Float64Array(STATUS_SERIES.length).fill(NaN);
    const up = new Set<StatusRole>();
    const stalls: Stall[] = [];
    const signal = AbortSignal.any([over, AbortSignal.timeout(SCRAPE_MS_MAX)]);
    await Promise.all(STATUS_ROLES.map(async (role) => {
      const text = await this.options.scrapes[role]?.(signal).catch(() => undefined);
      if (text === undefined) return;
      up.add(role);
      const nowMs = this.options.clock.nowMs();
      stalls.push(...stallsOf(role, text, nowMs));
      if (isUnready(role, text)) stalls.push(this.#unready(role, nowMs));
      const places = [...STATUS_SERIES.keys()].filter((at) => STATUS_SERIES[at]?.role === role);
      const found = valuesOf(text, STATUS_SERIES.filter((one) => one.role === role));
      places.forEach((place, at) => values[place] = found[at] ?? NaN);
    }));
    if (over.aborted) return;
    this.#stalls = stalls.toSorted((a, b) => a.since_ms - b.since_ms);
    this.#samples.push({ ms: this.options.clock.nowMs(), values, up });
    if (this.#samples.length > SAMPLES_MAX) this.#samples.shift();
  }

  /** Since the first sample of those in a row that say so. */
  #unready(role: StatusRole, nowMs: number): Stall {
    const before = this.#stalls.find((one) => one.kind === "role" && one.role === role);
    return before ?? { role, kind: "role", name: role, why: "not_ready", since_ms: nowMs };
  }
}

function known({ values }: Sample, at: number): number | null {
  const value = values[at] ?? NaN;
  return Number.isFinite(value) ? value : null;
}

/** Growth a second; a counter that shrank began anew, and what it has now is its growth. */
function ratesOf(samples: readonly Sample[], at: number): (number | null)[] {
  return samples.map((sample, index) => {
    const before = samples[index - 1];
    const [now, then] = [known(sample, at), before === undefined ? null : known(before, at)];
    if (before === undefined || now === null || then === null) return null;
    const secs = Math.max(0.001, (sample.ms - before.ms) / 1_000);
    return (now < then ? now : now - then) / secs;
  });
}
