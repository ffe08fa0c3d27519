/** What a search needs to know of a table, asked from the query server. */

import { isOperatingError } from "../../shared/base/errors.ts";
import { isJsonObject } from "../../shared/document/json_object.ts";
import { describedColumns, describingSql } from "../../shared/search/described_table.ts";
import type { SearchTable } from "../../shared/search/search_fields.ts";
import type { SqlClient } from "../sql/client.ts";

/** The text of tables that nobody configured. */
const RAW = "raw";

/**
 * Returns the columns of `table` as statements see them, and those that hold text: an index says
 * so, any other table has `raw`. Errors: what `SqlClient` throws, such as for a table that is not
 * there.
 */
export async function searchedTable(client: SqlClient, table: string): Promise<SearchTable> {
  const { body } = await client.records(describingSql(table));
  const columns = describedColumns(body);
  return { columns, texts: await textsOf(client, table) };
}

async function textsOf(client: SqlClient, table: string): Promise<readonly string[]> {
  const config = await client.index(table).catch((error) => {
    if (isOperatingError(error, "not_found")) return undefined;
    throw error;
  });
  const mapping = isJsonObject(config) ? config["doc_mapping"] : undefined;
  const fields = isJsonObject(mapping) ? mapping["field_mappings"] : undefined;
  const texts = (Array.isArray(fields) ? fields : []).filter(isJsonObject)
    .filter((field) => field["type"] === "text" && field["tokenizer"] !== "raw")
    .map((field) => String(field["name"]));
  return texts.length === 0 ? [RAW] : texts;
}
