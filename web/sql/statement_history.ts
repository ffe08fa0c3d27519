/** The statements that ran in this browser, newest first. They stay here: nobody else sees them. */

import { signal } from "@preact/signals";

export interface PastStatement {
  readonly sql: string;
  /** Unix milliseconds. */
  readonly atMs: number;
  readonly tookMs: number;
  /** Undefined: it failed. */
  readonly rows: number | undefined;
  readonly where: "server" | "browser";
}

const KEY = "svc.sql.history";
const STATEMENTS_MAX = 100;
/** A longer statement is not kept: browsers give a page few megabytes. */
const LETTERS_MAX = 20_000;

export const statementHistory = signal<readonly PastStatement[]>(readHistory());

/** Puts a statement first; the same statement moves there. */
export function noteStatement(past: PastStatement): void {
  if (past.sql.length > LETTERS_MAX) return;
  // Another tab may have added some.
  const others = readHistory().filter(({ sql }) => sql !== past.sql);
  keepHistory([past, ...others].slice(0, STATEMENTS_MAX));
}

export function clearHistory(): void {
  keepHistory([]);
}

function keepHistory(next: readonly PastStatement[]): void {
  statementHistory.value = next;
  try {
    localStorage.setItem(KEY, JSON.stringify(next));
  } catch {
    // No room: the older half goes, and this tab still has all.
    localStorage.setItem(KEY, JSON.stringify(next.slice(0, next.length / 2)));
  }
}

function readHistory(): readonly PastStatement[] {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY) ?? "[]");
    return Array.isArray(kept) ? kept.filter((one) => typeof one?.sql === "string") : [];
  } catch {
    return [];
  }
}
