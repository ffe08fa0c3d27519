/**
 * Names that a client may give an index: docs/api/ingest.md#index-names. A name is also a folder of
 * the WAL and a table.
 */

const INDEX_NAME = /^[a-z0-9][a-z0-9._-]{0,127}$/;
/** Tables with columns of their own that documents and log rows do not have. */
const RESERVED_INDEXES: ReadonlySet<string> = new Set(["traces", "query_audit"]);

/** Why nothing can be written to an index called `name`; undefined when it can. */
export function indexNameFault(name: string): string | undefined {
  if (RESERVED_INDEXES.has(name)) return "that name is reserved";
  return INDEX_NAME.test(name) ? undefined : `names match ${INDEX_NAME.source}`;
}
