/** Which row the keys `j` and `k` are at. */

import { signal } from "@preact/signals";
import { rows } from "./log_state.ts";

/** The key of that row; it has the focus, or had it last. */
export const activeRow = signal<string | undefined>(undefined);

let reveal: ((index: number) => void) | undefined;

/** The list that is shown: `reveal` scrolls to a row. */
export function setReveal(next: typeof reveal): void {
  reveal = next;
}

/** Goes to the next row, or the one before. */
export function moveRow(by: 1 | -1): void {
  const shown = rows.peek() ?? [];
  const at = shown.findIndex((row) => row.key === activeRow.value);
  const next = at === -1 ? 0 : Math.max(0, Math.min(shown.length - 1, at + by));
  const row = shown[next];
  if (row === undefined) return;
  activeRow.value = row.key;
  reveal?.(next);
  focusRow(row.key);
}

/** Rows of a virtual list are there a frame or two after they were scrolled to. */
function focusRow(key: string, framesLeft = 10): void {
  const line = document.querySelector<HTMLElement>(`.row[data-key="${CSS.escape(key)}"] > .line`);
  if (line !== null) line.focus({ preventScroll: true });
  else if (framesLeft > 0) requestAnimationFrame(() => focusRow(key, framesLeft - 1));
}
