/**
 * Statements typed before, oldest first, one per line in `$XDG_STATE_HOME/svc/history` (or
 * `~/.local/state/svc/history`). A comfort, never a reason to fail: without a home, permission or
 * space the REPL goes on without it.
 */

import { dirname, join } from "node:path";
import { textOf, utf8 } from "../../shared/base/bytes.ts";
import type { Environment } from "../../shared/config/parse_options.ts";
import type { FileSystem } from "../../shared/os/file_system.ts";

/** Older statements are forgotten. */
export const HISTORY_LENGTH_MAX = 1_000;

/** Where the history lies; undefined when the user has no home. */
export function historyPath(env: Environment): string | undefined {
  const state = env("XDG_STATE_HOME");
  if (state !== undefined && state !== "") return join(state, "svc", "history");
  const home = env("HOME");
  return home === undefined || home === ""
    ? undefined
    : join(home, ".local", "state", "svc", "history");
}

export class History {
  readonly #files: FileSystem;
  readonly #path: string | undefined;
  #entries: string[] = [];

  constructor(files: FileSystem, path: string | undefined) {
    this.#files = files;
    this.#path = path;
  }

  get entries(): readonly string[] {
    return this.#entries;
  }

  async load(): Promise<void> {
    if (this.#path === undefined) return;
    try {
      const lines = textOf(await this.#files.readFile(this.#path)).split("\n");
      this.#entries = lines.filter((line) => line !== "").slice(-HISTORY_LENGTH_MAX);
    } catch {
      // No history yet, or none for us.
    }
  }

  /**
   * Remembers a statement; the same one twice in a row is kept once. Line breaks become spaces, so
   * one with line comments inside cannot be kept.
   */
  async add(statement: string): Promise<void> {
    if (/--[^\n]*\n/.test(statement)) return;
    const line = statement.replaceAll(/\s*\n\s*/g, " ").trim();
    if (line === "" || line === this.#entries.at(-1)) return;
    this.#entries = [...this.#entries, line].slice(-HISTORY_LENGTH_MAX);
    if (this.#path === undefined) return;
    try {
      await this.#files.mkdir(dirname(this.#path));
      await this.#files.writeFileAtomic(this.#path, utf8(`${this.#entries.join("\n")}\n`));
    } catch {
      // Kept in memory for this session.
    }
  }
}
