/** How far something is, for who watches a terminal. */

import type { Console } from "./console.ts";

/** One line of the terminal, written over and over. */
export class ProgressLine {
  readonly #console: Console;
  #isShown = false;

  constructor(console: Console) {
    this.#console = console;
  }

  /**
   * Shows as many of `parts` as fit, and a piece of the first at least: half a number would be
   * another one.
   */
  async show([first = "", ...more]: readonly string[]): Promise<void> {
    this.#isShown = true;
    const lengthMax = (this.#console.notes.columns() || 80) - 1; // Some terminals say 0.
    let text = first.slice(0, lengthMax);
    for (const part of more) {
      const longer = `${text} · ${part}`;
      if (longer.length > lengthMax) break;
      text = longer;
    }
    await this.#console.notes.write(`\r\x1b[K${text}`);
  }

  async clear(): Promise<void> {
    if (this.#isShown) await this.#console.notes.write("\r\x1b[K");
    this.#isShown = false;
  }
}
