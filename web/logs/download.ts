/** Downloads of what was searched, as files. */

import { signal } from "@preact/signals";
import { refusal, request } from "../api/request.ts";
import { saveFile } from "../view/save_file.ts";
import { asked, type Failure, failureOf } from "./log_state.ts";
import { downloadSql } from "./log_statements.ts";

export type DownloadFormat = "csv" | "ndjson" | "parquet";

/** How far a download is. */
export interface Download {
  readonly format: DownloadFormat;
  readonly bytes: number;
  readonly stop: () => void;
}

export const DOWNLOAD_FORMATS: readonly DownloadFormat[] = ["csv", "ndjson", "parquet"];

/** Pieces are handed to the browser, which may keep them on disk. */
const PIECE_BYTES = 8 * 2 ** 20;
const LAST_LINE_BYTES = 65_536;

export const download = signal<Download | undefined>(undefined);
export const downloadFailure = signal<Failure | undefined>(undefined);

/** Asks for all rows of the search, the newest first, and gives them to the browser as a file. */
export async function startDownload(format: DownloadFormat): Promise<void> {
  const now = asked.peek();
  if (now === undefined) return;
  download.peek()?.stop();
  const running = new AbortController();
  const { signal } = running;
  const stop = () => running.abort();
  downloadFailure.value = undefined;
  const tell = (bytes: number) => download.value = { format, bytes, stop };
  tell(0);
  const name = `${now.query.table}-${fileTime(now.query.instants.from)}.${format}`;
  try {
    const response = await request("sql", {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ query: downloadSql(now.query), format, download: name }),
      signal,
    });
    if (!response.ok) throw refusal(await response.text(), response.status);
    const blob = await blobOf(response, tell);
    if (format === "ndjson") await tellCut(blob);
    saveFile(blob, name);
  } catch (error) {
    if (signal.aborted) return;
    downloadFailure.value = error instanceof TypeError
      ? {
        message:
          "The download broke off. The connection was lost, or these are more rows than the " +
          "server gives at once. Try again, or search for less.",
      }
      : failureOf(error);
  } finally {
    if (download.peek()?.stop === stop) download.value = undefined;
  }
}

/** Errors: `TypeError` where the connection is cut. */
async function blobOf(response: Response, tell: (bytes: number) => void): Promise<Blob> {
  const reader = response.body?.getReader();
  const type = response.headers.get("content-type") ?? "";
  let blob = new Blob([], { type });
  let pieces: Uint8Array<ArrayBuffer>[] = [];
  let pieceBytes = 0;
  for (;;) {
    const read = await reader?.read();
    if (read?.value === undefined) return new Blob([blob, ...pieces], { type });
    pieces.push(read.value);
    pieceBytes += read.value.byteLength;
    tell(blob.size + pieceBytes);
    if (pieceBytes < PIECE_BYTES) continue;
    blob = new Blob([blob, ...pieces], { type });
    pieces = [];
    pieceBytes = 0;
  }
}

/** A stream that was cut says so in its last line: docs/api/query.md#ndjson-answer. */
async function tellCut(blob: Blob): Promise<void> {
  const end = await blob.slice(-LAST_LINE_BYTES).text();
  const last = end.trimEnd().split("\n").at(-1) ?? "";
  if (!last.startsWith('{"_meta"')) return;
  downloadFailure.value = {
    message: "The file is not whole: the server gives no more rows at once. Its last line says " +
      "why. Search for less.",
  };
}

/** `20261120T210405Z`, which every file system takes. */
function fileTime(ms: number): string {
  return new Date(ms).toISOString().replaceAll(/[-:]|\.\d+/g, "");
}
