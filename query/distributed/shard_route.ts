/** `POST /api/v1/sql/shard`: a worker runs its part of another server's statement. */

import { isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import { VERSION } from "../../shared/base/version.ts";
import { PIN_UNRESOLVED } from "../../shared/engine/shards/shard_rows.ts";
import { readJsonText } from "../json_body.ts";
import { BATCH_TIER, effectiveLimits, SQL_BODY_BYTES_MAX } from "../limits.ts";
import type { QueryMetrics } from "../metrics/metrics.ts";
import type { QueryCaller } from "../query_caller.ts";
import { SqlCall } from "../sql/sql_call.ts";
import type { SqlService } from "../sql/sql_service.ts";
import { streamResponse } from "../sql/sql_stream.ts";
import { VERSION_HEADER } from "./peer_client.ts";
import { readShardRequest, type ShardRequest } from "./shard_request.ts";

/**
 * Answers with the shard's rows. `caller` is who asked where the request is not known to be a
 * coordinator's: nothing else than that one may read is read then. Errors: 503
 * (`shard_pin_unresolved`, `other_version`), 403, 400 (`invalid_body`), those of a statement.
 */
export async function answerShard(
  request: Request,
  service: SqlService,
  caller: QueryCaller | undefined,
): Promise<Response> {
  const body = await readJsonText(request, { bytesMax: SQL_BODY_BYTES_MAX });
  refuseVersion(request.headers.get(VERSION_HEADER));
  const asked = readShardRequest(body);
  const who = callerOf(asked, caller);
  const call = new SqlCall(service, {
    caller: who,
    endpoint: "sql_shard",
    besides: {
      shard: { table: asked.table, files: asked.files, count: asked.shard.count },
      fastPaths: false,
    },
  });
  using _stopping = call.stopWith(request);
  let streams = false;
  try {
    await prepare(call, asked, service.metrics);
    const { stallMsMax } = service;
    const response = await streamResponse(call, {
      format: "shard",
      stallMsMax,
      download: undefined,
    });
    streams = true;
    return response;
  } catch (thrown) {
    const failure = call.failureOf(thrown);
    call.endWith(failure);
    throw failure;
  } finally {
    if (!streams) await call[Symbol.asyncDispose]();
  }
}

async function prepare(call: SqlCall, asked: ShardRequest, metrics: QueryMetrics): Promise<void> {
  const limits = effectiveLimits({ timeout_seconds: asked.timeoutMs / 1_000 }, BATCH_TIER);
  try {
    await call.prepare({
      query: asked.query,
      parameters: null,
      format: "arrow",
      download: null,
      priority: "interactive",
      default_order: false,
      exact: true,
      dry_run: false,
      types: false,
      snapshot: asked.pin,
      limits: null,
      shard: null,
    }, { ...limits, rowsReturnedMax: Number.MAX_SAFE_INTEGER });
    metrics.shardPins.at({ outcome: "hit" }).add(1);
  } catch (error) {
    if (!isUnresolved(error)) throw error;
    metrics.shardPins.at({ outcome: "miss" }).add(1);
    throw new OperatingError("unavailable", error.message, {
      reason: PIN_UNRESOLVED,
      cause: error,
    });
  }
}

/** A table that is not known here yet is a pin that cannot be resolved, too. */
function isUnresolved(error: unknown): error is OperatingError {
  return isOperatingError(error) &&
    ["pin_expired", PIN_UNRESOLVED, "unknown_table"].includes(error.reason ?? "");
}

function refuseVersion(version: string | null): void {
  if (version === VERSION) return;
  throw new OperatingError(
    "unavailable",
    `Cannot run a shard for version ${version}: this server runs ${VERSION}`,
    { reason: "other_version" },
  );
}

function callerOf(
  { namespace, tenant, subject, email }: ShardRequest,
  caller: QueryCaller | undefined,
): QueryCaller {
  if (caller === undefined) {
    return {
      ...{ namespace, tenant },
      ...(subject === undefined ? {} : { subject }),
      ...(email === undefined ? {} : { email }),
    };
  }
  if (caller.namespace === namespace && caller.tenant === tenant) return caller;
  throw new OperatingError(
    "permission_denied",
    `Cannot read ${namespace} for another server: give both servers the same --coordinator-token`,
    { reason: "not_a_coordinator" },
  );
}
