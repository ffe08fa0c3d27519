/** What is being done, on one line of a terminal that is written over; nothing in a pipe. */

interface Terminal {
  isTerminal(): boolean;
  writeSync(bytes: Uint8Array): number;
}

const TICK_MS = 1_000;
const ERASE_LINE = "\r\x1b[2K";

export class Progress implements Disposable {
  readonly #terminal: Terminal | undefined;
  readonly #timer: ReturnType<typeof setInterval> | undefined;
  #text = "";
  #sinceMs = 0;

  constructor(terminal: Terminal) {
    if (!terminal.isTerminal()) return;
    this.#terminal = terminal;
    this.#timer = setInterval(() => this.#draw(), TICK_MS);
  }

  show(text: string): void {
    this.#text = text;
    this.#sinceMs = performance.now();
    this.#draw();
  }

  [Symbol.dispose](): void {
    if (this.#timer !== undefined) clearInterval(this.#timer);
    this.#write(ERASE_LINE);
  }

  #draw(): void {
    const secs = Math.floor((performance.now() - this.#sinceMs) / 1_000);
    if (this.#text !== "") this.#write(`${ERASE_LINE}${this.#text}, ${secs} s`);
  }

  #write(text: string): void {
    this.#terminal?.writeSync(new TextEncoder().encode(text));
  }
}
