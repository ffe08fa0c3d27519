/**
 * Where deleted rows may still be when a task is done:
 * docs/api/query.md#copies-that-a-task-does-not-reach. A task takes them out of the table; what was
 * copied elsewhere before goes by its own rules, or by hand.
 */

/** A place with copies of deleted rows. */
export interface RemainingCopy {
  readonly place: string;
  /** What removes it. */
  readonly until: string;
}

export const REMAINING_COPIES: readonly RemainingCopy[] = [
  {
    place: "snapshots",
    until:
      "the snapshots before ended_at have expired (SVC_SNAPSHOT_RETAIN_LAST) and the files that only " +
      "they name were collected, by the compactor or gc-orphans --apply",
  },
  {
    place: "wal_volume",
    until:
      "the committed segments were swept, a minute after their commit; segments set aside under " +
      "poison/ stay until somebody removes them",
  },
  {
    place: "wal_mirror",
    until:
      "the mirrored segments, and their copies under _active/, were swept with those of the WAL",
  },
  {
    place: "query_caches",
    until: "each query server started anew, or made room for other files in its cache folder",
  },
  { place: "replica_buckets", until: "whoever made the replica removes it" },
  {
    place: "catalog_backups",
    until:
      "whoever made the backup removes it, as svc backup --keep-last does: it leads to old snapshots",
  },
  {
    place: "records",
    until:
      "a year has passed: the record of a task keeps its predicate. The table query_audit keeps the " +
      "statements that were asked until audit-rotate removes them",
  },
];
