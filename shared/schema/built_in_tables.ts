/**
 * The tables whose schema the service itself decides: they can be queried before they have a row.
 */

import { EVENTS_SCHEMA, EVENTS_TABLE } from "./events.ts";
import { QUERY_AUDIT_SCHEMA, QUERY_AUDIT_TABLE } from "./query_audit.ts";
import type { TableSchema } from "./schema.ts";
import { TRACES_SCHEMA, TRACES_TABLE } from "./traces.ts";

export const BUILT_IN_TABLES: ReadonlyMap<string, TableSchema> = new Map([
  [EVENTS_TABLE, EVENTS_SCHEMA],
  [TRACES_TABLE, TRACES_SCHEMA],
  [QUERY_AUDIT_TABLE, QUERY_AUDIT_SCHEMA],
]);
