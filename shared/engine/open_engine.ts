/**
 * The one door of the engine: builds it from its capabilities. What happens to a statement afterwards is in
 * this folder's README.
 */

import { OperatingError } from "../base/errors.ts";
import type { CatalogReader } from "../catalog/catalog.ts";
import type { Clock } from "../os/clock.ts";
import type { FileSystem } from "../os/file_system.ts";
import type { Random } from "../os/random.ts";
import type { ReadableStore } from "../storage/object_store.ts";
import type { WalReader } from "../wal/types.ts";
import type { EngineDriver } from "./driver.ts";
import type { Engine } from "./types.ts";

export interface EngineOptions {
  /** Default: the native driver. */
  readonly driver?: EngineDriver;
  /** The warehouse. */
  readonly store: ReadableStore;
  readonly catalog: CatalogReader;
  /** When given, rows of segments that no table holds yet are unioned in. */
  readonly wal?: WalReader;
  /** For `cacheDir` only. */
  readonly files: FileSystem;
  /** Absolute path for spill files and converted WAL segments; created and emptied at start. One engine per directory. */
  readonly cacheDir: string;
  /** Memory pool of the SQL engine. */
  readonly memoryBytesMax: number;
  /** Bytes that queries may spill to disk, together. */
  readonly spillBytesMax: number;
  /** Default: one per core. */
  readonly threads?: number;
  readonly clock: Clock;
  readonly random: Random;
}

/** Errors: `unavailable` when the driver cannot be loaded or the cache directory cannot be written. */
export function openEngine(_options: EngineOptions): Promise<Engine> {
  throw new OperatingError("unimplemented", "the engine is being built");
}
