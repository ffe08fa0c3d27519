/** What a search needs to know of a table, asked from the query server. */

import { isOperatingError } from "../../shared/base/errors.ts";
import {
  describedColumns,
  describingSql,
  textsOfIndex,
} from "../../shared/search/described_table.ts";
import type { SearchTable } from "../../shared/search/search_fields.ts";
import type { SqlClient } from "../sql/client.ts";

/**
 * Returns the columns of `table` as statements see them, and those that hold text. Errors: what
 * `SqlClient` throws, such as for a table that is not there.
 */
export async function searchedTable(client: SqlClient, table: string): Promise<SearchTable> {
  const { body } = await client.records(describingSql(table));
  const config = await client.index(table).catch((error) => {
    if (isOperatingError(error, "not_found")) return undefined;
    throw error;
  });
  return { columns: describedColumns(body), texts: textsOfIndex(config) };
}
