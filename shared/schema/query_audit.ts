/**
 * The table `query_audit`: one row per statement that a query server answered. See
 * docs/api/tables.md#query_audit. It also has `timestamp_ns`, as every table here does.
 */

import type { TableSchema } from "./schema.ts";

/** No client can write to an index of this name. */
export const QUERY_AUDIT_TABLE = "query_audit";

export const QUERY_AUDIT_SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true, doc: "arrival" },
    { id: 2, name: "timestamp_ns", type: "long", required: true, doc: "arrival, of ms resolution" },
    { id: 3, name: "subject", type: "string", required: false, doc: "sub of the caller's token" },
    { id: 4, name: "email", type: "string", required: false, doc: "email of the caller's token" },
    { id: 5, name: "tenant", type: "string", required: true, doc: "whose tables were read" },
    { id: 6, name: "endpoint", type: "string", required: true, doc: "route, for example sql" },
    { id: 7, name: "query", type: "string", required: true, doc: "the statement as it was sent" },
    { id: 8, name: "format", type: "string", required: false, doc: "records, ndjson, csv, pg, …" },
    { id: 9, name: "priority", type: "string", required: true, doc: "interactive or batch" },
    {
      id: 10,
      name: "duration_ms",
      type: "double",
      required: true,
      doc: "from arrival to the end of the answer",
    },
    { id: 11, name: "status", type: "int", required: true, doc: "HTTP status; 499: client left" },
    {
      id: 12,
      name: "complexity",
      type: "string",
      required: false,
      doc: "class of the estimate; null when there was no plan",
    },
    { id: 13, name: "estimated_bytes_scanned", type: "long", required: false },
    { id: 14, name: "estimated_rows_processed", type: "long", required: false },
    { id: 15, name: "rows_returned", type: "long", required: false },
    { id: 16, name: "truncated", type: "bool", required: true, doc: "the row cap was reached" },
    { id: 17, name: "error", type: "string", required: false, doc: "what the caller was told" },
    {
      id: 18,
      name: "application_name",
      type: "string",
      required: false,
      doc: "the client program, as it named itself to PostgreSQL's protocol",
    },
  ],
  tags: ["tenant", "endpoint", "status"],
};
