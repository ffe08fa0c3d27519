/**
 * A file system in memory that can lose power. It takes `shared/os/file_system.ts` literally. Bytes
 * survive when `sync` of their file returned, names when `syncDir` of their directory returned.
 * Anything else survives or not, name by name and sector by sector, as `PowerLoss` says.
 *
 * It also injects errors, and models what Linux does after a failed fsync. The bytes that it could
 * not write stay readable, count as clean, and are never written by a later sync of the same file.
 *
 * Not covered: permissions, symbolic links, atomicity of rename across power loss (each name is
 * judged by itself, which is harsher than journaling file systems are).
 */

import { basename, dirname, normalize } from "node:path";
import type {
  DirEntry,
  File,
  FileLock,
  FileStat,
  FileSystem,
  ReadableFile,
} from "../os/file_system.ts";
import {
  type DirectoryNode,
  type FileNode,
  newDirectory,
  newFile,
  type Node,
  type PowerLoss,
  survivingDirectory,
} from "./power_loss.ts";
import type { SeededRandom } from "./seeded_random.ts";

export type { PowerLoss } from "./power_loss.ts";

export type OperationKind =
  | "create"
  | "write"
  | "truncate"
  | "sync"
  | "mkdir"
  | "rename"
  | "link"
  | "remove"
  | "setModified"
  | "syncDir"
  | "tryLock";

/** A step that changes something or makes it durable: the points at which power can fail. */
export interface Operation {
  /** Counts from 0 since the machine started. */
  readonly index: number;
  readonly kind: OperationKind;
  readonly path: string;
}

/** Thrown by everything that a machine without power is asked to do. */
export class NoPowerError extends Error {
  override readonly name = "NoPowerError";

  constructor() {
    super("the machine has no power");
  }
}

export interface CrashableOptions {
  /**
   * Called before each operation, which waits for it; an error that it returns is thrown instead.
   */
  readonly onOperation?: (operation: Operation) => Error | undefined | Promise<Error | undefined>;
  /** Power fails before the operation of this index. */
  readonly crashAt?: number;
  /** How many extra turns of the microtask queue an operation takes: mixes concurrent ones. */
  readonly extraTurns?: () => number;
  readonly freeBytes?: () => number;
  readonly nowMs?: () => number;
}

export class CrashableFileSystem implements FileSystem {
  readonly #root: DirectoryNode;
  readonly #options: CrashableOptions;
  readonly #locks = new Set<Node>();
  #operations = 0;
  #powered = true;

  constructor(options: CrashableOptions = {}, root = newDirectory()) {
    this.#options = options;
    this.#root = root;
  }

  /** How many operations were started. */
  get operations(): number {
    return this.#operations;
  }

  get powered(): boolean {
    return this.#powered;
  }

  /** Cuts the power (if it is on still) and starts a machine on what survived. */
  reboot(loss: PowerLoss, random: SeededRandom, options: CrashableOptions = {}) {
    this.#powered = false;
    return new CrashableFileSystem(options, survivingDirectory(this.#root, loss, random));
  }

  /** Ends every process but not the machine: what was written stays, synced or not. */
  kill(options: CrashableOptions = {}): CrashableFileSystem {
    this.#powered = false;
    return new CrashableFileSystem(options, this.#root);
  }

  async openRead(path: string): Promise<ReadableFile> {
    await this.#turn();
    return this.#open(path, this.#file(path));
  }

  async create(path: string): Promise<File> {
    await this.#operation("create", path);
    const { directory, name } = this.#parent(path);
    if (directory.live.has(name)) throw alreadyExists(path);
    const node = newFile(this.#nowMs());
    directory.live.set(name, node);
    return this.#open(path, node);
  }

  async openAppend(path: string): Promise<File> {
    await this.#turn();
    return this.#open(path, this.#file(path));
  }

  async readFile(path: string): Promise<Uint8Array<ArrayBuffer>> {
    await this.#turn();
    return this.#file(path).live.slice();
  }

  async writeFileAtomic(path: string, bytes: Uint8Array): Promise<void> {
    const temporary = `${path}.tmp`;
    if (this.#node(temporary) !== undefined) await this.remove(temporary);
    await using file = await this.create(temporary);
    await file.write(bytes);
    await file.sync();
    await this.rename(temporary, path);
    await this.syncDir(dirname(path));
  }

  async stat(path: string): Promise<FileStat> {
    await this.#turn();
    const node = this.#node(path);
    if (node === undefined) throw notFound(path);
    return {
      isFile: node.kind === "file",
      isDirectory: node.kind === "directory",
      size: node.kind === "file" ? node.live.byteLength : 0,
      mtimeMs: node.kind === "file" ? node.mtimeMs : 0,
      inode: 0,
    };
  }

  async exists(path: string): Promise<boolean> {
    await this.#turn();
    return this.#node(path) !== undefined;
  }

  async readDir(path: string): Promise<DirEntry[]> {
    await this.#turn();
    return Array.from(this.#directory(path).live, ([name, node]) => ({
      name,
      isFile: node.kind === "file",
      isDirectory: node.kind === "directory",
    }));
  }

  async freeBytes(_path: string): Promise<number> {
    await this.#turn();
    return this.#options.freeBytes?.() ?? 1e12;
  }

  async mkdir(path: string): Promise<void> {
    await this.#operation("mkdir", path);
    let directory = this.#root;
    for (const name of partsOf(path)) {
      let child = directory.live.get(name);
      if (child === undefined) {
        child = newDirectory();
        directory.live.set(name, child);
      }
      if (child.kind !== "directory") throw new Deno.errors.NotADirectory(path);
      directory = child;
    }
  }

  async rename(from: string, to: string): Promise<void> {
    await this.#operation("rename", from);
    const source = this.#parent(from);
    const target = this.#parent(to);
    const node = source.directory.live.get(source.name);
    if (node === undefined) throw notFound(from);
    source.directory.live.delete(source.name);
    target.directory.live.set(target.name, node);
  }

  async link(from: string, to: string): Promise<void> {
    await this.#operation("link", from);
    const node = this.#file(from);
    const { directory, name } = this.#parent(to);
    if (directory.live.has(name)) throw alreadyExists(to);
    directory.live.set(name, node);
  }

  async remove(path: string): Promise<void> {
    await this.#operation("remove", path);
    const { directory, name } = this.#parent(path);
    const node = directory.live.get(name);
    if (node === undefined) throw notFound(path);
    if (node.kind === "directory" && node.live.size > 0) {
      throw new Error(`directory not empty: ${path}`);
    }
    directory.live.delete(name);
  }

  async removeTree(path: string): Promise<void> {
    await this.#operation("remove", path);
    if (!this.#parent(path).directory.live.delete(basename(path))) throw notFound(path);
  }

  async setModified(path: string, modifiedMs: number): Promise<void> {
    await this.#operation("setModified", path);
    this.#file(path).mtimeMs = modifiedMs;
  }

  async syncDir(path: string): Promise<void> {
    await this.#operation("syncDir", path);
    const directory = this.#directory(path);
    directory.durable = new Map(directory.live);
  }

  async tryLock(path: string): Promise<FileLock | undefined> {
    await this.#operation("tryLock", path);
    const { directory, name } = this.#parent(path);
    const node = directory.live.get(name) ?? newFile(this.#nowMs());
    directory.live.set(name, node);
    if (this.#locks.has(node)) return undefined;
    this.#locks.add(node);
    return {
      isInPlace: async () => {
        await this.#turn();
        return this.#node(path) === node;
      },
      [Symbol.dispose]: () => void this.#locks.delete(node),
    };
  }

  #open(path: string, node: FileNode): File {
    return new CrashableFile(node, {
      turn: () => this.#turn(),
      operation: (kind) => this.#operation(kind, path),
      nowMs: () => this.#nowMs(),
    });
  }

  /** Lets others run, as a real call would, and refuses without power. */
  async #turn(): Promise<void> {
    if (!this.#powered) throw new NoPowerError();
    await null;
    if (!this.#powered) throw new NoPowerError();
  }

  async #operation(kind: OperationKind, path: string): Promise<void> {
    for (let turns = this.#options.extraTurns?.() ?? 0; turns > 0; turns--) await null;
    await this.#turn();
    const index = this.#operations++;
    if (index === this.#options.crashAt) {
      this.#powered = false;
      throw new NoPowerError();
    }
    const error = await this.#options.onOperation?.({ index, kind, path });
    if (error !== undefined) throw error;
  }

  #nowMs(): number {
    return this.#options.nowMs?.() ?? 0;
  }

  #node(path: string): Node | undefined {
    let node: Node | undefined = this.#root;
    for (const name of partsOf(path)) {
      node = node?.kind === "directory" ? node.live.get(name) : undefined;
    }
    return node;
  }

  #file(path: string): FileNode {
    const node = this.#node(path);
    if (node === undefined) throw notFound(path);
    if (node.kind !== "file") throw new Deno.errors.IsADirectory(path);
    return node;
  }

  #directory(path: string): DirectoryNode {
    const node = this.#node(path);
    if (node === undefined) throw notFound(path);
    if (node.kind !== "directory") throw new Deno.errors.NotADirectory(path);
    return node;
  }

  #parent(path: string): { directory: DirectoryNode; name: string } {
    return { directory: this.#directory(dirname(path)), name: basename(path) };
  }
}

interface Machine {
  turn(): Promise<void>;
  operation(kind: OperationKind): Promise<void>;
  nowMs(): number;
}

class CrashableFile implements File {
  readonly #node: FileNode;
  readonly #machine: Machine;
  #writeOffset: number;
  #closed = false;

  constructor(node: FileNode, machine: Machine) {
    this.#node = node;
    this.#machine = machine;
    this.#writeOffset = node.live.byteLength;
  }

  async readAt(into: Uint8Array, offset: number): Promise<number> {
    await this.#turn();
    const bytes = this.#node.live.subarray(offset, offset + into.byteLength);
    into.set(bytes);
    return bytes.byteLength;
  }

  async size(): Promise<number> {
    await this.#turn();
    return this.#node.live.byteLength;
  }

  /** A write that fails leaves the first half of its bytes behind. */
  async write(bytes: Uint8Array): Promise<void> {
    try {
      await this.#operation("write");
    } catch (error) {
      if (!(error instanceof NoPowerError)) this.#put(bytes.subarray(0, bytes.byteLength >> 1));
      throw error;
    }
    this.#put(bytes);
    this.#writeOffset += bytes.byteLength;
  }

  async writeAt(bytes: Uint8Array, offset: number): Promise<void> {
    await this.#operation("write");
    this.#put(bytes, offset);
  }

  #put(bytes: Uint8Array, offset = this.#writeOffset): void {
    const end = offset + bytes.byteLength;
    const live = new Uint8Array(Math.max(end, this.#node.live.byteLength));
    live.set(this.#node.live);
    live.set(bytes, offset);
    this.#node.live = live;
    this.#node.mtimeMs = this.#machine.nowMs();
  }

  async truncate(size: number): Promise<void> {
    await this.#operation("truncate");
    const live = new Uint8Array(size);
    live.set(this.#node.live.subarray(0, size));
    this.#node.live = live;
    this.#writeOffset = size;
  }

  async sync(): Promise<void> {
    const covered = this.#node.live;
    try {
      await this.#operation("sync");
    } catch (error) {
      if (!(error instanceof NoPowerError)) {
        this.#node.lost.push({ from: this.#node.durable.byteLength, to: covered.byteLength });
      }
      throw error;
    }
    const durable = covered.slice();
    for (const { from, to } of this.#node.lost) durable.fill(0, from, to);
    this.#node.durable = durable;
  }

  close(): void {
    this.#closed = true;
  }

  async #turn(): Promise<void> {
    this.#refuseClosed();
    await this.#machine.turn();
  }

  async #operation(kind: OperationKind): Promise<void> {
    this.#refuseClosed();
    await this.#machine.operation(kind);
  }

  #refuseClosed(): void {
    if (this.#closed) throw new Deno.errors.BadResource("file is closed");
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}

function partsOf(path: string): string[] {
  // Nearly all paths are as they should be, and each call comes here.
  const plain = path.includes("/.") || path.startsWith(".") ? normalize(path) : path;
  return plain.split("/").filter((part) => part !== "" && part !== ".");
}

function notFound(path: string): Error {
  return new Deno.errors.NotFound(`no such file or directory: ${path}`);
}

function alreadyExists(path: string): Error {
  return new Deno.errors.AlreadyExists(`file exists: ${path}`);
}
