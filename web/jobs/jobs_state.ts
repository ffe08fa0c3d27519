/** What the page Jobs shows. The address has the job that is open. */

import { batch, signal } from "@preact/signals";
import { RequestError } from "../api/request.ts";
import { noteQuery } from "../frame/router.ts";
import { poll } from "../view/poll.ts";
import { saveFile } from "../view/save_file.ts";
import {
  cancelJob,
  fetchJob,
  isOpen,
  type Job,
  JOBS_MAX,
  listJobs,
  resultFile,
  type ResultTop,
  resultTop,
} from "./job_client.ts";

/** Rows of a result that the page shows. */
export const ROWS_MAX = 500;
const TIMES = { leastMs: 1_000, mostMs: 15_000 };

export const jobs = signal<readonly Job[] | undefined>(undefined);
export const hasOlder = signal(false);
export const listFailure = signal<string | undefined>(undefined);
/** Id of the open job. */
export const openId = signal<string | undefined>(undefined);
export const job = signal<Job | undefined>(undefined);
export const jobFailure = signal<string | undefined>(undefined);
export const result = signal<ResultTop | undefined>(undefined);
export const resultFailure = signal<string | undefined>(undefined);
/** What is done with the open job. */
export const doing = signal<"cancelling" | "downloading" | undefined>(undefined);

/** Jobs that were asked for as older ones: they have ended long ago. */
let older: readonly Job[] = [];
let opened = new AbortController();
let polling = new AbortController();

/** Follows the jobs until the result is called. */
export function followJobs(): () => void {
  polling.abort();
  polling = new AbortController();
  const { signal } = polling;
  poll(() => refresh(signal), { ...TIMES, signal });
  return () => polling.abort();
}

/** Asks for the jobs now. */
function refreshNow(): void {
  followJobs();
}

/** Shows the job that the address names. */
export function readAddress(asked: URLSearchParams): void {
  show(asked.get("job") ?? undefined);
}

/** Opens a job, or closes the one that is open. */
export function openJob(id: string | undefined): void {
  noteQuery(new URLSearchParams(id === undefined ? {} : { job: id }));
  show(id);
}

function show(id: string | undefined): void {
  if (id === openId.value) return;
  opened.abort();
  opened = new AbortController();
  batch(() => {
    openId.value = id;
    job.value = jobs.value?.find((one) => one.job_id === id);
    jobFailure.value = undefined;
    result.value = undefined;
    resultFailure.value = undefined;
    doing.value = undefined;
  });
  if (id !== undefined) loadJob(id);
}

export async function loadOlder(): Promise<void> {
  const before = jobs.value?.at(-1)?.job_id;
  if (before === undefined) return;
  await told(listFailure, async () => {
    const more = await listJobs(polling.signal, before);
    older = [...older, ...more];
    hasOlder.value = more.length === JOBS_MAX;
    jobs.value = [...jobs.value ?? [], ...more];
  });
}

export async function cancel(id: string): Promise<void> {
  const { signal } = opened;
  doing.value = "cancelling";
  await told(jobFailure, () => cancelJob(id, signal));
  doing.value = undefined;
  refreshNow();
  if (id === openId.value) await loadJob(id);
}

/** Saves the whole result of the open job. */
export async function download(id: string, format: "json" | "csv"): Promise<void> {
  const { signal } = opened;
  doing.value = "downloading";
  await told(resultFailure, async () => {
    saveFile(await resultFile(id, { signal, format }), `job-${id.slice(0, 8)}.${format}`);
  });
  if (!signal.aborted) doing.value = undefined;
}

async function refresh(signal: AbortSignal): Promise<boolean> {
  let hasChanged = false;
  await told(listFailure, async () => {
    const newest = await listJobs(signal);
    const known = new Set(newest.map(({ job_id }) => job_id));
    const next = [...newest, ...older.filter(({ job_id }) => !known.has(job_id))];
    hasChanged = JSON.stringify(next) !== JSON.stringify(jobs.value);
    if (older.length === 0) hasOlder.value = newest.length === JOBS_MAX;
    if (hasChanged) jobs.value = next;
  });
  const before = job.value;
  if (before !== undefined && isOpen(before)) await loadJob(before.job_id);
  return hasChanged || (jobs.value ?? []).some(isOpen);
}

async function loadJob(id: string): Promise<void> {
  const { signal } = opened;
  await told(jobFailure, async () => {
    const next = await fetchJob(id, signal);
    job.value = next;
    if (next.status !== "succeeded" || result.value !== undefined) return;
    await told(resultFailure, async () => {
      result.value = await resultTop(id, { signal, rowsMax: ROWS_MAX });
    });
  });
}

/** Runs `act`, and tells what fails where it is shown. What was aborted tells nothing. */
async function told(
  failure: { value: string | undefined },
  act: () => Promise<void>,
): Promise<void> {
  const signals = [opened.signal, polling.signal];
  try {
    await act();
    failure.value = undefined;
  } catch (error) {
    if (signals.some(({ aborted }) => aborted)) return;
    if (!(error instanceof RequestError) && !(error instanceof SyntaxError)) throw error;
    failure.value = error instanceof RequestError && error.status === 404
      ? "There is no such job. It may have ended more than 24 hours ago."
      : error.message;
  }
}
