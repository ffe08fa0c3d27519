/** `GET /api/v1/status`: the servers over the last hour. */

import { OperatingError } from "../../shared/base/errors.ts";
import { jsonResponse } from "../../shared/http/error_response.ts";
import type { QueryCaller } from "../query_caller.ts";
import type { StatusHistory } from "./status_history.ts";

export interface StatusService {
  readonly status: Pick<StatusHistory, "report">;
}

/** Errors: `permission_denied` for a tenant among others, who is not told of these. */
export function getStatus(
  { status }: StatusService,
  { isOneOfMany = false }: Pick<QueryCaller, "isOneOfMany">,
): Promise<Response> {
  if (isOneOfMany) {
    throw new OperatingError(
      "permission_denied",
      "Cannot show the status: it is of all tenants together; ask the server's metrics instead",
      { reason: "many_tenants" },
    );
  }
  return Promise.resolve(jsonResponse(status.report()));
}
