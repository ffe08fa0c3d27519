import assert from "node:assert/strict";
import {
  DRAIN_GATE_DEFAULT,
  type DrainGate,
  planDrain,
  type WaitingSegment,
} from "./plan_drain.ts";

const NOW_MS = 1_790_000_000_000;
const GATE: DrainGate = {
  targetBytes: 100,
  ageMsMax: 10_000,
  commitBytesMax: 250,
};

Deno.test({
  name: "planDrain commits by size, by age, on request, and not otherwise",
  fn() {
    const table: {
      what: string;
      sealed: WaitingSegment[];
      consumed?: string[];
      requested?: boolean;
      plan: { mark?: string[]; commit?: string[]; more?: boolean };
    }[] = [
      { what: "nothing sealed", sealed: [], plan: {} },
      { what: "nothing sealed but asked", sealed: [], requested: true, plan: {} },
      { what: "small and young", sealed: [segment("a", 99, 9_999)], plan: {} },
      { what: "asked", sealed: [segment("a", 1, 0)], requested: true, plan: { commit: ["a"] } },
      { what: "old", sealed: [segment("a", 1, 10_000)], plan: { commit: ["a"] } },
      { what: "from the future", sealed: [segment("a", 1, -60_000)], plan: { commit: ["a"] } },
      {
        what: "large together",
        sealed: [segment("a", 60, 0), segment("b", 40, 0)],
        plan: { commit: ["a", "b"] },
      },
      {
        what: "more than one commit takes",
        sealed: [segment("a", 200, 0), segment("b", 50, 0), segment("c", 100, 0)],
        plan: { commit: ["a", "b"], more: true },
      },
      {
        what: "the rest does not pass by itself",
        sealed: [segment("a", 200, 0), segment("b", 60, 0)],
        plan: { commit: ["a"] },
      },
      {
        what: "the rest was asked for",
        sealed: [segment("a", 200, 0), segment("b", 60, 0)],
        requested: true,
        plan: { commit: ["a"], more: true },
      },
      {
        what: "one segment over the limit",
        sealed: [segment("a", 900, 0)],
        plan: { commit: ["a"] },
      },
      {
        what: "consumed before",
        sealed: [segment("a", 200, 99_999), segment("b", 10, 0)],
        consumed: ["a"],
        plan: { mark: ["a"] },
      },
      {
        what: "consumed among others",
        sealed: [segment("a", 60, 0), segment("b", 60, 0), segment("c", 60, 0)],
        consumed: ["b"],
        plan: { mark: ["b"], commit: ["a", "c"] },
      },
    ];
    for (const { what, sealed, consumed = [], requested = false, plan } of table) {
      const state = { sealed, consumed: new Set(consumed), nowMs: NOW_MS, requested };
      const commitBytes = sealed.filter(({ name }) => plan.commit?.includes(name) === true)
        .reduce((sum, { messageBytes }) => sum + messageBytes, 0);
      const nothing = { mark: [], commit: [], more: false };
      const expected = { ...nothing, commitBytes, ...plan };
      assert.deepEqual(planDrain(state, GATE), expected, what);
    }
  },
});

Deno.test({
  name: "planDrain makes at most six commits a minute of one event a second",
  fn() {
    let waiting: WaitingSegment[] = [];
    let commits = 0;
    for (let ms = 0; ms < 60_000; ms += 1_000) {
      // The ingester seals every five seconds, by --wal-max-age-secs.
      if (ms % 5_000 === 4_000) waiting.push({ ...segment(`s${ms}`, 1_000, 0), modifiedMs: ms });
      const state = { sealed: waiting, consumed: new Set<string>(), nowMs: ms, requested: false };
      const plan = planDrain(state, DRAIN_GATE_DEFAULT);
      if (plan.commit.length === 0) continue;
      commits += 1;
      waiting = waiting.filter((one) => !plan.commit.includes(one.name));
    }
    assert.ok(commits >= 1 && commits <= 6, `${commits} commits`);
  },
});

function segment(name: string, messageBytes: number, ageMs: number): WaitingSegment {
  return { name, messageBytes, modifiedMs: NOW_MS - ageMs };
}
