/**
 * Tells when a file changes, by the system's events of its directory. It is a hint, no promise:
 * events may be merged, a network file system has none, and a directory that comes later is found
 * with a delay. So a caller that waits for a change also looks now and then. Needs read permission
 * for the directory.
 */

import { basename, join } from "node:path";

export interface FileWatch extends Disposable {
  /** Whether events are to be expected now. */
  readonly isWatching: boolean;
}

const RETRY_MS = 2_000;

/**
 * Calls `onChange` when the file at `path` may have come, gone or changed, until it is disposed of.
 */
export function watchFile(path: string, onChange: () => void): FileWatch {
  return new RunningWatch(path, onChange);
}

class RunningWatch implements FileWatch {
  readonly #path: string;
  readonly #onChange: () => void;
  #watcher: Deno.FsWatcher | undefined;
  #retry: ReturnType<typeof setTimeout> | undefined;
  #isDisposed = false;

  constructor(path: string, onChange: () => void) {
    this.#path = path;
    this.#onChange = onChange;
    this.#start();
  }

  get isWatching(): boolean {
    return this.#watcher !== undefined;
  }

  #start(): void {
    if (this.#isDisposed) return;
    try {
      this.#watcher = Deno.watchFs(join(this.#path, ".."), { recursive: false });
    } catch {
      // Not there yet, or too many watches.
      this.#later();
      return;
    }
    this.#follow(this.#watcher);
    // It may have changed before the first event could come.
    this.#onChange();
  }

  async #follow(watcher: Deno.FsWatcher): Promise<void> {
    try {
      const name = basename(this.#path);
      for await (const { kind, paths } of watcher) {
        if (kind !== "access" && paths.some((path) => basename(path) === name)) this.#onChange();
      }
    } catch {
      // A watch that fails counts as one that ended.
    }
    this.#watcher = undefined;
    this.#later();
  }

  #later(): void {
    if (!this.#isDisposed) this.#retry = setTimeout(() => this.#start(), RETRY_MS);
  }

  [Symbol.dispose](): void {
    this.#isDisposed = true;
    clearTimeout(this.#retry);
    this.#watcher?.close();
  }
}
