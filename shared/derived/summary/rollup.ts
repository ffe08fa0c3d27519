/**
 * A roll-up: the summaries of many data files of one day, added up, so that a query server that has
 * just begun reads one file instead of thousands. README.md has the layout.
 *
 * It names the data files that it covers. A reader adds the summaries of files that it lacks and
 * subtracts those of files that are gone. So it need not be of the snapshot that is queried, nor of
 * any: data files never change.
 */

import { textOf, utf8 } from "../../base/bytes.ts";
import { totalRows } from "../../base/total_rows.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import { writePuffin } from "../puffin.ts";
import { readBlob, readPuffin, type SidecarSubject } from "../sidecar.ts";
import type { Blob } from "../types.ts";
import { FileSummary } from "./file_summary.ts";
import { corruptSummary, SummaryReader, SummaryWriter } from "./summary_bytes.ts";

const ROLLUP_FILES_BLOB = "svc-rollup-files-v1";

const DATA_FILE = /^(?<table>.*)\/data\/timestamp_day=(?<day>\d{4}-\d\d-\d\d)\/[^/]+$/;
/** `<table>/rollups/<day>/<milliseconds since 1970, 15 digits>-<uuid>.puffin`. */
const ROLLUP = /^(?<table>.*)\/rollups\/(?<day>\d{4}-\d\d-\d\d)\/\d{15}-[0-9a-f-]{36}\.puffin$/;
const MS_DIGITS = 15;

/** The summaries of several data files, added up. */
export interface Rollup {
  readonly files: readonly SidecarSubject[];
  /** The summary of all their rows. */
  readonly summary: FileSummary;
}

/**
 * Where the roll-ups of a data file's day are: a prefix of their keys. Undefined: it lies in no
 * folder of ours.
 */
export function rollupFolder(dataKey: string): string | undefined {
  const parts = DATA_FILE.exec(dataKey)?.groups;
  return parts === undefined ? undefined : `${parts["table"]}/rollups/${parts["day"]}/`;
}

/** The prefix of a roll-up's key that `rollupFolder` gives; undefined for another key. */
export function folderOfRollup(key: string): string | undefined {
  const parts = ROLLUP.exec(key)?.groups;
  return parts === undefined ? undefined : `${parts["table"]}/rollups/${parts["day"]}/`;
}

/** Keys of one folder sort by age. */
export function rollupKey(
  folder: string,
  { nowMs, uuid }: { readonly nowMs: number; readonly uuid: string },
): string {
  return `${folder}${String(Math.floor(nowMs)).padStart(MS_DIGITS, "0")}-${uuid}.puffin`;
}

/** When the roll-up of a key was made, in milliseconds since 1970. */
export function writtenMsOfRollup(key: string): number {
  const name = key.slice(key.lastIndexOf("/") + 1);
  return Number(name.slice(0, MS_DIGITS));
}

/** `blobs`: a summary of all rows of `files`, which are all in `folder`'s day. */
export function writeRollup(
  files: readonly SidecarSubject[],
  blobs: readonly Blob[],
): Uint8Array<ArrayBuffer> {
  const writer = new SummaryWriter();
  writer.varint(files.length);
  for (const { key, rows } of files) {
    const bytes = utf8(key);
    writer.varint(bytes.byteLength);
    writer.bytes(bytes);
    writer.varint(rows);
  }
  const own: Blob = { type: ROLLUP_FILES_BLOB, fields: [], data: writer.finish() };
  return writePuffin([own, ...blobs], { "created-by": "svc" });
}

/** The newest of a folder; undefined: there is none. Errors: `corrupt`; the store's. */
export async function newestRollup(
  store: ReadableStore,
  folder: string,
): Promise<Rollup | undefined> {
  let newest: string | undefined;
  for await (const { key } of store.list(folder)) {
    if (folderOfRollup(key) === folder) newest = key;
  }
  return newest === undefined ? undefined : await readRollup(store, newest);
}

/** Errors: `corrupt`; the store's. */
export async function readRollup(store: ReadableStore, key: string): Promise<Rollup> {
  const sidecar = await readPuffin(store, key);
  const place = sidecar.blobs.find(({ type }) => type === ROLLUP_FILES_BLOB);
  if (place === undefined) throw corruptSummary("it does not name its files");
  const files = decodeFiles(await readBlob(store, sidecar, { place }));
  const rows = totalRows(files);
  const summary = FileSummary.of(store, sidecar, rows);
  if (summary === undefined) throw corruptSummary("it has no summary");
  return { files, summary };
}

function decodeFiles(blob: Uint8Array): SidecarSubject[] {
  const reader = new SummaryReader(blob);
  const files = Array.from({ length: reader.count() }, () => {
    const key = textOf(reader.bytes(reader.varint()));
    return { key, rows: reader.varint() };
  });
  reader.end();
  return files;
}
