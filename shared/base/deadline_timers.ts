/**
 * Timers of many waits that last equally long and mostly end early: those of one length share a
 * timer, since they end in the order in which they began. A runtime's timer a request costs more
 * than the request's access check.
 *
 * Each wait ends when it is due, to the runtime's accuracy. Nothing is kept of one that was
 * stopped, and no timer runs while nobody waits.
 */

/** One wait; `stop` it once what was waited for is there. */
export interface DeadlineTimer {
  /** May be called again, and after it was due. */
  stop(): void;
}

/** Calls `onDue` after `ms` milliseconds, unless it is stopped before. */
export function startDeadline(ms: number, onDue: () => void): DeadlineTimer {
  let waits = waitsOf.get(ms);
  if (waits === undefined) waitsOf.set(ms, waits = new Waits(ms));
  return waits.add(onDue);
}

/** By their length. */
const waitsOf = new Map<number, Waits>();

class Wait implements DeadlineTimer {
  before: Wait | undefined;
  after: Wait | undefined;
  isWaiting = true;

  constructor(readonly waits: Waits, readonly dueMs: number, readonly onDue: () => void) {}

  stop(): void {
    if (this.isWaiting) this.waits.remove(this);
  }
}

/** Waits of one length, linked in the order in which they are due. */
class Waits {
  readonly #ms: number;
  #first: Wait | undefined;
  #last: Wait | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  readonly #ring = () => this.#onTimer();

  constructor(ms: number) {
    this.#ms = ms;
  }

  add(onDue: () => void): Wait {
    const wait = new Wait(this, performance.now() + this.#ms, onDue);
    wait.before = this.#last;
    if (this.#last === undefined) this.#first = wait;
    else this.#last.after = wait;
    this.#last = wait;
    this.#timer ??= setTimeout(this.#ring, this.#ms);
    return wait;
  }

  /** The timer goes on for those behind it, and is set anew once it has rung. */
  remove(wait: Wait): void {
    const { before, after } = wait;
    wait.isWaiting = false;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    if (this.#first !== undefined) return;
    clearTimeout(this.#timer);
    this.#timer = undefined;
    waitsOf.delete(this.#ms);
  }

  #onTimer(): void {
    const nowMs = performance.now();
    const due: Wait[] = [];
    for (let wait = this.#first; wait !== undefined && wait.dueMs <= nowMs; wait = wait.after) {
      due.push(wait);
    }
    const last = due.at(-1);
    const next = last === undefined ? this.#first : last.after;
    this.#timer = next === undefined ? undefined : setTimeout(this.#ring, next.dueMs - nowMs);
    for (const wait of due) wait.stop();
    for (const wait of due) wait.onDue();
  }
}
