/**
 * What the delete-task routes do. A predicate is checked against the table as it is now, and
 * recorded for the compactor.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { CatalogReader } from "../../shared/catalog/catalog.ts";
import type { DeleteLedger, DeleteTask } from "../../shared/catalog/delete_ledger.ts";
import type { Engine } from "../../shared/engine/types.ts";
import { BUILT_IN_TABLES } from "../../shared/schema/built_in_tables.ts";
import { QUERY_AUDIT_TABLE } from "../../shared/schema/query_audit.ts";
import { type Random, uuidV4 } from "../../shared/os/random.ts";
import type { QueryCaller } from "../query_caller.ts";
import type { DeleteRequest } from "./delete_task_body.ts";

/** Tasks of one tenant that have not ended; one more is refused with 429. */
const UNFINISHED_MAX = 1_000;
/** Tasks that a list shows: the newest. */
const LISTED_MAX = 1_000;
const CHECK_DEADLINE_MS = 30_000;
const RETRY_AFTER_SECS = 5;

/** What checks a predicate, and what keeps the tasks. */
export interface DeleteTasksDeps {
  readonly engine: Pick<Engine, "checkPredicate">;
  readonly catalog: Pick<CatalogReader, "indexState">;
  /** Opens the catalog for writing with the first request. */
  readonly ledger: () => Promise<DeleteLedger>;
  readonly random: Random;
}

/** Delete tasks of the caller's namespace. Errors of all methods: `unavailable`, `corrupt`. */
export class DeleteTasks {
  readonly #deps: DeleteTasksDeps;

  constructor(deps: DeleteTasksDeps) {
    this.#deps = deps;
  }

  /**
   * Records a task and returns it. Errors: `permission_denied` for the audit's table;
   * `invalid_argument` for the predicate; `not_found` (`unknown_index`); `rate_limited`.
   */
  async submit(
    caller: Pick<QueryCaller, "namespace" | "tenant">,
    request: DeleteRequest,
    signal: AbortSignal,
  ): Promise<DeleteTask> {
    const { engine, catalog, random } = this.#deps;
    const { indexId: name, predicate, startNs, endNs } = request;
    if (name.toLowerCase() === QUERY_AUDIT_TABLE) throw auditRefused();
    const ident = { namespace: caller.namespace, name };
    // The epoch is read before the check. An index that is dropped and made again in between has
    // another epoch, and its rows are spared.
    const epoch = BUILT_IN_TABLES.has(name) ? 0 : (await catalog.indexState(ident)).epoch;
    const { tableUuid } = await engine.checkPredicate({
      predicate,
      namespace: caller.namespace,
      tenant: caller.tenant,
      table: name,
      deadlineMs: CHECK_DEADLINE_MS,
      signal,
    });
    const ledger = await this.#deps.ledger();
    const taskId = uuidV4(random);
    const task = await ledger.submit(
      { taskId, ident, tableUuid, epoch, predicate, startNs, endNs },
      UNFINISHED_MAX,
    );
    if (task !== undefined) return task;
    throw new OperatingError(
      "rate_limited",
      `Cannot take in another delete task: ${UNFINISHED_MAX} have not ended yet; wait, or delete ` +
        "more with one predicate",
      { reason: "delete_tasks_full", retryAfterSecs: RETRY_AFTER_SECS },
    );
  }

  /** The tasks of the namespace, newest first. */
  async list(namespace: string): Promise<readonly DeleteTask[]> {
    return await (await this.#deps.ledger()).list(namespace, LISTED_MAX);
  }

  /** One task. Errors: `not_found`. */
  async get(namespace: string, taskId: string): Promise<DeleteTask> {
    const task = await (await this.#deps.ledger()).find(namespace, taskId);
    if (task !== undefined) return task;
    throw new OperatingError("not_found", `Cannot find delete task ${taskId}`, {
      reason: "unknown_delete_task",
    });
  }
}

/** A caller who could delete rows of the audit could hide what was asked. */
function auditRefused(): OperatingError {
  return new OperatingError(
    "permission_denied",
    `Cannot delete rows of ${QUERY_AUDIT_TABLE}: it records what was asked of this server, whoever asks now; an operator ` +
      "bounds it with svc audit-rotate",
    { reason: "audit_table" },
  );
}
