/**
 * The file system as an interface, so that tests can lose power. Paths are absolute or relative to
 * the process's directory. Errors keep Deno's classes (`Deno.errors.NotFound`, `AlreadyExists`, …).
 *
 * Durability: bytes are durable after `File.sync()`; a new, renamed or removed name is durable
 * after `syncDir()` of its directory. Nothing else is promised, and `shared/testing` takes this
 * literally.
 *
 * Capabilities: hand out `ReadableFiles` where nothing is written.
 */

/** What is known of a file or directory; `size` in bytes. */
export interface FileStat {
  readonly isFile: boolean;
  readonly isDirectory: boolean;
  readonly size: number;
  readonly mtimeMs: number;
  /** Tells files of one file system apart that have the same path one after the other. */
  readonly inode: number;
}

export interface DirEntry {
  readonly name: string;
  readonly isFile: boolean;
  readonly isDirectory: boolean;
}

/** A file that is open for reading. */
export interface ReadableFile extends AsyncDisposable {
  /** Fills up to `into.length` bytes from `offset`; returns how many, 0 at the end of the file. */
  readAt(into: Uint8Array, offset: number): Promise<number>;
  size(): Promise<number>;
  close(): void;
}

/** A file that also reads by calls that block the thread. */
export interface BlockingFile extends ReadableFile {
  /** Reads like `readAt`, which must not be running. */
  readNow(into: Uint8Array, offset: number): number;
}

/**
 * Calls that block the thread: for what the kernel has at hand. Then they take some microseconds,
 * and a hop to another thread and back takes ten times as long.
 */
export interface BlockingFiles {
  statNow(path: string): FileStat;
  openNow(path: string): BlockingFile;
}

/** A file that is open for reading and writing. */
export interface File extends ReadableFile {
  /** Appends all of `bytes` at the end of what this handle wrote; short writes are completed. */
  write(bytes: Uint8Array): Promise<void>;
  /**
   * Puts all of `bytes` at `offset`, past the end with zeros before them; `write` goes on where it
   * was.
   */
  writeAt(bytes: Uint8Array, offset: number): Promise<void>;
  /**
   * Cuts the file to `size` bytes, or extends it with zeros that take no space, and continues
   * writing there.
   */
  truncate(size: number): Promise<void>;
  /** fdatasync: contents and size are durable when it returns. */
  sync(): Promise<void>;
}

/** What a process may do that writes nothing. */
export interface ReadableFiles {
  openRead(path: string): Promise<ReadableFile>;
  readFile(path: string): Promise<Uint8Array<ArrayBuffer>>;
  stat(path: string): Promise<FileStat>;
  exists(path: string): Promise<boolean>;
  /** Entries in no particular order; throws `NotFound` when there is no such directory. */
  readDir(path: string): Promise<DirEntry[]>;
  /** Bytes that an unprivileged process may still write on the file system that holds `path`. */
  freeBytes(path: string): Promise<number>;
  /** Absent: there are no such calls. */
  readonly blocking?: BlockingFiles;
}

/** All that a process may do with files. */
export interface FileSystem extends ReadableFiles {
  /** Creates a file that must not exist; positioned at 0. */
  create(path: string): Promise<File>;
  /** Opens an existing file for writing after its last byte. */
  openAppend(path: string): Promise<File>;
  /**
   * Writes a whole file under a temporary name, syncs it, renames it to `path`, syncs the
   * directory.
   */
  writeFileAtomic(path: string, bytes: Uint8Array): Promise<void>;
  /** Creates a directory and its missing parents; no error when it is there. Syncs nothing. */
  mkdir(path: string): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  link(from: string, to: string): Promise<void>;
  remove(path: string): Promise<void>;
  removeTree(path: string): Promise<void>;
  /** Sets the modification time of a file; durable when the file system pleases. */
  setModified(path: string, modifiedMs: number): Promise<void>;
  syncDir(path: string): Promise<void>;
  /**
   * Takes an exclusive advisory lock on `path` (created if needed), held until disposed or the
   * process ends. Returns undefined when another process holds it.
   */
  tryLock(path: string): Promise<FileLock | undefined>;
}

/** Released when it is disposed, which it may be again. */
export interface FileLock extends Disposable {
  /**
   * Whether its path still names the file that is locked: another file there may be locked by
   * anybody.
   */
  isInPlace(): Promise<boolean>;
}
