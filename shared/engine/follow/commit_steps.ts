/**
 * What the commits of a table add to its lane. A commit of segments that a follower passed already
 * adds nothing. One of segments that the lane still has waits until the follower has read them in
 * the WAL. Should they be swept before, the follower's place says that the commit is not read.
 * Other appends are read of the table: those of other writers, and those whose segments were swept
 * before the follower came.
 */

import { isOperatingError } from "../../base/errors.ts";
import { totalRows } from "../../base/total_rows.ts";
import type { CatalogReader } from "../../catalog/catalog.ts";
import type { IcebergReader, LoadedTable } from "../../iceberg/iceberg_reader.ts";
import { historySince, type HistoryStep } from "../../iceberg/table_history.ts";
import type { TableIdent } from "../../tenant/tenant.ts";
import { pinOf } from "../plan/snapshot_pin.ts";
import type { FollowPosition, LanePosition } from "./follow_position.ts";

/** What commits have behind a position. */
export type CommitStep =
  /** Nothing but another place. */
  | { readonly kind: "none"; readonly position: FollowPosition }
  /** Rows of one append, which a statement reads at `snapshot`, `since` the one before. */
  | {
    readonly kind: "append";
    readonly snapshot: string;
    readonly since: string | undefined;
    readonly rows: number;
    readonly position: FollowPosition;
  }
  /** Rows that nobody can tell from those that were read. */
  | { readonly kind: "lost"; readonly position: FollowPosition };

/** Where commits are read. */
export interface CommitSource {
  readonly catalog: Pick<CatalogReader, "metadataLocation">;
  readonly tables: IcebergReader;
}

/** Names of the segments that a lane has now; undefined: there is no lane to read. */
export type ListSegments = (() => Promise<readonly string[]>) | undefined;

/**
 * Reads the history of one table for its followers. The catalog is read before the lane is listed:
 * a segment of a commit stays in the lane for 60 s.
 */
export class CommitReading {
  readonly #source: CommitSource;
  readonly #ident: TableIdent;
  readonly #list: ListSegments;
  /** Writers of segments that the lane had. */
  readonly #writers = new Set<string>();

  constructor(source: CommitSource, ident: TableIdent, list: ListSegments) {
    this.#source = source;
    this.#ident = ident;
    this.#list = list;
  }

  /** The table's newest snapshot. */
  async end(): Promise<Pick<FollowPosition, "uuid" | "snapshotId">> {
    const table = await this.#load();
    return { uuid: table?.uuid ?? "", snapshotId: table?.snapshotId };
  }

  /** The next step behind `position`. Errors: those of catalog and store. */
  async next(position: FollowPosition): Promise<CommitStep> {
    const table = await this.#load();
    if (table === undefined) return { kind: "none", position };
    const { uuid, snapshotId } = table;
    const isOther = position.uuid !== "" && position.uuid !== uuid;
    if (isOther) return { kind: "lost", position: { ...position, uuid, snapshotId } };
    if (snapshotId === position.snapshotId) return { kind: "none", position };
    const listed = await this.#list?.();
    try {
      return await this.#stepOf(table, { ...position, uuid }, listed);
    } catch (error) {
      if (!isOperatingError(error, "conflict") || error.reason !== "history_gap") throw error;
      return { kind: "lost", position: { ...position, uuid, snapshotId } };
    }
  }

  async #stepOf(
    table: LoadedTable,
    position: FollowPosition,
    listed: readonly string[] | undefined,
  ): Promise<CommitStep> {
    let at = position;
    for await (const step of historySince(this.#source.tables, table, position.snapshotId)) {
      const behind = { ...at, snapshotId: step.snapshotId };
      const read = listed === undefined ? ALL_NEW : this.#readOf(step, at.lane, listed);
      if (step.kind === "append" && read.kind === "wait") return { kind: "none", position: at };
      if (step.kind === "append" && read.kind !== "none") {
        const reached = { ...behind, lane: read.lane ?? at.lane };
        if (read.kind === "lost") return { kind: "lost", position: reached };
        return {
          kind: "append",
          snapshot: pinOf(table, step.snapshotId),
          since: at.snapshotId === undefined ? undefined : String(at.snapshotId),
          rows: totalRows(step.files),
          position: reached,
        };
      }
      at = behind;
    }
    return { kind: "none", position: at };
  }

  /** Which of a step's rows are to be read of the table. */
  #readOf(step: HistoryStep, lane: LanePosition, listed: readonly string[]): ReadOfCommit {
    const segments = step.kind === "append" ? step.segments : [];
    if (segments.length === 0) return ALL_NEW;
    for (const name of [...listed, lane.segment]) this.#writers.add(writerOf(name));
    const present = new Set(listed);
    const own = segments.filter((name) => present.has(name) || this.#writers.has(writerOf(name)));
    if (own.length === 0) return ALL_NEW;
    const isPassed = (name: string) =>
      name < lane.segment || (name === lane.segment && lane.isDone);
    if (own.every(isPassed)) return { kind: "none" };
    if (own.every((name) => present.has(name) || isPassed(name))) return { kind: "wait" };
    const segment = own.reduce((a, b) => a > b ? a : b);
    const reached = { segment, rows: 0, isDone: true };
    // Rows of one commit cannot be told apart.
    const isNew = own.length === segments.length && own.every((name) => name > lane.segment);
    return { kind: isNew ? "all" : "lost", lane: reached };
  }

  async #load(): Promise<LoadedTable | undefined> {
    const location = await this.#source.catalog.metadataLocation(this.#ident);
    return location === undefined
      ? undefined
      : await this.#source.tables.loadTable(this.#ident, location);
  }
}

interface ReadOfCommit {
  readonly kind: "none" | "wait" | "all" | "lost";
  /** Where the lane goes on, past the commit's segments; absent: where it was. */
  readonly lane?: LanePosition;
}

const ALL_NEW: ReadOfCommit = { kind: "all" };

/** The part of a segment's name that says which start of an ingest server made it. */
function writerOf(name: string): string {
  return name.slice(WRITER_AT, WRITER_AT + WRITER_LENGTH);
}

const WRITER_AT = "1795132800000-0000-".length;
const WRITER_LENGTH = 10;
