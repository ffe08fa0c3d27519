/**
 * Runs a statement as a batch job: submits it, waits, writes its result. On a terminal one line
 * tells how far it is, and Ctrl-C asks whether to cancel it. In a pipe there is no such line, and
 * Ctrl-C leaves the job running.
 */

import { counted } from "../../shared/base/counted.ts";
import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import { isOpen } from "../../shared/catalog/job_states.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { Console } from "../console.ts";
import { ProgressLine } from "../progress_line.ts";
import { type JobBody, messageLines, type SqlClient } from "./client.ts";
import { printable } from "./display_width.ts";
import { type Extent, showRecords, type StatementOptions } from "./run_statement.ts";
import { milliseconds } from "./statement_report.ts";

export interface JobOptions extends StatementOptions {
  readonly clock: Clock;
  /** Calls what it is given at each Ctrl-C until disposed. */
  readonly onInterrupt: (action: () => void) => Disposable;
  /** A line that the user types; undefined at the end of input. Absent: nobody can be asked. */
  readonly readLine?: (() => Promise<string | undefined>) | undefined;
}

/** Either a statement to submit, or the id of a job that was submitted before. */
export type JobWanted = { readonly query: string } | { readonly id: string };

/** How often the line of progress is renewed. */
const PROGRESS_SECS = 1;
const WAIT_SECS = 20;
/**
 * Pause after an answer that says nothing of the job, as 503; so long without another one ends the
 * wait.
 */
const RETRY_MS = 2_000;
const UNREACHABLE_MS_MAX = 600_000;

/**
 * Errors: the client's; `cancelled` when the user stopped waiting; `internal` for a job that did
 * not succeed.
 */
export async function runJob(
  client: SqlClient,
  wanted: JobWanted,
  console: Console,
  options: JobOptions,
): Promise<Extent> {
  const id = "id" in wanted ? wanted.id : await client.submitJob(wanted.query, options);
  const job = await new JobWait(client, id, console, options).ended();
  if (job.status !== "succeeded") throw failureOf(job);
  const { body } = await client.jobResult(id, options.signal);
  return await showRecords({ body, serverMicros: ranMicros(job) }, console, options);
}

/** How long the statement ran: fetching its rows says nothing of it. */
function ranMicros({ started_at, ended_at }: JobBody): number | undefined {
  if (started_at === undefined || ended_at === undefined) return undefined;
  return 1000 * (Date.parse(ended_at) - Date.parse(started_at));
}

function failureOf({ job_id, status, error }: JobBody): OperatingError {
  const [shown = "", ...more] = messageLines(error ?? "");
  const first = `Job ${job_id} ended as ${status}${shown === "" ? "" : `: ${shown}`}`;
  return new OperatingError("internal", [first, ...more].join("\n"));
}

class JobWait {
  readonly #client: SqlClient;
  readonly #id: string;
  readonly #console: Console;
  readonly #options: JobOptions;
  readonly #line: ProgressLine | undefined;
  readonly #startedMs: number;
  #answeredMs: number;
  /** Ends the request that waits now, so that the user is asked at once. */
  #asking = new AbortController();
  #interrupted = Promise.withResolvers<void>();

  constructor(client: SqlClient, id: string, console: Console, options: JobOptions) {
    this.#client = client;
    this.#id = id;
    this.#console = console;
    this.#options = options;
    const isShown = console.notes.isTerminal && !options.quiet;
    this.#line = isShown ? new ProgressLine(console) : undefined;
    this.#startedMs = options.clock.monotonicMs();
    this.#answeredMs = this.#startedMs;
  }

  async ended(): Promise<JobBody> {
    using _interrupts = this.#options.onInterrupt(() => {
      this.#interrupted.resolve();
      this.#asking.abort();
    });
    try {
      for (;;) {
        const job = await this.#look();
        if (job !== undefined && !isOpen(job.status)) return job;
        if (this.#asking.signal.aborted) await this.#ask();
      }
    } finally {
      await this.#line?.clear();
    }
  }

  /** The job after a while, or as it ended; undefined when there was no answer. */
  async #look(): Promise<JobBody | undefined> {
    const { clock, signal } = this.#options;
    this.#asking = new AbortController();
    const asking = this.#asking.signal;
    const both = signal === undefined ? asking : AbortSignal.any([asking, signal]);
    try {
      const waitSecs = this.#line === undefined ? WAIT_SECS : PROGRESS_SECS;
      const job = await this.#client.job(this.#id, waitSecs, both);
      this.#answeredMs = clock.monotonicMs();
      await this.#line?.show(progressParts(job, this.#answeredMs - this.#startedMs));
      return job;
    } catch (error) {
      if (asking.aborted) return undefined;
      const isPassing = isOperatingError(error, "unavailable") ||
        isOperatingError(error, "rate_limited");
      const silentMs = clock.monotonicMs() - this.#answeredMs;
      if (!isPassing || silentMs > UNREACHABLE_MS_MAX) throw error;
      await this.#line?.show([`job ${this.#id}`, `no answer for ${milliseconds(silentMs)}`]);
      await clock.sleep(RETRY_MS, { signal: both }).catch(() => {}); // Interrupted: the user is asked.
      return undefined;
    }
  }

  /** Errors: `cancelled` unless the user wants to wait on. */
  async #ask(): Promise<void> {
    this.#interrupted = Promise.withResolvers();
    const { readLine } = this.#options;
    if (readLine === undefined) throw this.#left();
    await this.#line?.clear();
    await this.#console.notes.write(
      `Cancel job ${this.#id}? y cancels it, n leaves it running and ends here, Enter waits on: `,
    );
    // A second Ctrl-C is an answer, too: to go.
    const line = await Promise.race([readLine(), this.#interrupted.promise]);
    const answer = line?.trim().toLowerCase();
    if (answer === "") return;
    if (answer !== "y" && answer !== "yes") throw this.#left();
    await this.#client.cancelJob(this.#id);
    throw new OperatingError("cancelled", `Job ${this.#id} is cancelled`);
  }

  #left(): OperatingError {
    return new OperatingError(
      "cancelled",
      `Job ${this.#id} goes on; svc sql --job ${this.#id} waits for it and shows its result`,
    );
  }
}

/** `job 01a1… running · 1,234,567 rows · 42.5 % · 3.20 s` */
function progressParts({ job_id, status, progress }: JobBody, ms: number): string[] {
  const parts = [`job ${printable(job_id)} ${status}`];
  if (progress !== undefined && progress.rows > 0) parts.push(counted(progress.rows, "row"));
  if (progress?.percent !== undefined) parts.push(`${progress.percent} %`);
  parts.push(milliseconds(ms));
  return parts;
}
