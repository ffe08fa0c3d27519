/**
 * Which promoted columns of a data file say all that the file's attributes do, known from the
 * file's name when a statement is planned.
 *
 * Only the writer of this program makes such names, and a file never changes. A file that another
 * program wrote or rewrote has another name, so nothing in it counts as complete.
 */

import { completeIds } from "../schema/promoted.ts";
import type { TableSchema } from "../schema/schema.ts";
import { completeColumnsOf } from "./locations.ts";
import type { DataFile } from "./types.ts";

/**
 * Field ids of the promoted columns of which the file needs no look into `attributes`. In such a
 * column a null means that `attr_get` gives NULL. For a `double` it means that the attribute is no
 * number: absent, or null; each value that is there is a number.
 */
export function completeColumns(
  { key }: Pick<DataFile, "key">,
  schema: TableSchema,
): ReadonlySet<number> {
  return completeIds(completeColumnsOf(key), schema);
}
