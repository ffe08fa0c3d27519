/** An attribute in SQL. */

import { quoteText } from "../engine/duckdb/statement_text.ts";
import { isNested } from "../schema/attribute_path.ts";
import { ATTRIBUTES_NAME } from "./search_fields.ts";

/**
 * Returns the SQL of an attribute's text, as a person would write it; NULL where a row has none.
 * One within nested objects is called by its path.
 */
export function attributeSql(attribute: string): string {
  return isNested(attribute)
    ? `(${ATTRIBUTES_NAME} ->> ${quoteText(attribute)})`
    : `attr_get(${ATTRIBUTES_NAME}, ${quoteText(attribute)})`;
}
