/**
 * One thread for many processes. A process runs until it calls the world outside: a file, the
 * store, the catalog, the clock. There it waits until the scheduler picks its call. A call that is
 * picked takes effect as a whole, before anything else is picked. So a seed decides the order of
 * everything, and the fate of each call.
 *
 * Invariant: between two picks nothing waits for a timer or another thread, so a seed repeats.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import type { SeededRandom } from "../../shared/testing/seeded_random.ts";
import type { CallFaults, Place } from "./faults.ts";
import { Violation } from "./violation.ts";

/** A process, as far as its turns go. */
export interface Runner {
  readonly name: string;
  readonly isDead: boolean;
  /** It stands still until then. */
  readonly pausedUntilMs: number;
}

/** What a call is, for the trace and for its faults. */
export interface Call {
  readonly label: string;
  readonly place: Place;
}

interface Ticket {
  /** undefined: on the wire, whatever becomes of its sender. */
  readonly process: Runner | undefined;
  readonly label: string;
  readonly readyMs: number;
  /** Performs the step. */
  readonly run: () => Promise<void> | void;
  /** The effect of a call that is under way, without its answer. */
  readonly effect?: () => Promise<unknown>;
  readonly place: Place;
}

/** How long a picked step takes at most, in virtual milliseconds. */
const STEP_MS_MAX = 8;
/** A late effect comes so much later at most. */
const LATE_MS_MAX = 120_000;
/** Turns of the microtask queue after a step or a read: more than the product takes to the next. */
const TURNS = 40;
/** Shares of what becomes of calls that are under way when their process ends. */
const WIRE_SHARE = 0.4;
const ANSWER_LATER_SHARE = 0.1;

export class Scheduler {
  readonly random: SeededRandom;
  /** Virtual milliseconds since the beginning. */
  nowMs = 0;
  steps = 0;
  readonly trace: string[] = [];
  /** Faults of calls; none once the seed's chaos is over. */
  faults: CallFaults | undefined;
  /** Called before each pick. */
  beforeStep: () => Promise<void> = () => Promise.resolve();
  #tickets: Ticket[] = [];
  #failure: unknown;
  /** Turns since a process did something that is no step. */
  #turns = 0;

  constructor(random: SeededRandom) {
    this.random = random;
  }

  note(line: string): void {
    this.trace.push(`${this.steps} ${Math.floor(this.nowMs)} ${line}`);
  }

  /** Ends the run with `error`. */
  fail(error: unknown): void {
    this.#failure ??= error;
  }

  /** A process does something that is no step: none is picked until it has come to one. */
  goesOn(): void {
    this.#turns = 0;
  }

  /** A call of `process`; `effect` is told whether its disk shall fail. */
  call<T>(process: Runner, call: Call, effect: (fails: boolean) => Promise<T>): Promise<T> {
    if (process.isDead) return new Promise(() => {});
    return new Promise((resolve, reject) =>
      this.#tickets.push({
        process,
        label: call.label,
        place: call.place,
        readyMs: this.nowMs,
        run: () => this.#perform(process, call, { effect, resolve, reject }),
        effect: () => effect(false),
      })
    );
  }

  async #perform<T>(
    process: Runner,
    { label, place }: Call,
    { effect, resolve, reject }: {
      effect: (fails: boolean) => Promise<T>;
      resolve: (value: T) => void;
      reject: (error: unknown) => void;
    },
  ): Promise<void> {
    const fate = this.faults?.fateOf(place, this.random) ?? "done";
    this.note(`${process.name} ${label}${fate === "done" ? "" : ` ${fate}`}`);
    if (fate === "refused") return reject(lostCall(label));
    if (fate === "late") {
      this.later(
        this.random.below(LATE_MS_MAX),
        `late ${label}`,
        async () => void await effect(false),
      );
      return reject(lostCall(label));
    }
    let answer: () => void;
    try {
      const value = await effect(fate === "broken");
      answer = fate === "unheard" ? () => reject(lostCall(label)) : () => resolve(value);
    } catch (error) {
      if (error instanceof Violation) throw error;
      answer = () => reject(error);
    }
    const waits = place === "network" && this.faults !== undefined &&
      this.random.chance(ANSWER_LATER_SHARE);
    if (!waits) return answer();
    const readyMs = this.nowMs + this.random.below(200);
    this.#tickets.push({ process, label: `answer ${label}`, place, readyMs, run: answer });
  }

  /** Runs `act` in `ms`, whatever ends until then. A promise that it breaks ends the run. */
  later(ms: number, label: string, act: () => Promise<void> | void): void {
    const run = async () => {
      this.note(label);
      try {
        await act();
      } catch (error) {
        if (error instanceof Violation) throw error;
      }
    };
    this.#tickets.push({ process: undefined, label, place: "none", readyMs: this.nowMs + ms, run });
  }

  /** A pause of `process`; its end is a step like any other. */
  sleep(process: Runner, ms: number, signal?: AbortSignal): Promise<void> {
    if (process.isDead) return new Promise(() => {});
    return new Promise((resolve, reject) => {
      if (signal?.aborted) return reject(signal.reason);
      const onAbort = () => {
        this.#tickets = this.#tickets.filter((other) => other !== ticket);
        reject(signal?.reason);
      };
      const ticket: Ticket = {
        process,
        label: "wakes",
        place: "none",
        readyMs: this.nowMs + Math.max(0, ms),
        run: () => {
          signal?.removeEventListener("abort", onAbort);
          resolve();
        },
      };
      signal?.addEventListener("abort", onAbort, { once: true });
      this.#tickets.push(ticket);
    });
  }

  /** `process` has ended. Some of its calls that are under way take effect all the same. */
  async abandon(process: Runner): Promise<void> {
    const own = this.#tickets.filter((ticket) => ticket.process === process);
    this.#tickets = this.#tickets.filter((ticket) => ticket.process !== process);
    for (const { label, place, effect } of own) {
      if (effect === undefined || place === "none" || !this.random.chance(WIRE_SHARE)) continue;
      if (place === "network") {
        const ms = this.random.below(this.random.chance(0.5) ? 100 : LATE_MS_MAX);
        this.later(ms, `late ${label}`, async () => void await effect());
        continue;
      }
      this.note(`last ${label}`);
      await effect().catch((error) => {
        if (error instanceof Violation) throw error;
      });
    }
  }

  /** Picks one step after the other until `isOver`. Errors: what a step found; `stuck`. */
  async run(isOver: () => boolean, stepsMax: number): Promise<void> {
    const endSteps = this.steps + stepsMax;
    for (;;) {
      await this.#settle();
      if (this.#failure !== undefined) throw this.#failure;
      if (isOver()) return;
      if (this.steps >= endSteps) throw new Violation(`not over after ${stepsMax} steps`);
      await this.beforeStep();
      const ticket = this.#pick();
      if (ticket === undefined) {
        // An abort or a timer may have something under way that no call shows yet.
        await macrotask();
        if (this.#next() === undefined && !isOver()) throw new Violation("nothing can go on");
        continue;
      }
      this.steps += 1;
      this.nowMs += this.random.float() * STEP_MS_MAX;
      await ticket.run();
    }
  }

  /** Takes one of the tickets that may go on now; time passes until there is one. */
  #pick(): Ticket | undefined {
    const next = this.#next();
    if (next === undefined) return undefined;
    this.nowMs = Math.max(this.nowMs, readyAt(next));
    const ready = this.#tickets.filter((ticket) => readyAt(ticket) <= this.nowMs);
    const ticket = ready[this.random.below(ready.length)];
    this.#tickets = this.#tickets.filter((other) => other !== ticket);
    return ticket;
  }

  #next(): Ticket | undefined {
    let next: Ticket | undefined;
    for (const ticket of this.#tickets) {
      if (next === undefined || readyAt(ticket) < readyAt(next)) next = ticket;
    }
    return next;
  }

  async #settle(): Promise<void> {
    for (this.#turns = 0; this.#turns < TURNS; this.#turns += 1) await null;
  }
}

function readyAt({ process, readyMs }: Ticket): number {
  return Math.max(readyMs, process?.pausedUntilMs ?? 0);
}

/** Error of a call that did not take place, or whose answer was lost. */
function lostCall(label: string): OperatingError {
  return new OperatingError("unavailable", `${label}: the connection was lost`);
}

function macrotask(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
