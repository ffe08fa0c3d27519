/** The Parquet files of the WAL's rows in the cache directory: written, counted and removed. */

import { getLogger } from "@logtape/logtape";
import { present } from "../../base/assert.ts";
import { isOperatingError, messageOf, OperatingError } from "../../base/errors.ts";
import type { FileSystem } from "../../os/file_system.ts";
import type { WalFrame, WalReader } from "../../wal/types.ts";
import type { DeltaEncoder } from "./delta_encoder.ts";
import { type DeltaFile, type DeltaRows, writeDeltaFile } from "./delta_file.ts";
import { framesBetween } from "./delta_frames.ts";
import type { Segment } from "./delta_segment.ts";
import type { DeltaColumns } from "./lane_request.ts";

/**
 * While files take less than this share of the directory's bound they are not compressed. Rows are
 * converted in 0.6 of the time so and read in half of it, and take six times the bytes.
 */
const PLAIN_SHARE = 1 / 4;

const log = getLogger(["svc", "engine"]);

/** Where segments are read, and where their files are written. */
export interface DeltaFilesOptions {
  readonly wal: WalReader;
  readonly files: Pick<FileSystem, "create" | "remove">;
  /** Directory of the files. It exists and is empty. */
  readonly dir: string;
  /** Writes the files of many rows; default: the caller's thread does. */
  readonly encoder?: Pick<DeltaEncoder, "encode">;
}

/** How rows are written. */
export interface DeltaWriting extends DeltaColumns {
  /** Whether they are among many that a statement waits for. */
  readonly isMany: boolean;
}

/** The files of one directory. */
export class DeltaFiles {
  readonly #options: DeltaFilesOptions;
  readonly #bytesMax: number;
  #bytes = 0;
  #made = 0;

  constructor(options: DeltaFilesOptions, bytesMax: number) {
    this.#options = options;
    this.#bytesMax = bytesMax;
  }

  /** Bytes of all of them. */
  get bytes(): number {
    return this.#bytes;
  }

  get exceedBound(): boolean {
    return this.#bytes > this.#bytesMax;
  }

  /**
   * Writes the rows of frames of a segment, which are at least one. Errors: `corrupt` when the rows
   * cannot be read; `unavailable` when the directory cannot be written.
   */
  async write(
    segment: Segment,
    frames: readonly WalFrame[],
    { needed, promoted, isMany }: DeltaWriting,
  ): Promise<DeltaFile> {
    const { wal, files, dir, encoder } = this.#options;
    this.#made += 1;
    const path = `${dir}/delta-${this.#made}.parquet`;
    const [offset, endOffset] = [present(frames[0]).offset, present(frames.at(-1)).endOffset];
    const again = async (rows: DeltaRows) => {
      const read = await framesBetween(wal, segment, { offset, endOffset });
      if (read.length < frames.length) throw new OperatingError("corrupt", "frames are gone");
      return { ...rows, messages: read.map(({ message }) => message) };
    };
    try {
      const effort = this.#bytes < this.#bytesMax * PLAIN_SHARE ? "none" : "quick";
      const file = await writeDeltaFile(files, path, {
        columns: present(segment.columns),
        ...{ frames, effort, needed, promoted },
        encode: encoder && isMany ? (rows) => encoder.encode(rows, () => again(rows)) : undefined,
      });
      this.#bytes += file.byteLength;
      return file;
    } catch (error) {
      throw isOperatingError(error) ? error : cannotWrite(path, error);
    }
  }

  /** Nobody reads them any more. */
  remove(files: readonly DeltaFile[]): void {
    for (const { path, byteLength } of files) {
      this.#bytes -= byteLength;
      this.#options.files.remove(path).catch((error) => {
        log.warn("cannot remove {path}: {error}", { path, error: messageOf(error) });
      });
    }
  }
}

function cannotWrite(path: string, cause: unknown): OperatingError {
  log.error("cannot write {path}: {error}", { path, error: messageOf(cause) });
  return new OperatingError(
    "unavailable",
    "Cannot convert rows of the WAL: the query server's cache directory cannot be written; free space there",
    { reason: "cache_not_writable", retryAfterSecs: 5, cause },
  );
}
