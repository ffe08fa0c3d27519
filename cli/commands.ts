/** The commands of `svc`: one table, shown by `svc --help`. */

import type { CommandEntry } from "./command.ts";

export const COMMANDS: readonly CommandEntry[] = [
  {
    name: "dev",
    summary: "Run the whole stack here: ingest, compactor and query server.",
    load: async () => (await import("./commands/dev.ts")).command,
  },
  {
    name: "ingest-server",
    summary: "Run the ingest server.",
    load: async () => (await import("./commands/ingest_server.ts")).command,
  },
  {
    name: "compactor",
    summary: "Drain sealed WAL segments into tables.",
    load: async () => (await import("./commands/compactor.ts")).command,
  },
  {
    name: "sql",
    summary: "Ask a running query server; a REPL when no query is given.",
    operands: "[query]",
    load: async () => (await import("./commands/sql.ts")).command,
  },
  {
    name: "search",
    summary: "Find rows by words, fields and levels.",
    operands: "[search]",
    load: async () => (await import("./commands/search.ts")).command,
  },
  {
    name: "sql-direct",
    summary: "Run SQL on a warehouse, without a query server.",
    load: async () => (await import("./commands/sql_direct.ts")).command,
  },
  {
    name: "query",
    summary: "Run SQL on locally ingested events.",
    load: async () => (await import("./commands/query.ts")).command,
  },
  {
    name: "ingest",
    summary: "Ingest NDJSON events from a file or stdin.",
    load: async () => (await import("./commands/ingest.ts")).command,
  },
  {
    name: "subscribe",
    summary: "Print the rows of a table as they are committed.",
    load: async () => (await import("./commands/subscribe.ts")).command,
  },
  {
    name: "gen",
    summary: "Print synthetic NDJSON events.",
    load: async () => (await import("./commands/gen.ts")).command,
  },
  {
    name: "audit-rotate",
    summary: "Limit the table query_audit: drop it, or expire its snapshots.",
    load: async () => (await import("./commands/audit_rotate.ts")).command,
  },
  {
    name: "delete-sweep",
    summary: "Execute the pending delete tasks of one index.",
    load: async () => (await import("./commands/delete_sweep.ts")).command,
  },
  {
    name: "migrate-schema",
    summary: "Add the columns that tables lack, and promote attributes.",
    load: async () => (await import("./commands/migrate_schema.ts")).command,
  },
  {
    name: "rebuild-group-counts",
    summary: "Rebuild the counts by value of a table's committed files where they are missing or " +
      "damaged.",
    load: async () => (await import("./commands/rebuild_group_counts.ts")).command,
  },
  {
    name: "rebuild-time-aggregates",
    summary:
      "Rebuild the counts by minute of a table's committed files where they are missing or " +
      "damaged.",
    load: async () => (await import("./commands/rebuild_time_aggregates.ts")).command,
  },
  {
    name: "gc-orphans",
    summary: "Delete files that no retained snapshot references.",
    load: async () => (await import("./commands/gc_orphans.ts")).command,
  },
  {
    name: "retention-sweep",
    summary: "Drop whole data files older than the retention horizon.",
    load: async () => (await import("./commands/retention_sweep.ts")).command,
  },
  {
    name: "table-info",
    summary: "Show the state of tables: files by level, overlap, bytes, snapshots, backlog.",
    load: async () => (await import("./commands/table_info.ts")).command,
  },
  {
    name: "wal-check",
    summary: "Check every frame of a WAL directory and report segments, rows, damage and missing " +
      "segments.",
    load: async () => (await import("./commands/wal_check.ts")).command,
  },
  {
    name: "backup",
    summary: "Add a point of catalog, tables and WAL to a backup, while everything runs.",
    load: async () => (await import("./commands/backup.ts")).command,
  },
  {
    name: "restore",
    summary: "Create a warehouse from a backup, in an empty place.",
    load: async () => (await import("./commands/restore.ts")).command,
  },
  {
    name: "relocate",
    summary: "Rewrite the locations in the metadata of tables after a warehouse was moved or " +
      "copied.",
    load: async () => (await import("./commands/relocate.ts")).command,
  },
  {
    name: "scrub",
    summary: "Read every stored file and compare it with its checksums.",
    load: async () => (await import("./commands/scrub.ts")).command,
  },
  {
    name: "wal-recover",
    summary: "Copy mirrored WAL segments back to a local WAL directory.",
    load: async () => (await import("./commands/wal_recover.ts")).command,
  },
  {
    name: "wal-requeue",
    summary:
      "Bring segments back that were set aside under poison/; of damaged ones, their intact " +
      "rows.",
    load: async () => (await import("./commands/wal_requeue.ts")).command,
  },
  {
    name: "iceberg-demo",
    summary: "Append synthetic events to a warehouse and run canned queries.",
    load: async () => (await import("./commands/iceberg_demo.ts")).command,
  },
];
