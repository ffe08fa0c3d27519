/**
 * The sidecar of a data file: one Puffin file with all that is derived of its rows, found by the
 * data file's name.
 *
 * Invariants: it is written before the commit that adds its data file, never changed (mending makes
 * it anew as a whole), and removed with the data file. It says itself which rows it is about (the
 * data file's name and number of rows), so that one that was copied, renamed or left over is
 * refused. Where one is missing or damaged, the data file is read instead.
 */

import { isOperatingError, OperatingError } from "../base/errors.ts";
import type { ReadableStore } from "../storage/object_store.ts";
import {
  type BlobPlace,
  CHECKSUM_PROPERTY,
  type PuffinFooter,
  readPuffinTail,
  writePuffin,
} from "./puffin.ts";
import type { Blob } from "./types.ts";

/** What a sidecar is of. */
export interface SidecarSubject {
  /** Key of the data file. */
  readonly key: string;
  readonly rows: number;
}

/** A sidecar that was found and checked: what is in it, and where. */
export interface Sidecar {
  /** Its own key. */
  readonly key: string;
  readonly byteLength: number;
  /** The checksum of its footer: a sidecar that is made anew with other contents has another. */
  readonly checksum: string;
  readonly blobs: readonly BlobPlace[];
}

/** First read of the file's end: the footer of a table with some tens of columns. */
const TAIL_BYTES = 8 * 1024;
const DATA_FILE = /^(?<table>.*)\/data\/(?:[^/]+\/)*(?<name>[^/]+)\.parquet$/;

/** Key of the sidecar of the data file at `dataKey`. */
export function sidecarKey(dataKey: string): string {
  const parts = DATA_FILE.exec(dataKey)?.groups;
  // Another writer's layout.
  if (parts === undefined) return `${dataKey}.puffin`;
  return `${parts["table"]}/derived/${parts["name"]}.puffin`;
}

/** All files that stand for data files: they themselves, and their sidecars. For removals. */
export function withSidecars(dataKeys: readonly string[]): string[] {
  return dataKeys.flatMap((key) => [key, sidecarKey(key)]);
}

/** The bytes of a sidecar. */
export function writeSidecar(
  blobs: readonly Blob[],
  { key, rows }: SidecarSubject,
): Uint8Array<ArrayBuffer> {
  return writePuffin(blobs, {
    "created-by": "svc",
    "svc.data-file": nameOf(key),
    "svc.rows": String(rows),
  });
}

/** undefined: there is none. Errors: `corrupt`, also of another file's sidecar; the store's. */
export async function readSidecar(
  store: ReadableStore,
  subject: SidecarSubject,
): Promise<Sidecar | undefined> {
  const key = sidecarKey(subject.key);
  let size: number;
  try {
    ({ size } = await store.head(key));
  } catch (error) {
    if (isOperatingError(error, "not_found")) return undefined;
    throw error;
  }
  const { sidecar, properties } = await openPuffin(store, key, size);
  const { "svc.data-file": name, "svc.rows": rows } = properties;
  if (name !== nameOf(subject.key) || rows !== String(subject.rows)) {
    throw new OperatingError(
      "corrupt",
      `Cannot use ${key}: it is of ${rows} rows of ${name}, not of ${subject.rows} of ${subject.key}`,
    );
  }
  return sidecar;
}

/** Where the sidecars of data files are read. */
export interface SidecarSource {
  /** Reads what `readSidecar` does. */
  read(store: ReadableStore, subject: SidecarSubject): Promise<Sidecar | undefined>;
  /**
   * Something of that sidecar fails a check: what is known of it may be of one that was made anew
   * since.
   */
  distrust(subject: SidecarSubject): void;
}

/** Any file of this container. Errors: `corrupt`; the store's. */
export async function readPuffin(
  store: Pick<ReadableStore, "head" | "getRange">,
  key: string,
): Promise<Sidecar> {
  const { size } = await store.head(key);
  return (await openPuffin(store, key, size)).sidecar;
}

async function openPuffin(
  store: Pick<ReadableStore, "getRange">,
  key: string,
  size: number,
): Promise<{ readonly sidecar: Sidecar; readonly properties: PuffinFooter["properties"] }> {
  const { blobs, properties } = await footerOf(store, key, size);
  const checksum = properties[CHECKSUM_PROPERTY] ?? "";
  return { sidecar: { key, byteLength: size, checksum, blobs }, properties };
}

async function footerOf(
  store: Pick<ReadableStore, "getRange">,
  key: string,
  size: number,
): Promise<PuffinFooter> {
  const about = { size, what: key };
  let tail = readPuffinTail(await endOf(store, key, { size, bytes: TAIL_BYTES }), about);
  if ("bytesNeeded" in tail) {
    const { bytesNeeded } = tail;
    tail = readPuffinTail(await endOf(store, key, { size, bytes: bytesNeeded }), about);
  }
  if ("bytesNeeded" in tail) throw new OperatingError("corrupt", `Cannot read ${key}: it was cut`);
  return tail.footer;
}

/** A blob, or `part` of it. Errors: `corrupt` when the file is shorter; the store's. */
export async function readBlob(
  store: ReadableStore,
  { key }: Pick<Sidecar, "key">,
  { place, part = { offset: 0, length: place.length } }: {
    readonly place: BlobPlace;
    /** Within the blob. */
    readonly part?: { readonly offset: number; readonly length: number };
  },
): Promise<Uint8Array<ArrayBuffer>> {
  const bytes = await store.getRange(key, place.offset + part.offset, part.length);
  if (bytes.byteLength === part.length) return bytes;
  throw new OperatingError(
    "corrupt",
    `Cannot read ${part.length} bytes of ${place.type} in ${key}: it gives ${bytes.byteLength}`,
  );
}

function endOf(
  store: Pick<ReadableStore, "getRange">,
  key: string,
  { size, bytes }: { readonly size: number; readonly bytes: number },
): Promise<Uint8Array> {
  const length = Math.min(size, bytes);
  return store.getRange(key, size - length, length);
}

/** Without the folders: a warehouse may be moved. */
function nameOf(dataKey: string): string {
  return dataKey.slice(dataKey.lastIndexOf("/") + 1);
}
