import assert from "node:assert/strict";
import type { Fault, Outcome } from "./fault.ts";
import { isGood, reportText } from "./report.ts";

const OUTCOME: Outcome = {
  ...{ faults: 3, requests: 10, acknowledgedRows: 1_000, deleteTasks: 1, checks: 4, compared: 9 },
  findings: [],
};
const CUT: Fault = {
  ...{ name: "cut", summary: "", unit: "cuts", weight: 1 },
  round: () => Promise.resolve(OUTCOME),
};
const CONTROL: Fault = { ...CUT, name: "control", mustFail: true };
const LOST = { ...OUTCOME, findings: ["after the cut: 5 rows lost: …"] };

Deno.test("isGood wants no finding, and of a control that rows were lost", () => {
  const cases: readonly (readonly [Fault, Outcome, boolean])[] = [
    [CUT, OUTCOME, true],
    [CUT, LOST, false],
    [CONTROL, OUTCOME, false],
    [CONTROL, { ...OUTCOME, findings: ["the round broke off"] }, false],
    [CONTROL, LOST, true],
  ];
  for (const [fault, outcome, expected] of cases) {
    assert.equal(isGood({ fault, outcome, seed: 1 }), expected, fault.name);
  }
});

Deno.test("reportText adds rounds of a kind up, and says how to repeat what failed", () => {
  const text = reportText([
    { fault: CUT, outcome: OUTCOME, seed: 4 },
    { fault: CUT, outcome: LOST, seed: 5 },
    { fault: CONTROL, outcome: LOST, seed: 6 },
  ]);
  assert.match(text, /\| cut \| 2 \| 6 cuts \| 20 \| 2,000 \| 2 \| 8 \| 18 \| \*\*1 rounds failed/);
  assert.match(text, /\| control \| 1 \| .* \| found, as it must \|/);
  assert.match(text, /deno task faults --only cut --seed 5 --rounds 1$/m);
  assert.doesNotMatch(text, /--seed 6/);
});
