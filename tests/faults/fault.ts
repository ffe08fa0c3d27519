/** What a kind of fault is, what a round of it gets, and what it tells. */

import type { SeededRandom } from "../../shared/testing/seeded_random.ts";
import type { Life } from "./life.ts";

export interface Arena {
  /** An empty folder of the round's own. */
  readonly folder: string;
  readonly random: SeededRandom;
  readonly hasPyIceberg: boolean;
  /** Whether the run's time is over: a round then ends with the faults that it has. */
  isOver(): boolean;
  /** Tells whoever watches what is done. */
  progress(text: string): void;
}

export interface Outcome {
  /** Faults that were injected. */
  readonly faults: number;
  readonly requests: number;
  readonly acknowledgedRows: number;
  readonly deleteTasks: number;
  readonly checks: number;
  /** Rows compared, over all checks. */
  readonly compared: number;
  /** What must not be, as sentences; a control must have some. */
  readonly findings: readonly string[];
}

export interface Fault {
  readonly name: string;
  readonly summary: string;
  /** What `Outcome.faults` counts. */
  readonly unit: string;
  /** Its share of the rounds; 0: once, before the others. */
  readonly weight: number;
  /** A control: it breaks a promise on purpose, and proves nothing unless that is found. */
  readonly mustFail?: true;
  /** Why it cannot run here; undefined when it can. */
  readonly missing?: () => string | undefined | Promise<string | undefined>;
  readonly round: (arena: Arena) => Promise<Outcome>;
}

/** Numbers of a round's faults, from 1 on: `max`, or fewer where the run's time is over. */
export function* faultNumbers(arena: Arena, max: number): Generator<number> {
  for (let number = 1; number <= max && (number === 1 || !arena.isOver()); number += 1) {
    yield number;
  }
}

/** What a life tells at its end. */
export function outcomeOf(life: Life, faults: number): Outcome {
  return {
    faults,
    requests: life.ledger.requests,
    acknowledgedRows: life.ledger.acknowledgedRows,
    deleteTasks: life.tasks.count,
    checks: life.checks,
    compared: life.compared,
    findings: life.findings,
  };
}
