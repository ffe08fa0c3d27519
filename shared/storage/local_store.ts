/**
 * Objects as files below one folder.
 *
 * `putNew` is durable and atomic. The bytes go to a temporary file that is synced. A hard link
 * gives it the final name and refuses to replace an object. Then that folder is synced, and new
 * folders into their parents. A crash before the link leaves a file in a folder `.tmp`, which
 * `list` never shows and `sweepTemporaries` removes.
 *
 * Not covered: permissions and disk space; a full disk is `unavailable`.
 */

import { isAbsolute } from "node:path";
import { OperatingError } from "../base/errors.ts";
import { ensureDirectory } from "../os/durable_directory.ts";
import { diskError } from "../os/disk_failure.ts";
import type { FileSystem, ReadableFiles } from "../os/file_system.ts";
import { type Random, SystemRandom } from "../os/random.ts";
import { checkKey, checkPrefix, TEMPORARY_DIR } from "./object_key.ts";
import type { ObjectInfo, ObjectStore, ReadableStore } from "./object_store.ts";

/** A temporary file older than this belongs to a writer that is gone: no write takes an hour. */
const TEMPORARY_AGE_MS_MAX = 3_600_000;

/**
 * A range of no more bytes is read without asking how long the file is: that would take as long as
 * reading.
 */
const ASKED_BYTES_MAX = 64 * 1024;

/** Objects below `rootPath` (absolute; it may appear later), for reading only. */
export function openLocalReader(files: ReadableFiles, rootPath: string): ReadableStore {
  return new LocalReader(files, checkRoot(rootPath));
}

export interface LocalStoreOptions {
  readonly random?: Random;
  /**
   * Key of the folder whose `.tmp` holds this store's unfinished objects, for a process that may
   * write only there; default: the root. Its file system must be the root's.
   */
  readonly unfinishedBelow?: string;
}

/** Objects below `rootPath` (absolute; made when the first object is stored). */
export function openLocalStore(
  files: FileSystem,
  rootPath: string,
  options: LocalStoreOptions = {},
): LocalStore {
  return new LocalStore(files, checkRoot(rootPath), options);
}

function checkRoot(rootPath: string): string {
  if (!isAbsolute(rootPath)) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot use ${JSON.stringify(rootPath)} as a warehouse: give an absolute path`,
    );
  }
  return rootPath.length > 1 ? rootPath.replace(/\/+$/, "") : rootPath;
}

class LocalReader implements ReadableStore {
  readonly rootUri: string;

  constructor(readonly files: ReadableFiles, readonly rootPath: string) {
    // Other readers of the tables take locations as they stand, so nothing is percent-encoded.
    this.rootUri = `file://${rootPath}`;
  }

  get(key: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.attempt("read", key, (path) => this.files.readFile(path));
  }

  getRange(key: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>> {
    return this.attempt("read", key, async (path) => {
      await using file = await this.files.openRead(path);
      const available = length <= ASKED_BYTES_MAX ? length : await file.size() - offset;
      const bytes = new Uint8Array(Math.max(0, Math.min(length, available)));
      let filled = 0;
      while (filled < bytes.length) {
        const count = await file.readAt(bytes.subarray(filled), offset + filled);
        if (count === 0) break;
        filled += count;
      }
      return filled === bytes.length ? bytes : bytes.slice(0, filled);
    });
  }

  head(key: string): Promise<ObjectInfo> {
    return this.attempt("stat", key, async (path) => {
      const { isFile, size, mtimeMs } = await this.files.stat(path);
      if (!isFile) throw new Deno.errors.NotFound(`${path} is a folder`);
      return { key, size, modifiedMs: mtimeMs };
    });
  }

  async *list(prefix: string): AsyncIterable<ObjectInfo> {
    checkPrefix(prefix);
    const folder = prefix.slice(0, prefix.lastIndexOf("/") + 1);
    const keys: string[] = [];
    await this.collect(folder, prefix, keys);
    // Folder order is not key order: `a.b` sorts before `a/b`.
    keys.sort();
    for (const key of keys) {
      try {
        yield await this.head(key);
      } catch (error) {
        // Removed since its folder was read.
        if (!(error instanceof OperatingError && error.code === "not_found")) throw error;
      }
    }
  }

  localPath(key: string): string {
    return this.pathOf(checkKey(key));
  }

  protected pathOf(key: string): string {
    return `${this.rootPath === "/" ? "" : this.rootPath}/${key}`;
  }

  /** Adds the keys below `folder` (empty, or ending in a slash) that start with `prefix`. */
  private async collect(folder: string, prefix: string, keys: string[]): Promise<void> {
    let entries;
    try {
      entries = await this.files.readDir(this.pathOf(folder).replace(/\/$/, ""));
    } catch (error) {
      if (error instanceof Deno.errors.NotFound) return;
      throw storageError("list", folder, error);
    }
    for (const entry of entries) {
      const name = `${folder}${entry.name}`;
      if (entry.name === TEMPORARY_DIR) continue;
      if (entry.isFile && name.startsWith(prefix)) keys.push(name);
      else if (entry.isDirectory && overlaps(`${name}/`, prefix)) {
        await this.collect(`${name}/`, prefix, keys);
      }
    }
  }

  /** Runs `action` on the file of `key`, turning file errors into operating errors. */
  protected async attempt<T>(
    verb: string,
    key: string,
    action: (path: string) => Promise<T>,
  ): Promise<T> {
    const path = this.pathOf(checkKey(key));
    try {
      return await action(path);
    } catch (error) {
      throw storageError(verb, key, error);
    }
  }
}

class LocalStore extends LocalReader implements ObjectStore {
  /** Folders known to exist durably. */
  private readonly folders = new Set<string>();
  private readonly random: Random;
  /** Where unfinished objects are. */
  private readonly temporaryFolder: string;

  constructor(override readonly files: FileSystem, rootPath: string, options: LocalStoreOptions) {
    super(files, rootPath);
    const { random = new SystemRandom(), unfinishedBelow: below } = options;
    this.random = random;
    const folder = below === undefined ? TEMPORARY_DIR : `${checkKey(below)}/${TEMPORARY_DIR}`;
    this.temporaryFolder = this.pathOf(folder);
  }

  putNew(key: string, bytes: Uint8Array): Promise<void> {
    return this.attempt("store", key, async (path) => {
      const folder = parentOf(path);
      await this.ensureFolder(this.temporaryFolder);
      await this.ensureFolder(folder);
      const temporary = this.temporaryPath();
      try {
        await this.writeSynced(temporary, bytes);
        await this.files.link(temporary, path);
        await this.files.syncDir(folder);
      } catch (error) {
        // A folder that was removed meanwhile is made anew next time.
        this.folders.clear();
        throw error;
      } finally {
        await this.removeQuietly(temporary);
      }
    });
  }

  async delete(keys: readonly string[]): Promise<void> {
    keys.forEach(checkKey);
    for (const key of keys) {
      await this.attempt("delete", key, async (path) => {
        try {
          await this.files.remove(path);
        } catch (error) {
          if (!(error instanceof Deno.errors.NotFound)) throw error;
        }
      });
    }
  }

  /** Removes what writers that crashed left half-written; returns how many files. */
  async sweepTemporaries(nowMs: number): Promise<number> {
    const folder = this.temporaryFolder;
    if (!(await this.files.exists(folder))) return 0;
    let removed = 0;
    for (const entry of await this.files.readDir(folder)) {
      const path = `${folder}/${entry.name}`;
      try {
        const { mtimeMs } = await this.files.stat(path);
        if (nowMs - mtimeMs < TEMPORARY_AGE_MS_MAX) continue;
        await this.files.remove(path);
        removed += 1;
      } catch (error) {
        if (!(error instanceof Deno.errors.NotFound)) throw storageError("sweep", path, error);
      }
    }
    return removed;
  }

  private async writeSynced(path: string, bytes: Uint8Array): Promise<void> {
    await using file = await this.files.create(path);
    await file.write(bytes);
    await file.sync();
  }

  private async removeQuietly(path: string): Promise<void> {
    try {
      await this.files.remove(path);
    } catch {
      // It was never made, or the disk fails: the object's own outcome is what the caller must
      // hear.
    }
  }

  private temporaryPath(): string {
    const name = Array.from(this.random.bytes(12), (byte) => byte.toString(16).padStart(2, "0"));
    return `${this.temporaryFolder}/${name.join("")}`;
  }

  /** Makes `path`, which is the root or below it, durable with its missing ancestors. */
  private async ensureFolder(path: string): Promise<void> {
    if (this.folders.has(path)) return;
    if (path === this.rootPath) await ensureDirectory(this.files, path);
    else {
      const parent = parentOf(path);
      await this.ensureFolder(parent);
      // Making what is there takes a right that its user may not have.
      if (!(await this.files.exists(path))) await this.files.mkdir(path);
      // Also when it was there already: its maker may have crashed before this.
      await this.files.syncDir(parent);
    }
    this.folders.add(path);
  }
}

function parentOf(path: string): string {
  const slash = path.lastIndexOf("/");
  return slash <= 0 ? "/" : path.slice(0, slash);
}

/** Whether keys below `folder` can start with `prefix`. */
function overlaps(folder: string, prefix: string): boolean {
  return folder.startsWith(prefix) || prefix.startsWith(folder);
}

function storageError(verb: string, key: string, error: unknown): Error {
  if (error instanceof OperatingError) return error;
  const tried = `${verb} object ${JSON.stringify(key)}`;
  const what = `Cannot ${tried}`;
  const { NotFound, NotADirectory, IsADirectory } = Deno.errors;
  const isAbsent = [NotFound, NotADirectory, IsADirectory].some((kind) => error instanceof kind);
  // A folder that cannot be made or listed says nothing about an object.
  if (isAbsent && verb !== "store" && verb !== "list") {
    return new OperatingError("not_found", `${what}: there is none`, { cause: error });
  }
  if (error instanceof Deno.errors.AlreadyExists) {
    return new OperatingError("conflict", `${what}: it exists, and objects are never replaced`, {
      cause: error,
    });
  }
  const failed = diskError(tried, error);
  if (failed instanceof OperatingError) return failed;
  if (error instanceof Error && isFileError(error)) {
    return new OperatingError("unavailable", `${what}: ${error.message}`, { cause: error });
  }
  return error instanceof Error ? error : new Error(String(error));
}

/** Errors of the operating system, as opposed to bugs: Deno's classes, or a Node-style code. */
function isFileError(error: Error): boolean {
  return "code" in error || Object.values(Deno.errors).some((kind) => error instanceof kind);
}
