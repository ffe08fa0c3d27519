/** Parameters of a tail as precise values. */

import { badParameter, countOf } from "../tracing/query_parameters.ts";
import { type SearchedRows, searchedRows } from "../fields/field_request.ts";

/** What a tail follows. */
export interface TailRequest extends SearchedRows {
  readonly rowsPerSecMax: number;
}

const RATE_DEFAULT = 1_000;
const RATE_MAX = 100_000;

/** Errors: `invalid_argument` (`bad_parameter`, `search_syntax`). */
export function tailRequest(params: URLSearchParams): TailRequest {
  for (const name of ["from", "to"]) {
    const value = params.get(name);
    if (value !== null) {
      throw badParameter(
        { name, value },
        "a tail begins now, or behind Last-Event-ID: leave it out",
      );
    }
  }
  const rowsPerSecMax = countOf(params, "max_rows_per_second") ?? RATE_DEFAULT;
  if (rowsPerSecMax > RATE_MAX) {
    const given = { name: "max_rows_per_second", value: String(rowsPerSecMax) };
    throw badParameter(given, `it is at most ${RATE_MAX}`);
  }
  return { ...searchedRows(params), rowsPerSecMax };
}
