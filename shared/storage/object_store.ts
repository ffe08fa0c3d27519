/**
 * Where table files live: whole immutable objects under keys, readable by range. Keys are relative,
 * `/`-separated, without `.` or `..` parts. One conformance suite (`shared/testing`) holds every
 * implementation to this page.
 *
 * Errors: `OperatingError` `not_found` for a missing object, `conflict` for `putNew` on an existing
 * one, `invalid_argument` for a bad key, `unavailable` for what may pass.
 */

/** An object as a list shows it: `size` in bytes, `modifiedMs` in Unix milliseconds. */
export interface ObjectInfo {
  readonly key: string;
  readonly size: number;
  readonly modifiedMs: number;
}

/** What a process may do with objects that writes none. */
export interface ReadableStore {
  /**
   * Absolute URI of the root, no trailing slash: `file:///var/lib/svc/warehouse`,
   * `s3://bucket/path`.
   */
  readonly rootUri: string;
  /** The whole object. */
  get(key: string): Promise<Uint8Array<ArrayBuffer>>;
  /** Bytes [offset, offset + length), shorter at the object's end. */
  getRange(key: string, offset: number, length: number): Promise<Uint8Array<ArrayBuffer>>;
  /**
   * What `getRange` gives of the object at a `localPath`, by a call that blocks the thread, in
   * memory that the next call uses again. Undefined: `getRange` is to be asked.
   */
  rangeNow?(path: string, offset: number, length: number): Uint8Array | undefined;
  head(key: string): Promise<ObjectInfo>;
  /** Every object whose key starts with `prefix`, by key. */
  list(prefix: string): AsyncIterable<ObjectInfo>;
  /**
   * A local path that holds this object's bytes, for engines that read files themselves; undefined
   * when the object is not local.
   */
  localPath(key: string): string | undefined;
  /**
   * Told of an object that its reader waits for though another reads it; gives what comes of that.
   */
  awaiting?<T>(key: string, answer: Promise<T>): Promise<T>;
}

/** All that a process may do with objects. */
export interface ObjectStore extends ReadableStore {
  /**
   * Stores a new object durably: when it returns, the bytes survive power loss. Refuses to replace.
   */
  putNew(key: string, bytes: Uint8Array): Promise<void>;
  /** Removes objects; a missing one is no error. */
  delete(keys: readonly string[]): Promise<void>;
}

/** What comes of a read of `key` that several share, each through a `store` of its own. */
export function sharedRead<T>(
  store: Pick<ReadableStore, "awaiting">,
  key: string,
  answer: Promise<T>,
): Promise<T> {
  return store.awaiting?.(key, answer) ?? answer;
}

/** Key of an absolute location below `rootUri`, or undefined when it lies elsewhere. */
export function keyOf(rootUri: string, location: string): string | undefined {
  return location.startsWith(`${rootUri}/`) ? location.slice(rootUri.length + 1) : undefined;
}
