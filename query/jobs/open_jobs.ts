/**
 * The batch jobs of a running query server: store, results, executor and sweeps, from its settings.
 */

import { getLogger } from "@logtape/logtape";
import { isPostgresUri } from "../../shared/catalog/catalog_uri.ts";
import { JOB_RESULTS_FOLDER } from "../../shared/catalog/job_store.ts";
import { listenToJobEnds, openJobStore } from "../../shared/catalog/open_job_store.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { environment } from "../../shared/os/environment.ts";
import { SystemRandom, uuidV4 } from "../../shared/os/random.ts";
import { openParquetEncoder } from "../../shared/parquet/parquet_encoder.ts";
import { openStore } from "../../shared/storage/open_store.ts";
import type { Admission } from "../admission/admission.ts";
import type { QuerySettings } from "../flags.ts";
import { queryPaths } from "../query_paths.ts";
import type { QueryMetrics } from "../metrics/metrics.ts";
import type { CallService } from "../sql/sql_call.ts";
import { BatchJobs } from "./batch_jobs.ts";
import { guardedStore } from "./guarded_store.ts";
import { JobEnds } from "./job_ends.ts";
import { JobExecutor } from "./job_executor.ts";
import { JobSweeps } from "./job_sweeps.ts";
import { TOLD_WAIT_LOOK_MS, WAIT_LOOK_MS } from "./limits.ts";
import { type OpenParts, WarehouseParts } from "./result_parts.ts";
import { TerminalWrites } from "./terminal_writes.ts";

/** Batch jobs of a running server. */
export interface OpenJobs extends AsyncDisposable {
  readonly desk: BatchJobs;
}

/** What jobs need of the server besides its settings. */
export interface OpenJobsDeps {
  readonly calls: CallService;
  readonly admission: Admission;
  readonly metrics: QueryMetrics;
}

/**
 * Opens batch jobs without making a store: the first job makes it. Disposing the result stops the
 * jobs that run.
 */
export function openJobs(settings: QuerySettings, deps: OpenJobsDeps): OpenJobs {
  const { calls, metrics, admission } = deps;
  const { clock } = calls;
  const random = new SystemRandom();
  const files = new DenoFileSystem();
  const { jobs: place, warehouse } = queryPaths(settings);
  const owner = uuidV4(random);
  const leaseMs = settings.jobsOwnerLeaseSecs * 1000;
  const closing = new AsyncDisposableStack();
  const store = closing.use(guardedStore({ open: () => openJobStore(place, { files }), metrics }));
  const namespace = settings.tenantNamespace;
  const openParts = (): Promise<OpenParts> => {
    const { store } = openStore(
      warehouse,
      { files, clock, random, env: environment },
      { unfinishedBelow: `${namespace}/${JOB_RESULTS_FOLDER}`, keepsRoom: true },
    );
    const encoder = openParquetEncoder();
    return Promise.resolve({
      store,
      encoder,
      [Symbol.asyncDispose]: () => Promise.resolve(encoder[Symbol.dispose]()),
    });
  };
  const parts = closing.use(new WarehouseParts(openParts, { namespace }));
  const ends = new JobEnds(clock);
  const writes = new TerminalWrites({ store, owner, clock, metrics });
  const shared = { store, parts, metrics, owner, leaseMs, writes, ends };
  const executor = closing.use(
    new JobExecutor({ ...shared, calls, cancelPollMs: settings.jobsCancelPollSecs * 1000 }),
  );
  const isRemote = isPostgresUri(place);
  closing.use(
    new JobSweeps({
      ...shared,
      clock,
      recoverEveryMs: leaseMs / 3,
      ownerlessGraceMs: settings.jobsOwnerlessGraceSecs * 1000,
      own: () => executor.ids,
      exists: async () => isRemote || await files.exists(place),
    }),
  );
  closing.use(
    listenToJobEnds(place, (id) => {
      ends.tell(id);
      executor.heard(id);
    }),
  );
  const lookMs = isRemote ? TOLD_WAIT_LOOK_MS : WAIT_LOOK_MS;
  const desk = new BatchJobs({ ...shared, executor, admission, clock, random, lookMs });
  getLogger(["svc", "query"]).info("batch jobs of this server have the owner {owner}", { owner });
  return { desk, [Symbol.asyncDispose]: () => closing.disposeAsync() };
}
