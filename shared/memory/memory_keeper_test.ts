import assert from "node:assert/strict";
import { COLLECT_MS, type GivingCache, MemoryKeeper } from "./memory_keeper.ts";

const MIB = 1024 ** 2;
type Part = "cheap" | "dear";

/** A process that holds what its caches hold, garbage, and what nothing gives back. */
class Lab {
  nowMs = 0;
  garbage = 0;
  own = 0;
  readonly told: string[] = [];
  readonly caches: Readonly<Record<Part, { bytes: number } & GivingCache>>;
  readonly keeper: MemoryKeeper<Part>;

  constructor({ cheap, dear }: { readonly cheap: number; readonly dear: number }) {
    this.caches = { cheap: this.#cache(cheap), dear: this.#cache(dear) };
    this.keeper = new MemoryKeeper<Part>({
      limitBytes: 100 * MIB,
      order: ["cheap", "dear"],
      residentBytes: () => this.resident * MIB,
      collect: () => {
        this.told.push("garbage");
        this.garbage = 0;
      },
      nowMs: () => this.nowMs,
      onGiven: (part, bytes) => this.told.push(`${part} ${bytes / MIB}`),
    });
    // Not in their order.
    this.keeper.keep("dear", this.caches.dear);
    this.keeper.keep("cheap", this.caches.cheap);
  }

  get resident(): number {
    const { cheap, dear } = this.caches;
    return this.own + this.garbage + (cheap.bytes + dear.bytes) / MIB;
  }

  look(): string[] {
    this.told.length = 0;
    this.keeper.look();
    return [...this.told];
  }

  #cache(mib: number) {
    const cache = { bytes: mib * MIB, giveWay: () => void (cache.bytes = 0) };
    return cache;
  }
}

Deno.test("MemoryKeeper takes nothing from caches up to 90 % of the limit", () => {
  const lab = new Lab({ cheap: 45, dear: 45 });
  assert.deepEqual(lab.look(), []);
  assert.equal(lab.resident, 90);
});

Deno.test("MemoryKeeper collects garbage before a cache gives way", () => {
  const lab = new Lab({ cheap: 40, dear: 40 });
  lab.garbage = 15;
  assert.deepEqual(lab.look(), ["garbage"]);
  assert.equal(lab.resident, 80);
});

Deno.test("MemoryKeeper lets caches give way in the stated order, no more of them than it takes", () => {
  const lab = new Lab({ cheap: 20, dear: 40 });
  lab.own = 40;
  assert.deepEqual(lab.look(), ["garbage", "cheap 20"]);
  lab.own = 60;
  assert.deepEqual(lab.look(), ["dear 40"]);
  assert.equal(lab.keeper.isFull, false);
});

Deno.test("MemoryKeeper is full only when no cache has anything to give, until there is room", () => {
  const lab = new Lab({ cheap: 10, dear: 0 });
  lab.own = 98;
  assert.deepEqual(lab.look(), ["garbage", "cheap 10"]);
  assert.equal(lab.keeper.isFull, false, "first what was given has to come free");
  lab.look();
  assert.equal(lab.keeper.isFull, true);
  lab.own = 95;
  lab.look();
  assert.equal(lab.keeper.isFull, false);
});

Deno.test("MemoryKeeper collects no more often than said", () => {
  const lab = new Lab({ cheap: 0, dear: 0 });
  lab.own = 95;
  assert.deepEqual(lab.look(), ["garbage"]);
  lab.nowMs = COLLECT_MS - 1;
  assert.deepEqual(lab.look(), []);
  lab.nowMs = COLLECT_MS;
  assert.deepEqual(lab.look(), ["garbage"]);
});

Deno.test("MemoryKeeper tells what the caches of a part hold", () => {
  const lab = new Lab({ cheap: 3, dear: 4 });
  lab.keeper.keep("cheap", { bytes: MIB, giveWay() {} });
  assert.equal(lab.keeper.bytesOf("cheap"), 4 * MIB);
});
