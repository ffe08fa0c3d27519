/**
 * What rows of a table must be before they are taken in: its columns, and its mapping where
 * somebody configured it.
 */

import { EVENTS_SCHEMA } from "./events.ts";
import type { DocMapping } from "./doc_mapping.ts";
import type { TableSchema } from "./schema.ts";

export interface TableShape {
  readonly schema: TableSchema;
  /**
   * The table's columns and the promoted ones that statements can name. Promoted columns hold
   * attributes where these fit. Undefined: nothing is promoted.
   */
  readonly withPromoted?: TableSchema;
  /** undefined: any member that has no column is an attribute. */
  readonly mapping?: DocMapping;
}

export const EVENTS_SHAPE: TableShape = { schema: EVENTS_SCHEMA };
