/** Options of PostgreSQL's protocol. */

import type { OptionTable } from "../../shared/config/options.ts";

/** What turns the listener off. */
export const NO_PG_LISTENER = "none";

export const PG_OPTIONS = {
  pgListen: {
    kind: "text",
    flag: "pg-listen",
    placeholder: "HOST:PORT",
    default: NO_PG_LISTENER,
    help: "Address of PostgreSQL's protocol, for psql, drivers and tools; `none` for no listener.",
  },
  pgMaxSessions: {
    kind: "integer",
    flag: "pg-max-sessions",
    env: "SVC_QUERY_PG_MAX_SESSIONS",
    placeholder: "N",
    default: 1_000,
    min: 1,
    max: 100_000,
    help: "Most sessions of PostgreSQL's protocol at a time. Further ones are refused.",
  },
} as const satisfies OptionTable;
