/**
 * Follows one table: rows of its WAL lane, and rows of commits that the lane never had. Followers
 * at the same place share a step, so a row is decoded once however many follow.
 *
 * A step of the WAL is a Parquet file in the cache directory. It is removed once nobody reads it
 * and newer steps came, or when the last follower leaves.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf } from "../../base/errors.ts";
import type { FileSystem } from "../../os/file_system.ts";
import { namespaceOf, type TableIdent } from "../../tenant/tenant.ts";
import type { WalReader } from "../../wal/types.ts";
import { writeDeltaFile } from "../plan/delta_file.ts";
import type { FollowedRows, FollowedTable, FollowStep, TableFollower } from "../types.ts";
import { CommitReading, type CommitSource } from "./commit_steps.ts";
import { encodePosition, type FollowPosition, LANE_START } from "./follow_position.ts";
import { LaneReading } from "./lane_frames.ts";

/** What followers read, and where they write. */
export interface FollowSource extends CommitSource {
  readonly wal: WalReader | undefined;
  readonly files: Pick<FileSystem, "create" | "remove">;
  /** Directory of steps. It exists and is empty. */
  readonly dir: string;
  readonly onDamage: () => void;
}

/** Steps that are kept for followers who come to them later. */
const STEPS_MAX = 8;

/** All tables that are followed now. */
export class TableFollowers {
  readonly #source: FollowSource;
  readonly #tables = new Map<string, { readonly steps: TableSteps; followers: number }>();

  constructor(source: FollowSource) {
    this.#source = source;
  }

  follow(table: FollowedTable): TableFollower {
    const key = JSON.stringify([table.tenant, table.namespace, table.table]);
    const followed = this.#tables.get(key) ??
      { steps: new TableSteps(this.#source, table), followers: 0 };
    this.#tables.set(key, followed);
    followed.followers += 1;
    let isOver = false;
    return {
      end: () => followed.steps.end(),
      next: (position) => followed.steps.next(position),
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        followed.followers -= 1;
        if (followed.followers > 0) return;
        this.#tables.delete(key);
        followed.steps.forget(0);
      },
    };
  }
}

/** A step that was made, and how many read it. */
interface Made {
  readonly rows: Exclude<FollowedRows, { readonly kind: "rows" }> | {
    readonly kind: "rows";
    readonly rows: number;
    readonly isLast: boolean;
    readonly position: FollowPosition;
    readonly step: FollowStep;
  };
  readers: number;
  isForgotten: boolean;
}

/** The steps of one table. */
class TableSteps {
  readonly #source: FollowSource;
  readonly #table: FollowedTable;
  readonly #lane: LaneReading | undefined;
  readonly #commits: CommitReading;
  /** Steps by the position that they lead on from, the oldest first. */
  readonly #made = new Map<string, Promise<Made>>();

  constructor(source: FollowSource, table: FollowedTable) {
    this.#source = source;
    this.#table = table;
    const { tenant, table: name, namespace } = table;
    const lane = source.wal === undefined || namespaceOf(tenant) !== namespace
      ? undefined
      : new LaneReading(source.wal, { tenant, index: name }, source.onDamage);
    this.#lane = lane;
    const ident: TableIdent = { namespace, name };
    const list = lane === undefined
      ? undefined
      : async () => (await lane.list()).map((segment) => segment.name);
    this.#commits = new CommitReading(source, ident, list);
  }

  /** Segments that are committed in between lie before the lane's end. */
  async end(): Promise<FollowPosition> {
    const version = await this.#commits.end();
    const lane = await this.#lane?.end() ?? LANE_START;
    return { table: this.#table.table, ...version, lane };
  }

  async next(position: FollowPosition): Promise<FollowedRows> {
    const key = encodePosition(position);
    const making = this.#made.get(key) ?? this.#make(position);
    this.#made.set(key, making);
    let made: Made;
    try {
      made = await making;
    } catch (error) {
      this.#made.delete(key);
      throw error;
    }
    const { rows } = made;
    if (rows.kind !== "rows") {
      // There may be rows the next time.
      if (this.#made.get(key) === making) this.#made.delete(key);
      return rows;
    }
    made.readers += 1;
    this.forget(STEPS_MAX);
    let isOver = false;
    return {
      ...rows,
      [Symbol.dispose]: () => {
        if (isOver) return;
        isOver = true;
        made.readers -= 1;
        this.#sweep(made);
      },
    };
  }

  /** Forgets all steps but so many. */
  forget(kept: number): void {
    for (const key of [...this.#made.keys()].slice(0, Math.max(0, this.#made.size - kept))) {
      const making = this.#made.get(key);
      this.#made.delete(key);
      making?.then((made) => {
        made.isForgotten = true;
        this.#sweep(made);
      }, () => {});
    }
  }

  #sweep({ rows, readers, isForgotten }: Made): void {
    if (readers > 0 || !isForgotten || rows.kind !== "rows" || rows.step.kind !== "wal") return;
    const { path } = rows.step.appended.file;
    this.#source.files.remove(path).catch((error) => {
      getLogger(["svc", "engine"]).warn("cannot remove {path}: {error}", {
        ...{ path, error: messageOf(error) },
      });
    });
  }

  async #make(position: FollowPosition): Promise<Made> {
    return { rows: await this.#rowsBehind(position), readers: 0, isForgotten: false };
  }

  async #rowsBehind(position: FollowPosition): Promise<Made["rows"]> {
    const commit = await this.#commits.next(position);
    if (commit.kind === "lost") return commit;
    if (commit.kind === "append") {
      const { snapshot, since, rows, position } = commit;
      const step = { kind: "commit", snapshot, since } as const;
      return { kind: "rows", rows, isLast: false, position, step };
    }
    const after = commit.position;
    const found = await this.#lane?.next(after.lane) ?? after.lane;
    if (!("frames" in found)) return { kind: "none", position: { ...after, lane: found } };
    const { columns, epoch, frames, rows, isCut } = found;
    const path = `${this.#source.dir}/${crypto.randomUUID()}.parquet`;
    const file = await writeDeltaFile(this.#source.files, path, {
      columns,
      frames,
      effort: "none",
    });
    return {
      kind: "rows",
      rows,
      isLast: !isCut,
      position: { ...after, lane: found.position },
      step: { kind: "wal", appended: { file, columns, epoch } },
    };
  }
}
