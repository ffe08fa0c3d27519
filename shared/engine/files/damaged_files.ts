/**
 * Data files that turned out to be damaged or gone: who is told of them, and whether statements
 * leave them out from then on. A file is left out for a minute, and is then tried again.
 */

import { getLogger } from "@logtape/logtape";
import { goneFile, leftOutFile, lostKey } from "../../base/damaged_file.ts";
import { isOperatingError } from "../../base/errors.ts";
import type { DataFile } from "../../iceberg/types.ts";
import type { ParquetFooter } from "../../parquet/footer.ts";
import { DAMAGED_FILES_MAX, DAMAGED_MS_MAX } from "../limits.ts";
import type { Plan } from "../plan/plan.ts";
import type { DataFileLease, DataFiles, OpenDataFile } from "./data_files.ts";
import { LeaseOver } from "./lease_over.ts";

/** What the engine does with damaged files, and with those that are gone. */
export interface DamagedFilesOptions {
  /** Whether statements answer without them. */
  readonly isSkipping: boolean;
  /** Called when a file is found to be damaged, not gone, once while that is known. */
  readonly onDamage: () => void;
  readonly nowMs: () => number;
}

/** All that one engine knows of. */
export class DamagedFiles {
  /** When each was found, by key, the oldest first. */
  readonly #found = new Map<string, number>();

  constructor(private readonly options: DamagedFilesOptions) {}

  /**
   * Notes what `error` tells of a file that is damaged or gone. Returns the error to throw: where
   * statements leave the file out from now on, it says so. `file` is what was read.
   */
  noted(thrown: unknown, file?: DataFile): unknown {
    const { isSkipping, onDamage, nowMs } = this.options;
    const isAbsent = file !== undefined && isOperatingError(thrown, "not_found");
    const error = isAbsent ? goneFile(file.key, thrown) : thrown;
    const key = lostKey(error);
    if (key === undefined || !isOperatingError(error)) return error;
    const isLeftOut = isSkipping && key.endsWith(".parquet");
    // If it was replaced, the next plan does not name it.
    const isGone = error.code !== "corrupt";
    if (isGone && !isLeftOut) return error;
    if (!this.#isKnown(key)) {
      if (!isGone) onDamage();
      getLogger(["svc", "engine"]).error("{error}", { error: error.message });
    }
    this.#found.delete(key);
    this.#found.set(key, nowMs());
    const [oldest] = this.#found.keys();
    if (this.#found.size > DAMAGED_FILES_MAX && oldest !== undefined) this.#found.delete(oldest);
    return isLeftOut ? leftOutFile(error) : error;
  }

  /** `files` without those that are left out, and the keys of these. */
  without(files: readonly DataFile[]): {
    readonly files: readonly DataFile[];
    readonly leftOut: readonly string[];
  } {
    if (!this.options.isSkipping || this.#found.size === 0) return { files, leftOut: [] };
    const isLeftOut = ({ key }: DataFile) => this.#isKnown(key);
    return {
      files: files.filter((file) => !isLeftOut(file)),
      leftOut: files.filter(isLeftOut).map(({ key }) => key),
    };
  }

  #isKnown(key: string): boolean {
    const sinceMs = this.#found.get(key);
    return sinceMs !== undefined && this.options.nowMs() - sinceMs < DAMAGED_MS_MAX;
  }
}

/** Data files whose damage is noted, whoever reads them. */
export class NotedDataFiles implements DataFiles {
  constructor(private readonly inner: DataFiles, private readonly damaged: DamagedFiles) {}

  lease(signal: AbortSignal): DataFileLease {
    return new NotedLease(this.inner.lease(signal), this.damaged);
  }
}

class NotedLease extends LeaseOver {
  constructor(inner: DataFileLease, private readonly damaged: DamagedFiles) {
    super(inner);
  }

  override footer(file: DataFile): Promise<ParquetFooter> {
    return this.#noted(() => this.inner.footer(file), file);
  }

  override open(file: DataFile): Promise<OpenDataFile> {
    return this.#noted(() => this.inner.open(file), file);
  }

  bring(plan: Plan): Promise<Plan> {
    return this.#noted(() => this.inner.bring(plan));
  }

  async #noted<T>(read: () => Promise<T>, file?: DataFile): Promise<T> {
    try {
      return await read();
    } catch (error) {
      throw this.damaged.noted(error, file);
    }
  }
}
