/**
 * The files of the page, read once at the start: `deno task web` builds them into `web/dist`. They
 * are small, and a server that holds them needs no disk to answer.
 */

import { join } from "node:path";
import type { ReadableFiles } from "../../shared/os/file_system.ts";

/** A file as it is sent. */
export interface PageFile {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly contentType: string;
}

/** Files by their names, `index.html` among them; empty where the page is not built. */
export type PageFiles = ReadonlyMap<string, PageFile>;

/** Where the page is built. */
export const PAGE_FOLDER = join(import.meta.dirname ?? ".", "../../web/dist");

const CONTENT_TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  js: "text/javascript; charset=utf-8",
  css: "text/css; charset=utf-8",
};

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
  const entries = await files.readDir(folder).catch((error) => {
    if (error instanceof NotFound || error instanceof NotCapable) return [];
    throw error;
  });
  const found = new Map<string, PageFile>();
  for (const { name } of entries) {
    const contentType = CONTENT_TYPES[name.slice(name.lastIndexOf(".") + 1)];
    if (contentType === undefined) continue;
    found.set(name, { bytes: await files.readFile(join(folder, name)), contentType });
  }
  return found;
}
