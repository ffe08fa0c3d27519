/**
 * The files of the page, read once at the start: `deno task web` builds them into `web/dist`. Most
 * are small and held, as the build compressed them.
 */

import { join } from "node:path";
import type { ReadableFiles } from "../../shared/os/file_system.ts";

/** A file as it is sent. */
export interface PageFile {
  readonly contentType: string;
  /** Whether `read` gives the file compressed by gzip. */
  readonly isPacked: boolean;
  readonly read: () => Promise<Uint8Array<ArrayBuffer>>;
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

/**
 * Reads the page; a file of another kind is left out. A folder that is not there, or that the
 * permissions of the process leave out, has no files: the API needs no page. Errors: the file
 * system's.
 */
export async function readPageFiles(
  files: Pick<ReadableFiles, "readDir" | "readFile">,
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
    const read = bytes.byteLength > HELD_BYTES_MAX
      ? () => files.readFile(path)
      : () => Promise.resolve(bytes);
    found.set(name, { contentType, isPacked, read });
  }
  return found;
}
