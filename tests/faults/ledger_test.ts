import assert from "node:assert/strict";
import { findingsOf, idsIn, Ledger, rowText } from "./ledger.ts";

const WAIT_FOR = { table: "events", mode: "wait_for", isNamed: true } as const;

function found(counts: Readonly<Record<string, number>>) {
  return new Map([["events", new Map(Object.entries(counts))]]);
}

function findings(ledger: Ledger, counts: Readonly<Record<string, number>>): readonly string[] {
  return findingsOf(ledger.check(found(counts), ledger.promises()), "here");
}

function sent(...rows: readonly number[]): Ledger {
  const ledger = new Ledger();
  for (const count of rows) ledger.begin({ ...WAIT_FOR, rows: count });
  return ledger;
}

Deno.test("idsIn finds the ids of rowText, also where texts meet", () => {
  assert.deepEqual(idsIn(rowText(1, 0) + rowText(21, 13)), ["1.0", "21.13"]);
});

Deno.test("Ledger.check finds acknowledged rows that are missing, and rows that are there twice", () => {
  const ledger = sent(2, 1);
  ledger.acknowledge(0);
  assert.deepEqual(findings(ledger, { "0.0": 1, "0.1": 1 }), [], "the other was not acknowledged");
  assert.deepEqual(findings(ledger, {}), [
    "here: 2 rows lost: events 0.0 (wait_for), events 0.1 (wait_for)",
  ]);
  assert.deepEqual(findings(ledger, { "0.0": 2, "0.1": 1 }), [
    "here: 1 rows doubled: events 0.0 (wait_for)",
  ]);
});

Deno.test("Ledger.check finds requests that are there in part, and rows that nobody sent", () => {
  const ledger = sent(2);
  assert.deepEqual(findings(ledger, { "0.1": 1 }), [
    "here: 1 rows torn: events 0.0 (wait_for) (1 of 2)",
  ]);
  ledger.acknowledgePart(0);
  assert.deepEqual(findings(ledger, { "0.1": 1 }), []);
  assert.deepEqual(findings(ledger, { "7.0": 1 }), ["here: 1 rows foreign: events 7.0"]);
});

Deno.test("Ledger.check asks for no more than was promised when the reader began", () => {
  const ledger = sent(1);
  const before = ledger.promises();
  ledger.acknowledge(0);
  assert.deepEqual(ledger.check(found({}), before).lost, []);
  assert.equal(ledger.check(found({}), ledger.promises()).lost.length, 1);
});

Deno.test("Ledger.check with pin wants what it saw from then on", () => {
  const ledger = sent(1);
  ledger.check(found({ "0.0": 1 }), ledger.promises(), { pin: true });
  assert.equal(findings(ledger, {}).length, 1);
});

Deno.test("Ledger promises rows of auto once includeAuto says that no power failed", () => {
  const ledger = new Ledger();
  ledger.begin({ ...WAIT_FOR, mode: "auto", rows: 1 });
  ledger.acknowledge(0);
  assert.deepEqual(findings(ledger, {}), []);
  ledger.includeAuto();
  assert.equal(findings(ledger, {}).length, 1);
});

Deno.test("Ledger.check lets a delete task take rows, and finds them when it is done", () => {
  const ledger = sent(2);
  ledger.acknowledge(0);
  ledger.doom(0, "begun");
  assert.deepEqual(findings(ledger, { "0.0": 1 }), []);
  ledger.doom(0, "done");
  assert.deepEqual(findings(ledger, {}), []);
  assert.deepEqual(findings(ledger, { "0.0": 1 }), [
    "here: 1 rows foreign: events 0.0 (wait_for) (deleted)",
  ]);
});

Deno.test("Ledger.check lets the retention take rows, and finds those that come back", () => {
  const ledger = new Ledger();
  ledger.begin({ ...WAIT_FOR, rows: 2, mayExpire: true });
  ledger.acknowledge(0);
  assert.deepEqual(findings(ledger, { "0.0": 1, "0.1": 1 }), [], "not yet looked at");
  assert.equal(ledger.overdue, 1);
  const before = ledger.promises();
  assert.deepEqual(ledger.check(found({}), ledger.promises(), { pin: true }).lost, []);
  assert.deepEqual([ledger.overdue, ledger.expired], [0, 1]);
  const rows = found({ "0.0": 1, "0.1": 1 });
  assert.deepEqual(ledger.check(rows, before).foreign, [], "a reader that began before");
  assert.deepEqual(findingsOf(ledger.check(rows, ledger.promises()), "here"), [
    "here: 1 rows foreign: events 0.0 (wait_for) (expired)",
  ]);
});
