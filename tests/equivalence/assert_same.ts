import assert from "node:assert/strict";
import type { Outcome } from "./pruning_lab.ts";

/** A row that makes a statement fail may be left out, so only answers count. */
export function assertSame(actual: Outcome, expected: Outcome, what: string): void {
  if ("error" in expected) return;
  if ("error" in actual) assert.fail(`${what}: ${actual.error}`);
  assert.deepEqual(actual.columns, expected.columns, what);
  assert.deepEqual(actual.rows.toSorted(), expected.rows.toSorted(), what);
}
