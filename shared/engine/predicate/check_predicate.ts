/**
 * Checks that a predicate is one over the columns of a table, before anything is deleted by it.
 */

import { isOperatingError, OperatingError } from "../../base/errors.ts";
import type { Deadline } from "../turns/deadline.ts";
import type { EngineConnection } from "../duckdb/driver.ts";
import { faultError } from "../duckdb/fault_error.ts";
import { type PrepareDeps, prepareStatement } from "../prepare.ts";
import { emptySql } from "../bind/relation.ts";
import { parsePredicate, PREDICATE_LINES_BEFORE, predicateStatement } from "./row_predicate.ts";
import type { CheckedPredicate, PredicateRequest } from "../types.ts";

/** Checks a predicate. Errors: those of `Engine.checkPredicate`. */
export async function checkPredicate(
  connection: EngineConnection,
  request: PredicateRequest,
  { deps, deadline }: { readonly deps: PrepareDeps; readonly deadline: Deadline },
): Promise<CheckedPredicate> {
  const predicate = await parsePredicate(connection, request);
  try {
    // The predicate is prepared within a statement. So it sees the table's columns like a query,
    // and a wrong name gets the message that a query gets.
    const prepared = await prepareStatement(connection, {
      ...request,
      sql: predicateStatement(request),
      defaultOrder: false,
      rowsMax: 1,
    }, { deps, deadline });
    using _leases = prepared.leases;
    const [table] = prepared.plan.tables;
    const [value] = await connection.describe(await predicate.value(), [{
      name: request.table,
      select: emptySql(table?.schema.columns ?? []),
    }]);
    if (value?.type.kind !== "BOOLEAN") throw noBoolean(value?.type.text ?? "nothing");
    return { tableUuid: table?.version?.uuid };
  } catch (error) {
    if (isOperatingError(error) && error.reason === "unknown_table") {
      // The table is named outside of the predicate, so its place is not the caller's.
      const message = error.message.replace("read table", "find index")
        .replace(/ at line \d+, column \d+/, "");
      throw new OperatingError("not_found", message, { reason: "unknown_index" });
    }
    throw faultError(error, { linesBefore: PREDICATE_LINES_BEFORE });
  }
}

function noBoolean(type: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `Cannot use the predicate: it is a value of type ${type}, and must be true or false for each ` +
      "row; compare it with something",
    { reason: "invalid_predicate" },
  );
}
