/**
 * What processes take of memory, read from `/proc`, for tests: Linux alone. Pages of program files
 * do not count: they are shared, and the system takes them back when it wants to.
 */

export interface ProcessMemory {
  readonly pid: number;
  /** Now: `VmRSS` without `RssFile`. */
  readonly bytes: number;
  /** The most since the process began: `VmHWM` without today's `RssFile`. */
  readonly bytesMost: number;
}

/** Memory of `pid` and of all processes below it, `pid` first; of those that live. */
export function memoryBelow(pid: number): ProcessMemory[] {
  const own = memoryOf(pid);
  return [...own === undefined ? [] : [own], ...childrenOf(pid).flatMap(memoryBelow)];
}

/** Looks now and then, and keeps the look when all processes together took the most. */
export class PeakMemory implements Disposable {
  readonly #look: () => readonly number[];
  readonly #timer: ReturnType<typeof setInterval>;
  #most: readonly number[] = [];

  /** `look`: the bytes of each process. */
  constructor(look: () => readonly number[], { everyMs }: { readonly everyMs: number }) {
    this.#look = look;
    this.#timer = setInterval(() => this.sample(), everyMs);
  }

  sample(): void {
    const now = this.#look();
    if (sumOf(now) > sumOf(this.#most)) this.#most = now;
  }

  /** Bytes of all processes together. */
  get bytes(): number {
    return sumOf(this.#most);
  }

  get processes(): number {
    return this.#most.length;
  }

  /** Bytes of each process: `112 + 240 MiB`. */
  get told(): string {
    return `${this.#most.map((bytes) => Math.round(bytes / 2 ** 20)).join(" + ")} MiB`;
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function sumOf(numbers: readonly number[]): number {
  return numbers.reduce((sum, one) => sum + one, 0);
}

/** Undefined for a process that has ended. */
function memoryOf(pid: number): ProcessMemory | undefined {
  const status = textOf(`/proc/${pid}/status`);
  const field = (name: string) =>
    1024 * Number(new RegExp(`^${name}:\\s+(\\d+)`, "m").exec(status)?.[1]);
  const files = field("RssFile");
  if (Number.isNaN(files)) return undefined;
  return { pid, bytes: field("VmRSS") - files, bytesMost: field("VmHWM") - files };
}

function childrenOf(pid: number): number[] {
  const threads = entriesOf(`/proc/${pid}/task`);
  return threads.flatMap((thread) =>
    textOf(`/proc/${pid}/task/${thread}/children`).split(" ").filter((word) => word !== "")
  ).map(Number);
}

function entriesOf(path: string): string[] {
  try {
    return Array.from(Deno.readDirSync(path), ({ name }) => name);
  } catch {
    return []; // It has ended.
  }
}

function textOf(path: string): string {
  try {
    return Deno.readTextFileSync(path).trim();
  } catch {
    return ""; // It has ended.
  }
}
