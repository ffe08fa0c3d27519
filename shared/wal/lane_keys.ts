/** The idempotency keys of one lane: what it remembers, and the files that outlive the process. */

import type { LaneId } from "../tenant/tenant.ts";
import type { FileSystem } from "../os/file_system.ts";
import type { FrameKey } from "./frame_key.ts";
import { readKeyFile, readKeyFiles, removeKeyFiles, replaceKeyFile } from "./key_files.ts";
import { KeyWindow, type KeyWindowOptions } from "./key_window.ts";

interface KeyFile {
  readonly segment: string;
  readonly newestMs: number;
  readonly count: number;
}

export interface LaneKeysPlace extends KeyWindowOptions {
  readonly fs: FileSystem;
  readonly root: string;
  readonly lane: LaneId;
}

export class LaneKeys {
  readonly window: KeyWindow;
  readonly #place: LaneKeysPlace;
  /** Oldest segment first. */
  #files: KeyFile[] = [];

  /** Reads what earlier processes left. Errors: `corrupt`, `unimplemented`, the file system's. */
  static async load(place: LaneKeysPlace): Promise<LaneKeys> {
    const keys = new LaneKeys(place);
    for (const found of await readKeyFiles(place.fs, place.root, place.lane)) {
      keys.window.load(found.segment, found.keys);
      keys.#track(found.segment, found.keys);
    }
    return keys;
  }

  private constructor(place: LaneKeysPlace) {
    this.#place = place;
    this.window = new KeyWindow(place);
  }

  /** Makes a segment's keys durable: before it is sealed. */
  async save(segment: string, keys: readonly FrameKey[]): Promise<void> {
    if (keys.length === 0) return;
    const { fs, root, lane } = this.#place;
    await replaceKeyFile(fs, root, { lane, segment, keys });
    this.#track(segment, keys);
  }

  /**
   * Takes over the keys of a segment that was given up and is sealed now, as its file has them. Its
   * senders got an error, so the window may have forgotten them. Errors: as `load`.
   */
  async takeOver(segment: string): Promise<void> {
    const { fs, root, lane } = this.#place;
    const keys = await readKeyFile(fs, root, { lane, segment });
    this.window.replace(segment, keys);
    this.#track(segment, keys);
  }

  /** Removes the files that hold nothing but keys that are too old or too many. */
  async removeForgotten(nowMs: number): Promise<void> {
    const { fs, root, lane, keysMax, keyAgeMsMax } = this.#place;
    let behind = this.#files.reduce((sum, { count }) => sum + count, 0);
    const segments: string[] = [];
    for (const { segment, newestMs, count } of this.#files) {
      behind -= count;
      if (behind < keysMax && nowMs - newestMs <= keyAgeMsMax) break;
      segments.push(segment);
    }
    if (segments.length === 0) return;
    await removeKeyFiles(fs, root, { lane, segments });
    this.#files.splice(0, segments.length);
  }

  #track(segment: string, keys: readonly FrameKey[]): void {
    this.#files = this.#files.filter((file) => file.segment !== segment);
    if (keys.length === 0) return;
    const newestMs = keys.reduce((newest, { takenMs }) => Math.max(newest, takenMs), 0);
    this.#files.push({ segment, newestMs, count: keys.length });
  }
}
