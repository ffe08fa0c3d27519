import assert from "node:assert/strict";
import { GROWN_BYTES } from "../os/garbage.ts";
import { IdleGarbage, REST_MS } from "./idle_garbage.ts";

class Lab {
  nowMs = 0;
  isIdle = true;
  usedBytes = 100;
  garbageBytes = 0;
  collections = 0;
  readonly idle = new IdleGarbage({
    residentBytes: () => this.usedBytes + this.garbageBytes,
    isIdle: () => this.isIdle,
    collect: () => {
      this.collections += 1;
      this.garbageBytes = 0;
    },
    nowMs: () => this.nowMs,
  });

  constructor() {
    this.idle.look();
  }

  /** How often garbage was collected when it had looked `ms` later. */
  after(ms: number): number {
    this.nowMs += ms;
    this.idle.look();
    return this.collections;
  }
}

Deno.test("IdleGarbage collects what grew, once nothing was at work for a while", () => {
  const lab = new Lab();
  lab.garbageBytes = GROWN_BYTES;
  lab.isIdle = false;
  assert.equal(lab.after(REST_MS), 0);
  lab.isIdle = true;
  assert.equal(lab.after(1), 0);
  assert.equal(lab.after(REST_MS - 1), 0);
  assert.equal(lab.after(1), 1);
  assert.equal(lab.after(REST_MS), 1);
});

Deno.test("IdleGarbage leaves a process alone that is at work again, or grew by little", () => {
  const lab = new Lab();
  lab.garbageBytes = GROWN_BYTES;
  assert.equal(lab.after(REST_MS - 1), 0);
  lab.isIdle = false;
  assert.equal(lab.after(1), 0);
  lab.isIdle = true;
  lab.garbageBytes = GROWN_BYTES - 1;
  assert.equal(lab.after(REST_MS), 0);
  assert.equal(lab.after(REST_MS), 0);
});

Deno.test("IdleGarbage does not collect again for what is in use", () => {
  const lab = new Lab();
  lab.usedBytes += GROWN_BYTES;
  assert.equal(lab.after(REST_MS), 1);
  assert.equal(lab.after(REST_MS), 1);
  // Less was in use meanwhile.
  lab.usedBytes -= GROWN_BYTES;
  assert.equal(lab.after(REST_MS), 1);
  lab.garbageBytes = GROWN_BYTES;
  assert.equal(lab.after(REST_MS), 2);
});
