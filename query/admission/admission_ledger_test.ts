import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { AdmissionLedger, type Ticket } from "./admission_ledger.ts";

const BUDGET = 10;
const LIMITS = { budgetBytes: BUDGET, waitersMax: 6, waitersPerTenantMax: 4 };

const ticket = (tenant: string, bytes: number): Ticket => ({ tenant, bytes });

Deno.test({
  name: "AdmissionLedger what is small does not pass what is big and waits",
  fn: () => {
    const ledger = new AdmissionLedger(LIMITS);
    const first = ticket("a", 6);
    const big = ticket("b", 8);
    const small = ticket("c", 1);
    deepStrictEqual([first, big, small].map((each) => ledger.ask(each)), [
      "granted",
      "waiting",
      "waiting",
    ]);
    deepStrictEqual(ledger.give(first), [big, small]);
    strictEqual(ledger.reservedBytes, 9);
  },
});

Deno.test({
  name: "AdmissionLedger when the big one leaves, who fits behind it is granted at once",
  fn: () => {
    const ledger = new AdmissionLedger(LIMITS);
    const [first, big, small] = [ticket("a", 6), ticket("b", 8), ticket("c", 1)];
    [first, big, small].forEach((each) => ledger.ask(each));
    deepStrictEqual(ledger.leave(big), [small]);
    deepStrictEqual([ledger.waiting, ledger.reservedBytes], [0, 7]);
  },
});

Deno.test({
  name: "AdmissionLedger the line is bounded, for a tenant and in all",
  fn: () => {
    const ledger = new AdmissionLedger(LIMITS);
    ledger.ask(ticket("a", 10));
    const asked = ["a", "a", "a", "a", "a", "b", "b", "b"].map((tenant) =>
      ledger.ask(ticket(tenant, 1))
    );
    deepStrictEqual(asked, [
      ...["waiting", "waiting", "waiting", "waiting", "full"],
      ...["waiting", "waiting", "full"],
    ]);
  },
});

/** What a run of asks, ends and departures does, `pick` choosing among those there are. */
const STEP = fc.record({
  what: fc.constantFrom("ask" as const, "ask" as const, "give" as const, "leave" as const),
  tenant: fc.constantFrom("a", "b", "c"),
  bytes: fc.integer({ min: 1, max: BUDGET }),
  pick: fc.nat(1000),
});

Deno.test({
  name:
    "AdmissionLedger never over budget, tenants in turn and each in order, nobody forgotten or left behind",
  fn: () => {
    fc.assert(fc.property(fc.array(STEP, { maxLength: 80 }), (steps) => {
      const ledger = new AdmissionLedger(LIMITS);
      const run = new Model();
      for (const { what, tenant, bytes, pick } of steps) {
        if (what === "ask") run.asked(ticket(tenant, bytes), (asked) => ledger.ask(asked));
        const from = what === "give" ? run.granted : run.waiting;
        const chosen = what === "ask" ? undefined : from[pick % Math.max(1, from.length)];
        if (chosen !== undefined && what === "give") run.gave(chosen, ledger.give(chosen));
        if (chosen !== undefined && what === "leave") run.left(chosen, ledger.leave(chosen));
        run.check(ledger);
      }
      // Whoever waits is granted once the others are done: no wakeup is lost.
      while (run.granted.length > 0) {
        const [chosen] = run.granted;
        if (chosen !== undefined) run.gave(chosen, ledger.give(chosen));
        run.check(ledger);
      }
      deepStrictEqual([run.waiting.length, ledger.waiting, ledger.reservedBytes], [0, 0, 0]);
    }));
  },
});

/** Plain lists of who waits, in the order of asking, and of who was granted. */
class Model {
  waiting: Ticket[] = [];
  granted: Ticket[] = [];
  /** Turns that each tenant took while the head of another's line waited. */
  readonly #turns = new Map<Ticket, Map<string, number>>();

  asked(asked: Ticket, ask: (asked: Ticket) => "granted" | "waiting" | "full"): void {
    const before = this.waiting.length;
    const verdict = ask(asked);
    if (verdict === "granted") {
      strictEqual(before, 0, "nobody is passed");
      this.granted.push(asked);
    }
    if (verdict === "waiting") this.waiting.push(asked);
    if (verdict === "full") {
      const own = this.waiting.filter(({ tenant }) => tenant === asked.tenant).length;
      ok(before >= LIMITS.waitersMax || own >= LIMITS.waitersPerTenantMax);
    }
  }

  gave(done: Ticket, granted: readonly Ticket[]): void {
    this.granted = this.granted.filter((each) => each !== done);
    this.#grant(granted);
  }

  left(gone: Ticket, granted: readonly Ticket[]): void {
    this.waiting = this.waiting.filter((each) => each !== gone);
    this.#grant(granted);
  }

  check(ledger: AdmissionLedger): void {
    const reserved = this.granted.reduce((sum, { bytes }) => sum + bytes, 0);
    deepStrictEqual([ledger.reservedBytes, ledger.waiting], [reserved, this.waiting.length]);
    ok(reserved <= BUDGET);
    // Where all who wait would fit, none of them waits.
    if (this.waiting.length > 0) {
      ok(this.waiting.some(({ bytes }) => reserved + bytes > BUDGET), "somebody was left behind");
    }
  }

  #grant(granted: readonly Ticket[]): void {
    for (const next of granted) {
      strictEqual(this.waiting.find(({ tenant }) => tenant === next.tenant), next, "in order");
      for (const head of this.#heads()) {
        if (head.tenant === next.tenant) continue;
        const turns = this.#turns.get(head) ?? new Map<string, number>();
        this.#turns.set(head, turns);
        turns.set(next.tenant, (turns.get(next.tenant) ?? 0) + 1);
        ok((turns.get(next.tenant) ?? 0) <= 1, "one turn of another tenant at most");
      }
      this.waiting = this.waiting.filter((each) => each !== next);
      this.granted.push(next);
    }
  }

  /** The first of each tenant. */
  #heads(): Ticket[] {
    return this.waiting.filter((each, at) =>
      this.waiting.findIndex(({ tenant }) => tenant === each.tenant) === at
    );
  }
}
