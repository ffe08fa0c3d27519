/**
 * Parquet files of weighted rows in the cache directory, which DuckDB reads like any other. A file
 * stays while a statement reads it, whatever became of it meanwhile.
 */

import { getLogger } from "@logtape/logtape";
import { messageOf, OperatingError } from "../../base/errors.ts";
import type { FileSystem } from "../../os/file_system.ts";
import { writeWhole } from "../../os/write_whole.ts";
import { quoteText } from "../duckdb/statement_text.ts";

/** A file of weighted rows, its rows and its bytes. */
export interface AnswerFile {
  readonly path: string;
  readonly entries: number;
  readonly byteLength: number;
}

/** SQL that reads all of `files`, of which there is at least one. */
export function scanOf(files: readonly AnswerFile[]): string {
  return `read_parquet([${files.map(({ path }) => quoteText(path)).join(", ")}])`;
}

interface Held {
  leases: number;
  dropped: boolean;
}

/** The files of one directory, removed once no statement reads them. */
export class AnswerFiles {
  readonly #files: Pick<FileSystem, "create" | "remove" | "stat">;
  /** Path of a directory that exists and is empty. */
  readonly #dir: string;
  readonly #held = new Map<AnswerFile, Held>();
  #named = 0;

  constructor(files: Pick<FileSystem, "create" | "remove" | "stat">, dir: string) {
    this.#files = files;
    this.#dir = dir;
  }

  get bytes(): number {
    let bytes = 0;
    for (const { byteLength } of this.#held.keys()) bytes += byteLength;
    return bytes;
  }

  /** A path that no file has had. */
  newPath(): string {
    this.#named += 1;
    return `${this.#dir}/answer-${this.#named}.parquet`;
  }

  /** Writes a file. Errors: `unavailable` when the directory cannot be written. */
  async write(bytes: Uint8Array, entries: number): Promise<AnswerFile> {
    const path = this.newPath();
    try {
      // The directory is emptied at start.
      await writeWhole(this.#files, path, bytes);
    } catch (cause) {
      throw new OperatingError(
        "unavailable",
        "Cannot keep counts of a table: the query server's cache directory cannot be written; free space there",
        { reason: "cache_not_writable", retryAfterSecs: 5, cause },
      );
    }
    return this.#hold({ path, entries, byteLength: bytes.byteLength });
  }

  /** Takes over a file that somebody else wrote at `newPath`. */
  async adopt(path: string, entries: number): Promise<AnswerFile> {
    const { size } = await this.#files.stat(path);
    return this.#hold({ path, entries, byteLength: size });
  }

  /** Removes what was not written to its end at `newPath`. */
  async discard(path: string): Promise<void> {
    await this.#files.remove(path).catch(() => {});
  }

  lease(files: readonly AnswerFile[]): Disposable {
    const held = files.map((file) => this.#held.get(file));
    for (const one of held) if (one !== undefined) one.leases += 1;
    return {
      [Symbol.dispose]: () => {
        for (const one of held) if (one !== undefined) one.leases -= 1;
        for (const file of files) this.#removeIdle(file);
      },
    };
  }

  /** Removes files that nobody will ask for again, once no statement reads them. */
  drop(files: Iterable<AnswerFile>): void {
    for (const file of files) {
      const held = this.#held.get(file);
      if (held === undefined) continue;
      held.dropped = true;
      this.#removeIdle(file);
    }
  }

  #hold(file: AnswerFile): AnswerFile {
    this.#held.set(file, { leases: 0, dropped: false });
    return file;
  }

  #removeIdle(file: AnswerFile): void {
    const held = this.#held.get(file);
    if (held === undefined || !held.dropped || held.leases > 0) return;
    this.#held.delete(file);
    this.#files.remove(file.path).catch((error) => {
      getLogger(["svc", "engine"]).warn("cannot remove {path}: {error}", {
        path: file.path,
        error: messageOf(error),
      });
    });
  }
}
