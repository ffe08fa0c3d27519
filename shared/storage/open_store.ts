/**
 * Opens the warehouse that a place names: an absolute path, or `s3://bucket/path` with the
 * variables of S3 clients.
 */

import type { Clock } from "../os/clock.ts";
import { diskRoom } from "../os/disk_room.ts";
import type { FileSystem, ReadableFiles } from "../os/file_system.ts";
import type { Random } from "../os/random.ts";
import { LazyStore } from "./lazy_store.ts";
import { type LocalStoreOptions, openLocalReader, openLocalStore } from "./local_store.ts";
import type { ObjectStore, ReadableStore } from "./object_store.ts";
import { RetryingStore } from "./retrying_store.ts";
import { RoomKeepingStore } from "./room_keeping_store.ts";
import { isS3Url, parseS3Url, s3AccessOf } from "./s3_settings.ts";
import { type S3Target, ThreadedUploads } from "./threaded_uploads.ts";

export interface RemoteDeps {
  readonly clock: Clock;
  readonly random: Random;
  /** Value of a variable; asked only for a place that is not local. */
  readonly env: (name: string) => string | undefined;
  /** For messages: what named the place; default `--warehouse-url`. */
  readonly option?: string;
}

export interface OpenStore {
  readonly store: ObjectStore;
  /**
   * Removes what writers that are gone left unfinished; returns how many. Nothing where the service
   * does that.
   */
  sweepUnfinished(nowMs: number): Promise<number>;
  /** The sender of `sendsBeside`. The process does not end before it is disposed of. */
  readonly sender?: Disposable;
}

export interface OpenStoreOptions extends Pick<LocalStoreOptions, "unfinishedBelow"> {
  /**
   * Objects of S3 are sent by a thread of their own, where this process may have one; default
   * false.
   */
  readonly sendsBeside?: boolean;
  /** A local store takes nothing while its disk has little room (`RoomKeepingStore`). */
  readonly keepsRoom?: boolean;
}

/** Errors: `invalid_argument` when a variable is missing or wrong. */
export function openStore(
  place: string,
  deps: RemoteDeps & { readonly files: FileSystem },
  { sendsBeside = false, keepsRoom = false, ...options }: OpenStoreOptions = {},
): OpenStore {
  if (isS3Url(place)) {
    return {
      ...openRemote(place, { ...deps, sendsBeside }),
      sweepUnfinished: () => Promise.resolve(0),
    };
  }
  const store = openLocalStore(deps.files, place, { random: deps.random, ...options });
  return {
    store: keepsRoom ? new RoomKeepingStore(store, () => diskRoom(place)) : store,
    sweepUnfinished: (nowMs) => store.sweepTemporaries(nowMs),
  };
}

/** For reading only. Errors: as `openStore`. */
export function openStoreReader(
  place: string,
  deps: RemoteDeps & { readonly files: ReadableFiles },
): ReadableStore {
  return isS3Url(place) ? openRemote(place, deps).store : openLocalReader(deps.files, place);
}

function openRemote(
  place: string,
  { clock, random, env, option, sendsBeside = false }: RemoteDeps & { sendsBeside?: boolean },
): Pick<OpenStore, "store" | "sender"> {
  const s3 = parseS3Url(place);
  const access = s3AccessOf(env);
  const rootUri = `s3://${s3.bucket}${s3.prefix === "" ? "" : `/${s3.prefix}`}`;
  const to: S3Target = [s3, access, option === undefined ? {} : { option }];
  // Its library looks into the environment when it is loaded: a process over a local place has no
  // right to that.
  const open = async () => (await import("./s3_store.ts")).openS3Store(...to);
  if (!sendsBeside) {
    return { store: new RetryingStore(new LazyStore(rootUri, open), { clock, random }) };
  }
  const sender = new ThreadedUploads(rootUri, open, to);
  return { store: new RetryingStore(sender, { clock, random }), sender };
}
