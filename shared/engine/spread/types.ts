/** What the room takes and gives: a statement, and the statement cut in two. */

import type { Column } from "../../schema/schema.ts";
import type { DescribedColumn, Relation } from "../duckdb/driver.ts";
import type { TreeNode } from "../statement/syntax_tree.ts";

/** How the rows of the shards become one answer. */
export type SpreadMode = "scan" | "ordered_scan" | "aggregate" | "ordered_aggregate" | "ship";

/** A statement cut in two. */
export interface SplitStatement {
  readonly mode: SpreadMode;
  /** What each worker runs over its shard: one SELECT. */
  readonly workerSql: string;
  /** Makes the answer of the rows of all shards, `PARTS_TABLE`: its names, types and order. */
  readonly mergeSql: string;
  /** The worker's columns in order; no name repeats. */
  readonly columns: readonly DescribedColumn[];
  /** The one table that is cut into shards. Each worker reads any other table whole. */
  readonly table: string;
  /**
   * Rows after which a shard may end, and in mode `scan` the whole fan-out; absent: all rows are
   * needed.
   */
  readonly rowsMax?: number;
  /** Whether `mergeSql` gives rows of the answer where it has those of one shard alone. */
  readonly isByShard: boolean;
}

/** Why a statement runs on one server. */
export interface NotSplit {
  /** It goes on from "The statement runs on one server: ". */
  readonly reason: string;
}

/** Name of the relation that holds the rows of all shards. */
export const PARTS_TABLE = "svc_parts";

/** A stored table that the statement reads. */
export interface SpreadTable {
  /** Lower-cased name in statements. */
  readonly name: string;
  /** Columns that a statement can name. */
  readonly columns: readonly Column[];
  /** Bytes of the wanted columns that pruning left. */
  readonly bytes: number;
}

/** What is known of the statement's surroundings. */
export interface SpreadContext {
  readonly tables: readonly SpreadTable[];
  /** Writes a document as text, doubles as doubles (`statement/parse.ts`, `textOfTree`). */
  readonly textOf: (document: TreeNode) => Promise<string>;
  /** Binds a statement over `relations`. Errors: `EngineFault`. */
  readonly describe: (
    sql: string,
    relations: readonly Relation[],
  ) => Promise<readonly DescribedColumn[]>;
  /** Whether averages are exact on this processor (`functions/exact_average.ts`). */
  readonly averages: boolean;
  /** Rows of the answer that are wanted at most. */
  readonly rowsMax: number;
  /** Bytes of a table whose rows may be shipped as they are; default `SHIP_BYTES_MAX`. */
  readonly shipBytesMax?: number;
}

/** Rows are shipped to one server only of tables that are no larger than this. */
export const SHIP_BYTES_MAX = 1024 ** 3;

/** Each worker reads the other tables of a statement: together they are no larger than this. */
export const OTHERS_BYTES_MAX = 256 * 1024 ** 2;

/** The two halves of a query, as trees. */
export interface Halves {
  readonly mode: SpreadMode;
  readonly worker: TreeNode;
  readonly merge: TreeNode;
  readonly rowsMax?: number;
}

/** Thrown where a statement cannot be cut in two. */
export class Unsplit extends Error {
  override readonly name = "Unsplit";
  constructor(readonly reason: string) {
    super(reason);
  }
}

/** Thrown where an aggregate has no partial form: its rows are then shipped. */
export class Whole extends Error {
  override readonly name = "Whole";
  constructor(readonly reason: string) {
    super(reason);
  }
}
