/**
 * The disk as one process sees it: every call is a step of the schedule, but for reads of a file
 * that is open. Others append to it or nothing, so nobody sees when it was read.
 */

import { dirname } from "node:path";
import type {
  DirEntry,
  File,
  FileLock,
  FileStat,
  FileSystem,
  ReadableFile,
} from "../../shared/os/file_system.ts";
import type { Mutation } from "./mutations.ts";
import type { SimProcess } from "./sim_process.ts";

export class GatedFiles implements FileSystem {
  constructor(readonly process: SimProcess, readonly mutation?: Mutation) {}

  async openRead(path: string): Promise<ReadableFile> {
    return await this.#open("openRead", path);
  }

  async create(path: string): Promise<File> {
    return await this.#open("create", path);
  }

  async openAppend(path: string): Promise<File> {
    return await this.#open("openAppend", path);
  }

  readFile(path: string): Promise<Uint8Array<ArrayBuffer>> {
    return this.#gate("readFile", path, () => this.#disk.readFile(path));
  }

  /** Its parts are steps of their own, between which a process or a machine may end. */
  async writeFileAtomic(path: string, bytes: Uint8Array): Promise<void> {
    const temporary = `${path}.tmp`;
    if (await this.exists(temporary)) await this.remove(temporary);
    await using file = await this.create(temporary);
    await file.write(bytes);
    await file.sync();
    await this.rename(temporary, path);
    await this.syncDir(dirname(path));
  }

  stat(path: string): Promise<FileStat> {
    return this.#gate("stat", path, () => this.#disk.stat(path));
  }

  exists(path: string): Promise<boolean> {
    return this.#gate("exists", path, () => this.#disk.exists(path));
  }

  readDir(path: string): Promise<DirEntry[]> {
    return this.#gate("readDir", path, () => this.#disk.readDir(path));
  }

  freeBytes(path: string): Promise<number> {
    return this.#disk.freeBytes(path);
  }

  mkdir(path: string): Promise<void> {
    return this.#gate("mkdir", path, () => this.#disk.mkdir(path));
  }

  rename(from: string, to: string): Promise<void> {
    return this.#gate("rename", to, () => this.#disk.rename(from, to));
  }

  link(from: string, to: string): Promise<void> {
    return this.#gate("link", to, () => this.#disk.link(from, to));
  }

  remove(path: string): Promise<void> {
    return this.#gate("remove", path, () => this.#disk.remove(path));
  }

  removeTree(path: string): Promise<void> {
    return this.#gate("removeTree", path, () => this.#disk.removeTree(path));
  }

  setModified(path: string, modifiedMs: number): Promise<void> {
    return this.#gate("setModified", path, () => this.#disk.setModified(path, modifiedMs));
  }

  syncDir(path: string): Promise<void> {
    if (this.mutation === "unsynced names") return this.#gate("syncDir", path, NOTHING);
    return this.#gate("syncDir", path, () => this.#disk.syncDir(path));
  }

  async tryLock(path: string): Promise<FileLock | undefined> {
    const lock = await this.#gate("tryLock", path, async () => {
      const taken = await this.#disk.tryLock(path);
      if (taken !== undefined) this.process.locks.add(taken);
      return taken;
    });
    return lock;
  }

  get #disk() {
    return this.process.machine.files;
  }

  #gate<T>(kind: string, path: string, act: () => Promise<T>): Promise<T> {
    const { scheduler, machine } = this.process;
    const label = `${kind} ${path}`;
    return scheduler.call(
      this.process,
      { label, place: "disk" },
      (fails) => machine.with(fails, act),
    );
  }

  /** A process that has ended hears of no call, and no step is picked while one reads. */
  #read<T>(act: () => Promise<T>): Promise<T> {
    if (this.process.isDead) return new Promise(() => {});
    this.process.scheduler.goesOn();
    return act();
  }

  async #open(kind: "openRead" | "create" | "openAppend", path: string): Promise<File> {
    const file = await this.#gate(kind, path, () => this.#disk[kind](path) as Promise<File>);
    const gate = <T>(call: string, act: () => Promise<T>) => this.#gate(call, path, act);
    return new GatedFile(file, {
      gate,
      read: (act) => this.#read(act),
      mutation: this.mutation,
    });
  }
}

/** What a file needs of the process that has it open. */
interface GatedProcess {
  /** Makes a call a step. */
  gate<T>(call: string, act: () => Promise<T>): Promise<T>;
  /** Makes a call that is none. */
  read<T>(act: () => Promise<T>): Promise<T>;
  readonly mutation: Mutation | undefined;
}

class GatedFile implements File {
  constructor(readonly file: File, readonly process: GatedProcess) {}

  readAt(into: Uint8Array, offset: number): Promise<number> {
    return this.process.read(() => this.file.readAt(into, offset));
  }

  size(): Promise<number> {
    return this.process.read(() => this.file.size());
  }

  write(bytes: Uint8Array): Promise<void> {
    return this.process.gate("write", () => this.file.write(bytes));
  }

  writeAt(bytes: Uint8Array, offset: number): Promise<void> {
    return this.process.gate("writeAt", () => this.file.writeAt(bytes, offset));
  }

  truncate(size: number): Promise<void> {
    return this.process.gate("truncate", () => this.file.truncate(size));
  }

  sync(): Promise<void> {
    if (this.process.mutation === "unsynced bytes") return this.process.gate("sync", NOTHING);
    return this.process.gate("sync", () => this.file.sync());
  }

  close(): void {
    this.file.close();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.close();
    return Promise.resolve();
  }
}

function NOTHING(): Promise<void> {
  return Promise.resolve();
}
