/**
 * The files of the page, read once at the start: `deno task web` builds them into `web/dist`. Most
 * are small and held, as the build compressed them. Anybody may ask for them, and take them slowly:
 * an answer holds a piece at a time.
 */

import { join } from "node:path";
import type { ReadableFiles } from "../../shared/os/file_system.ts";

type Pieces = () => AsyncIterable<Uint8Array<ArrayBuffer>>;

/** A file as it is sent. */
export interface PageFile {
  readonly contentType: string;
  /** Its bytes, at most `PIECE_BYTES` at a time. */
  readonly pieces: Pieces;
  /** Its bytes compressed by gzip; undefined: it is not built so. */
  readonly packed: Pieces | undefined;
}

/** Files by their names, `index.html` among them; empty where the page is not built. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** The document, which names the other files. */
export const PAGE_DOCUMENT = "index.html";

/** Where the page is built. */
export const PAGE_FOLDER = join(import.meta.dirname ?? ".", "../../web/dist");

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
  wasm: "application/wasm",
};

/** A longer file is read when it is asked for, and not held. */
const HELD_BYTES_MAX = 1_048_576;
const PIECE_BYTES = 65_536;

/**
 * Reads the page; a file of another kind is left out. A folder that is not there, or that the
 * permissions of the process leave out, has no files: the API needs no page. Errors: the file
 * system's.
 */
export async function readPageFiles(
  files: Pick<ReadableFiles, "readDir" | "readFile" | "openRead">,
  folder: string,
): Promise<PageFiles> {
  const { NotFound, NotCapable } = Deno.errors;
  const absent = (error: unknown) => {
    if (error instanceof NotFound || error instanceof NotCapable) return undefined;
    throw error;
  };
  // A build writes the document last, so the files that it names are in a list made after it.
  const text = await files.readFile(join(folder, PAGE_DOCUMENT)).catch(absent);
  const names = new Set((await files.readDir(folder).catch(absent) ?? []).map(({ name }) => name));
  const found = new Map<string, PageFile>();
  for (const name of names) {
    const contentType = CONTENT_TYPES[name.slice(name.lastIndexOf(".") + 1)];
    if (contentType === undefined) continue;
    const isPacked = name !== PAGE_DOCUMENT && names.has(`${name}.gz`);
    const path = join(folder, isPacked ? `${name}.gz` : name);
    const bytes = name === PAGE_DOCUMENT ? text : await files.readFile(path).catch(absent);
    // A build that runs removes files of older ones.
    if (bytes === undefined) continue;
    const sent = bytes.byteLength > HELD_BYTES_MAX
      ? () => piecesOfFile(files, path)
      : () => piecesOf(bytes);
    const plain = () => piecesOfFile(files, join(folder, name));
    found.set(name, {
      contentType,
      ...(isPacked ? { pieces: plain, packed: sent } : { pieces: sent, packed: undefined }),
    });
  }
  return found;
}

async function* piecesOf(bytes: Uint8Array<ArrayBuffer>): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let at = 0; at < bytes.byteLength; at += PIECE_BYTES) {
    yield bytes.subarray(at, at + PIECE_BYTES);
  }
}

/** The file is open while a piece of it is read, and not while a reader takes it. */
async function* piecesOfFile(
  files: Pick<ReadableFiles, "openRead">,
  path: string,
): AsyncGenerator<Uint8Array<ArrayBuffer>> {
  for (let at = 0;;) {
    const piece = new Uint8Array(PIECE_BYTES);
    const length = await readPiece(files, path, { into: piece, at });
    if (length === 0) return;
    at += length;
    yield piece.subarray(0, length);
  }
}

async function readPiece(
  files: Pick<ReadableFiles, "openRead">,
  path: string,
  { into, at }: { readonly into: Uint8Array; readonly at: number },
): Promise<number> {
  await using file = await files.openRead(path);
  return await file.readAt(into, at);
}
