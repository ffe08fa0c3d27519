/**
 * Rows of other servers on this one's disk: Parquet files in the cache directory, which DuckDB
 * reads when the statement's answer is made of them. So a merge takes memory of the pool alone, and
 * its rows lie where spilled ones do.
 *
 * Bounds: bytes of one statement, and of all statements together.
 */

import { messageOf, OperatingError } from "../../base/errors.ts";
import type { FileSystem } from "../../os/file_system.ts";
import type { ArrowFiles } from "../../parquet/arrow_file.ts";
import type { ReceivedFile } from "./shard.ts";

/** Bytes of the files of one statement. */
export const RECEIVED_BYTES_MAX = 1024 ** 3;
const RETRY_AFTER_SECS = 5;

/** Where such rows of all statements are. */
export interface ReceivedFolder {
  readonly files: Pick<FileSystem, "create" | "mkdir" | "removeTree">;
  /** Exists and is empty at first. */
  readonly dir: string;
  readonly writer: ArrowFiles;
  /** Bytes of all statements together. */
  readonly bytesMax: number;
}

/** What all statements hold. */
export class ReceivedSpace {
  #bytes = 0;
  #made = 0;

  constructor(private readonly folder: ReceivedFolder) {}

  get bytes(): number {
    return this.#bytes;
  }

  /** Room for one statement. Errors: `unavailable` when the folder cannot be written. */
  async open(): Promise<ReceivedRows> {
    this.#made += 1;
    const dir = `${this.folder.dir}/${this.#made}`;
    await this.folder.files.mkdir(dir).catch((cause) => {
      throw notWritable(cause);
    });
    return new ReceivedRows(this.folder, { dir, space: this });
  }

  /** Errors: `unavailable` (`pool_exhausted`). */
  take(bytes: number): void {
    if (this.#bytes + bytes > this.folder.bytesMax) {
      throw new OperatingError(
        "unavailable",
        "Cannot hold the rows of other servers: statements hold as many as may be held; ask later, " +
          "or raise --spill-max-bytes",
        { reason: "pool_exhausted", retryAfterSecs: RETRY_AFTER_SECS },
      );
    }
    this.#bytes += bytes;
  }

  give(bytes: number): void {
    this.#bytes -= bytes;
  }
}

/** Rows of one statement. Disposing it removes them. */
export class ReceivedRows implements AsyncDisposable {
  #bytes = 0;
  #files = 0;
  #isOver = false;

  constructor(
    private readonly folder: ReceivedFolder,
    private readonly own: { readonly dir: string; readonly space: ReceivedSpace },
  ) {}

  get bytes(): number {
    return this.#bytes;
  }

  /**
   * Keeps the rows of a whole Arrow stream, which is given away. Errors: `too_large` for more than
   * one statement may have; `unavailable`.
   */
  async keep(stream: Uint8Array<ArrayBuffer>, rows: number): Promise<ReceivedFile> {
    const bytes = await this.folder.writer.write(stream);
    this.#files += 1;
    const path = `${this.own.dir}/${this.#files}.parquet`;
    this.#take(bytes.byteLength);
    try {
      await using file = await this.folder.files.create(path);
      await file.write(bytes);
    } catch (cause) {
      throw notWritable(cause);
    }
    return { path, rows, byteLength: bytes.byteLength };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isOver) return;
    this.#isOver = true;
    this.own.space.give(this.#bytes);
    this.#bytes = 0;
    // What is left is removed at the next start.
    await this.folder.files.removeTree(this.own.dir).catch(() => {});
  }

  #take(bytes: number): void {
    if (this.#isOver) throw new OperatingError("cancelled", "The query is over");
    if (this.#bytes + bytes > RECEIVED_BYTES_MAX) {
      throw new OperatingError(
        "too_large",
        "Cannot merge the rows of other servers: they exceed 1 GiB; group by fewer values, narrow " +
          "the time range, or send the statement to /api/v1/sql/local",
        { reason: "shard_bytes" },
      );
    }
    this.own.space.take(bytes);
    this.#bytes += bytes;
  }
}

function notWritable(cause: unknown): OperatingError {
  return new OperatingError(
    "unavailable",
    `Cannot keep rows of other servers: the query server's cache directory cannot be written ` +
      `(${messageOf(cause)}); free space there`,
    { reason: "cache_not_writable", retryAfterSecs: RETRY_AFTER_SECS, cause },
  );
}
