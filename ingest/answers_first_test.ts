import assert from "node:assert/strict";
import { setImmediate } from "node:timers";
import type { LaneId } from "../shared/tenant/tenant.ts";
import { AnswersFirst } from "./answers_first.ts";

const LANE: LaneId = { tenant: "default", index: "events" };
const BODY_BYTES = 150_000;

/** A sync that `appends` wait for, until it is ended. */
function syncFor(appends: number, heard: AnswersFirst): PromiseWithResolvers<void> {
  const sync = Promise.withResolvers<void>();
  heard.listen({ kind: "syncing", lane: LANE, appends, ended: sync.promise });
  return sync;
}

const turnOfLoop = () => new Promise<void>((resolve) => setImmediate(resolve));

Deno.test("a body is decoded at once where nobody waits for a sync, where one is over, and where it is short", async () => {
  const answers = new AnswersFirst();
  assert.equal(answers.turn(BODY_BYTES), undefined);
  const sync = syncFor(1, answers);
  assert.equal(answers.turn(1_000), undefined);
  sync.resolve();
  await turnOfLoop();
  assert.equal(answers.turn(BODY_BYTES), undefined);
});

Deno.test("a body that comes during a sync is decoded after what the sync lets be answered, also in the next turn of the loop", async () => {
  const answers = new AnswersFirst();
  const sync = syncFor(1, answers);
  const order: string[] = [];
  const decoded = answers.turn(BODY_BYTES)?.then(() => order.push("decoded"));
  assert.ok(decoded !== undefined);
  const answered = sync.promise.then(turnOfLoop).then(() => order.push("answered"));
  sync.resolve();
  await Promise.all([decoded, answered]);
  assert.deepEqual(order, ["answered", "decoded"]);
});

Deno.test("a sync that does not end is waited for no longer than a timer of 2 ms takes, one that fails no longer than that", async () => {
  const answers = new AnswersFirst();
  syncFor(1, answers);
  const startMs = performance.now();
  await answers.turn(BODY_BYTES);
  assert.ok(performance.now() - startMs < 10_000);

  const failing = syncFor(1, answers);
  const turn = answers.turn(BODY_BYTES);
  assert.ok(turn !== undefined);
  failing.reject(new Error("the disk is gone"));
  await turn;
  assert.equal(answers.turn(BODY_BYTES), undefined);
});

Deno.test("where many requests wait, for the sync or behind it, the next is decoded beside it", async () => {
  const answers = new AnswersFirst();
  const busy = syncFor(4, answers);
  assert.equal(answers.turn(BODY_BYTES), undefined);
  busy.resolve();

  const sync = syncFor(1, answers);
  const turns = [1, 2, 3, 4].map(() => answers.turn(BODY_BYTES));
  assert.deepEqual(turns.map((turn) => turn !== undefined), [true, true, true, false]);
  sync.resolve();
  await Promise.all(turns);
  syncFor(1, answers).resolve();
  assert.ok(answers.turn(BODY_BYTES) !== undefined, "those that waited are forgotten");
});

Deno.test("the end of a sync is not taken for that of a later one", async () => {
  const answers = new AnswersFirst();
  const first = syncFor(1, answers);
  syncFor(1, answers);
  first.resolve();
  await turnOfLoop();
  const turn = answers.turn(BODY_BYTES);
  assert.ok(turn !== undefined);
  await turn;
});
