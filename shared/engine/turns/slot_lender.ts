/**
 * Lends slots of statements that wait for the object store. A store that hangs keeps a statement
 * for half a minute. Those that need nothing of it would wait in line behind such statements, until
 * they are refused. So when somebody waits for a slot for cheap statements, whoever has one and has
 * waited in vain for a second goes on without it.
 *
 * It keeps its connection. So there are no more such statements than connections beyond those of
 * slots, and whoever gets a slot gets a connection, of whatever tenant.
 */

import { LENT_SLOTS_MAX } from "../limits.ts";
import type { Seat } from "./seat.ts";
import type { Turns } from "./turns.ts";

/** A store that is well answers in less. */
const SILENT_MS_MIN = 1_000;
const LOOK_MS = 250;

/** Looks at the seats of one server until it is disposed of. */
export class SlotLender implements Disposable {
  readonly #timer: ReturnType<typeof setInterval>;

  constructor(turns: Turns, seats: ReadonlySet<Seat>) {
    this.#timer = setInterval(() => {
      const waiting = turns.waiting("light");
      if (waiting > 0) lend(seats, waiting);
    }, LOOK_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}

function lend(seats: ReadonlySet<Seat>, waiting: number): void {
  const lent = [...seats].filter((seat) => seat.isLent).length;
  let left = Math.min(waiting, LENT_SLOTS_MAX - lent);
  for (const seat of seats) {
    if (left <= 0) return;
    if (seat.lend(SILENT_MS_MIN)) left -= 1;
  }
}
