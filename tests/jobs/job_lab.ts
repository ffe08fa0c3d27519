/**
 * Query servers, as far as batch jobs go, over one job store and one clock. Calls of the store can
 * be held up, fail, or take effect without an answer. For tests.
 */

import { join } from "node:path";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import type { JobRow, JobStore } from "../../shared/catalog/job_store.ts";
import { openJobStore } from "../../shared/catalog/open_job_store.ts";
import type { Clock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { openLocalStore } from "../../shared/storage/local_store.ts";
import { Admission } from "../../query/admission/admission.ts";
import { FakeEngine, type FakeEngineOptions } from "../doubles/fake_engine.ts";
import { OPTIONS } from "../../query/flags.ts";
import { BATCH_TIER, effectiveLimits, type RequestedLimits } from "../../query/limits.ts";
import { createQueryMetrics } from "../../query/metrics/metrics.ts";
import type { QueryRecord } from "../../query/query_record.ts";
import { parseSqlRequest } from "../../query/sql/sql_request.ts";
import { BatchJobs } from "../../query/jobs/batch_jobs.ts";
import { guardedStore } from "../../query/jobs/guarded_store.ts";
import { JobEnds } from "../../query/jobs/job_ends.ts";
import { JobExecutor } from "../../query/jobs/job_executor.ts";
import { JobSweeps } from "../../query/jobs/job_sweeps.ts";
import { WAIT_LOOK_MS } from "../../query/jobs/limits.ts";
import { type OpenParts, WarehouseParts } from "../../query/jobs/result_parts.ts";
import { TerminalWrites } from "../../query/jobs/terminal_writes.ts";

export const NAMESPACE = "acme";
export const BUDGET_BYTES = 64 * 1024 ** 2;
const SHARE_DIVISOR = 4;
export const SHARE_BYTES = BUDGET_BYTES / SHARE_DIVISOR;
export const ADMISSION_WAIT_MS = 2_000;
const SETTINGS = parseOptions(OPTIONS, []);
export const LEASE_MS = SETTINGS.jobsOwnerLeaseSecs * 1000;
export const CANCEL_POLL_MS = SETTINGS.jobsCancelPollSecs * 1000;
export const OWNERLESS_GRACE_MS = SETTINGS.jobsOwnerlessGraceSecs * 1000;

/** What becomes of a call: `fail` before it does anything, `lose` its answer, `hang` forever. */
export type Fault = "fail" | "lose" | "hang" | undefined;

export class JobLab<C extends Clock> implements AsyncDisposable {
  #servers = 0;

  private constructor(
    /** A folder of its own, with the warehouse in it. */
    readonly dir: string,
    readonly clock: C,
    readonly store: JobStore,
  ) {}

  static async open<C extends Clock>(clock: C): Promise<JobLab<C>> {
    const dir = await Deno.makeTempDir({ prefix: "svc-job-lab-" });
    return new JobLab(dir, clock, await openJobStore(join(dir, "jobs.db"), { clock }));
  }

  /** One more server; it ends with the lab, or is lost before. */
  server(options: FakeEngineOptions = {}): LabServer {
    this.#servers += 1;
    return new LabServer(this, { name: `server-${this.#servers}`, dir: this.dir, options });
  }

  async job(id: string): Promise<JobRow | undefined> {
    return await this.store.job(NAMESPACE, id);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.store[Symbol.asyncDispose]();
    await Deno.remove(this.dir, { recursive: true });
  }
}

interface LabServerOptions {
  readonly name: string;
  readonly dir: string;
  readonly options: FakeEngineOptions;
}

export class LabServer {
  readonly name: string;
  readonly engine: FakeEngine;
  readonly admission: Admission;
  readonly executor: JobExecutor;
  readonly sweeps: JobSweeps;
  readonly writes: TerminalWrites;
  readonly jobs: BatchJobs;
  readonly parts: WarehouseParts;
  readonly records: QueryRecord[] = [];
  readonly metrics = createQueryMetrics({ version: "0", role: "query" });
  /** Calls of the store in their order. */
  readonly calls: string[] = [];
  /** Decides what becomes of a call; a promise holds it up. */
  fault: (call: keyof JobStore) => Fault | Promise<Fault> = () => undefined;
  /** Decides what becomes of a call for files in the warehouse. */
  partFault: () => Fault = () => undefined;

  constructor(readonly lab: JobLab<Clock>, { name, dir, options }: LabServerOptions) {
    const { clock } = lab;
    const { metrics } = this;
    this.name = name;
    this.engine = new FakeEngine(options);
    this.admission = new Admission({
      budgetBytes: BUDGET_BYTES,
      shareDivisor: SHARE_DIVISOR,
      waitMs: ADMISSION_WAIT_MS,
      dearWaitMs: ADMISSION_WAIT_MS,
      clock,
      metrics,
    });
    const store = guardedStore({ open: () => Promise.resolve(this.#faulty(lab.store)), metrics });
    const parts = new FaultyParts(this, dir);
    this.parts = parts;
    const observer = { completed: (record: QueryRecord) => void this.records.push(record) };
    const calls = { engine: this.engine, admission: this.admission, metrics, clock, observer };
    this.writes = new TerminalWrites({ store, owner: name, clock, metrics });
    const ends = new JobEnds(clock);
    const { writes } = this;
    const shared = { store, parts, metrics, owner: name, leaseMs: LEASE_MS, writes, ends };
    this.executor = new JobExecutor({ ...shared, calls, cancelPollMs: CANCEL_POLL_MS });
    const { executor, admission } = this;
    this.sweeps = new JobSweeps({
      ...shared,
      clock,
      recoverEveryMs: LEASE_MS / 3,
      ownerlessGraceMs: OWNERLESS_GRACE_MS,
      own: () => executor.ids,
      exists: () => Promise.resolve(true),
    });
    const random = new SystemRandom();
    this.jobs = new BatchJobs({
      ...shared,
      executor,
      admission,
      clock,
      random,
      lookMs: WAIT_LOOK_MS,
    });
  }

  submit(query = "SELECT n FROM t", limits: RequestedLimits = {}): Promise<string> {
    return this.jobs.submit({
      asked: parseSqlRequest(
        new TextEncoder().encode(JSON.stringify({ query, priority: "batch" })),
      ),
      limits: effectiveLimits(limits, BATCH_TIER),
      made: { caller: { tenant: NAMESPACE, namespace: NAMESPACE }, endpoint: "sql" },
      signal: new AbortController().signal,
    });
  }

  get reservedBytes(): number {
    return this.admission.state().reserved_bytes;
  }

  /** Nothing that it calls has an effect any more, and it hears nothing: as after SIGKILL. */
  kill(): void {
    this.fault = () => "hang";
  }

  /** The rows that a client gets. */
  async rowsOf(id: string): Promise<unknown> {
    const { head, rows, tail, parts } = await this.jobs.result(NAMESPACE, id);
    const texts = await Promise.all(
      Array.from(
        { length: parts },
        async (_, part) => new TextDecoder().decode(await this.jobs.resultPart(id, part)),
      ),
    );
    return JSON.parse(`${head}${rows ?? texts.join(",")}${tail}`).rows;
  }

  #faulty(store: JobStore): JobStore {
    return new Proxy(store, {
      get: (target, name) => {
        if (!(name in target)) return undefined; // `then` is missing: it is no promise.
        const call = name as Exclude<keyof JobStore, symbol>;
        const action = target[call] as (...args: unknown[]) => Promise<unknown>;
        return async (...args: unknown[]) => {
          this.calls.push(call);
          return await faulted(await this.fault(call), () => action.apply(target, args));
        };
      },
    });
  }
}

class FaultyParts extends WarehouseParts {
  constructor(private readonly server: LabServer, dir: string) {
    super((): Promise<OpenParts> => {
      const store = openLocalStore(new DenoFileSystem(), join(dir, "warehouse"));
      const encoder = INLINE_PARQUET_ENCODER;
      return Promise.resolve({ store, encoder, [Symbol.asyncDispose]: () => Promise.resolve() });
    }, { namespace: "svc" });
  }

  override put(...args: Parameters<WarehouseParts["put"]>): Promise<void> {
    return faulted(this.server.partFault(), () => super.put(...args));
  }
}

async function faulted<T>(fault: Fault, action: () => Promise<T>): Promise<T> {
  if (fault === "hang") return await new Promise(() => {});
  if (fault === "fail") throw new OperatingError("unavailable", "the store is away");
  const answer = await action();
  if (fault === "lose") throw new OperatingError("unavailable", "the connection broke");
  return answer;
}
