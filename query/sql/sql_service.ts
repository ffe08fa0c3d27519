/** What the routes of SQL and of trace lookup are given. */

import type { ByteBudget } from "../../shared/base/byte_budget.ts";
import type { JobTaker } from "../jobs/batch_jobs.ts";
import type { CallService } from "./sql_call.ts";

/** What answering SQL needs. */
export interface SqlService extends CallService {
  readonly jobs: JobTaker;
  /** The server's ceiling of `limits.max_rows_returned`. */
  readonly rowsCeiling: number;
  /** A stream is given up when its client takes nothing for so long. */
  readonly stallMsMax: number;
  /** What buffered answers may hold together. */
  readonly answers: ByteBudget;
}
