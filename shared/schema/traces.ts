/** The table `traces`: one row per OTLP span. See docs/api/tables.md#traces. */

import type { TableSchema } from "./schema.ts";

/** The table that spans go to. */
export const TRACES_TABLE = "traces";

export const TRACES_SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true, doc: "span start" },
    {
      id: 2,
      name: "timestamp_ns",
      type: "long",
      required: true,
      doc: "span start, exact Unix nanoseconds",
    },
    {
      id: 3,
      name: "trace_id",
      type: "string",
      required: true,
      doc: "32 lower-case hexadecimal digits",
    },
    {
      id: 4,
      name: "span_id",
      type: "string",
      required: true,
      doc: "16 lower-case hexadecimal digits",
    },
    { id: 5, name: "parent_span_id", type: "string", required: false, doc: "null for a root span" },
    { id: 6, name: "service", type: "string", required: true, doc: "service.name, else unknown" },
    { id: 7, name: "name", type: "string", required: true, doc: "span name" },
    { id: 8, name: "kind", type: "string", required: true, doc: "SPAN_KIND_SERVER and so on" },
    {
      id: 9,
      name: "status_code",
      type: "string",
      required: true,
      doc: "STATUS_CODE_OK and so on",
    },
    { id: 10, name: "status_message", type: "string", required: false },
    {
      id: 11,
      name: "duration_nanos",
      type: "long",
      required: true,
      doc: "end - start, 0 when the end is before the start",
    },
    { id: 12, name: "trace_state", type: "string", required: false, doc: "W3C tracestate" },
    { id: 13, name: "scope_name", type: "string", required: false },
    { id: 14, name: "scope_version", type: "string", required: false },
    {
      id: 15,
      name: "attributes",
      type: "string",
      required: false,
      doc: "of the span and its scope, JSON object",
    },
    { id: 16, name: "resource_attributes", type: "string", required: false, doc: "JSON object" },
    { id: 17, name: "events", type: "string", required: false, doc: "JSON array of objects" },
    { id: 18, name: "links", type: "string", required: false, doc: "JSON array of objects" },
  ],
  tags: ["service", "name", "kind", "status_code"],
};
