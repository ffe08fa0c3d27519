/**
 * Lends slots of statements that wait for the object store. A store that hangs keeps a statement
 * for half a minute. Those that need nothing of it would wait in line behind such statements, until
 * they are refused. So when somebody waits for a slot for cheap statements, whoever has one and has
 * waited in vain for a second goes on without it.
 *
 * It keeps its connection. So no more statements hang than there are connections, and so many are
 * at work when the store answers again.
 */

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
      let wanted = turns.waiting("light");
      for (const seat of seats) {
        if (wanted === 0) return;
        if (seat.lend(SILENT_MS_MIN)) wanted -= 1;
      }
    }, LOOK_MS);
  }

  [Symbol.dispose](): void {
    clearInterval(this.#timer);
  }
}
