/** What planning the tables of a statement needs: where they are, and what is wanted of them. */

import type { Predicate } from "../pruning/predicate.ts";
import type { TimeRange } from "../../iceberg/types.ts";
import type { DamagedFiles } from "../files/damaged_files.ts";
import type { HotCall } from "../hot_caches/hot_call.ts";
import type { HotSource } from "../hot_caches/hot_plan.ts";
import type { NearestHint } from "../order/nearest_hint.ts";
import type { FrozenTables, ReceivedTable, Shard } from "../shards/shard.ts";
import type { Deadline } from "../turns/deadline.ts";
import type { AppendedRows } from "../types.ts";
import type { CountedNames } from "./counted_by.ts";
import type { RemainingRows } from "./remaining_rows.ts";
import type { SnapshotSource } from "./snapshot.ts";
import type { SnapshotPin } from "./snapshot_pin.ts";
import type { WalDelta } from "./wal_delta.ts";

/** Where planning finds tables and their rows. */
export interface PlanSource extends SnapshotSource {
  readonly delta: WalDelta | undefined;
  readonly damaged: DamagedFiles;
  /** Files from which another engine deleted rows. */
  readonly remaining: Pick<RemainingRows, "lease">;
  /** undefined: hot caches are off. */
  readonly hot: HotSource | undefined;
  /** Names that no statement may know: for it there is no such table, in any namespace. */
  readonly hidden: ReadonlySet<string>;
}

/** What one statement wants of its tables. */
export interface PlanRequest {
  readonly namespace: string;
  readonly tenant: string;
  /** Lower-cased names, each once. */
  readonly tables: readonly string[];
  /** Where the statement names one of them first, for messages. */
  readonly placeOf: (table: string) => string;
  /** How often the statement reads each table. */
  readonly scans: ReadonlyMap<string, number>;
  /** The calls among `tables`. */
  readonly hotCalls: ReadonlyMap<string, HotCall>;
  readonly ranges: ReadonlyMap<string, TimeRange>;
  /** By table; one that is not among them has no condition. */
  readonly predicates: ReadonlyMap<string, Predicate>;
  /** Set where only the newest or oldest rows of the one table count. */
  readonly nearest: NearestHint | undefined;
  /** What it names, where it only counts rows; undefined: it may ask for more. */
  readonly counted: CountedNames | undefined;
  /** Column names the statement mentions, in lower case; undefined is all. */
  readonly named: ReadonlySet<string> | undefined;
  /** Attributes that the statement names by a call. */
  readonly attributes: () => ReadonlySet<string>;
  /**
   * The names of `named` without those that just these calls look into. Absent: rows of the WAL are
   * wanted with all their columns.
   */
  readonly needed: (() => ReadonlySet<string> | undefined) | undefined;
  readonly deadline: Deadline;
  /** Snapshots to read, without the WAL; undefined: the newest rows there are. */
  readonly pin: SnapshotPin | undefined;
  /** Snapshot whose files are left out, where the rest is all that came since. */
  readonly since: bigint | undefined;
  /** Whether committed rows are left out. */
  readonly uncommittedOnly: boolean;
  /** Rows that are read in place of the WAL's and of the committed ones. */
  readonly appended: AppendedRows | undefined;
  /** Which rows of one of the tables are read; undefined: all. */
  readonly shard: Shard | undefined;
  /** Tables that were found already; undefined: none. */
  readonly frozen: FrozenTables | undefined;
  /** One of the tables is of rows that other servers sent. */
  readonly received: ReceivedTable | undefined;
}
