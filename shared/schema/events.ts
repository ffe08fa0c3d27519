/** The table `events`: docs/api/tables.md#events. */

import type { TableSchema } from "./schema.ts";

/** The table that logs go to when a client names none. */
export const EVENTS_TABLE = "events";

export const EVENTS_SCHEMA: TableSchema = {
  columns: [
    { id: 1, name: "timestamp", type: "timestamptz", required: true, doc: "event time" },
    {
      id: 2,
      name: "timestamp_ns",
      type: "long",
      required: true,
      doc: "event time, exact Unix nanoseconds",
    },
    { id: 3, name: "host", type: "string", required: true, doc: "host.name, else unknown" },
    {
      id: 4,
      name: "source",
      type: "string",
      required: true,
      doc: "service.name, else scope, else otel",
    },
    { id: 5, name: "sourcetype", type: "string", required: true, doc: "kind of source" },
    { id: 6, name: "index", type: "string", required: true, doc: "logical index, else main" },
    { id: 7, name: "raw", type: "string", required: true, doc: "log body" },
    {
      id: 8,
      name: "attributes",
      type: "string",
      required: false,
      doc: "remaining attributes, JSON object",
    },
  ],
  tags: ["host", "source", "sourcetype", "index"],
};
