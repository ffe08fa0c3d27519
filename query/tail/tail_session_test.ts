/** When a tail speaks without rows: to a reader that stays behind, of its token, into silence. */

import assert from "node:assert/strict";
import type { FollowPosition } from "../../shared/engine/follow/follow_position.ts";
import type { FollowedRows } from "../../shared/engine/types.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { FakeEngine } from "../../tests/doubles/fake_engine.ts";
import { testService } from "../../tests/doubles/query_server.ts";
import { TailSession } from "./tail_session.ts";

class LateClock extends SystemClock {
  #ms = 1_000;

  override nowMs(): number {
    return this.#ms;
  }

  override monotonicMs(): number {
    return this.#ms;
  }

  override sleep(ms: number): Promise<void> {
    this.pass(ms);
    return Promise.resolve();
  }

  pass(ms: number): void {
    this.#ms += ms;
  }
}

function positionAt(rows: number): FollowPosition {
  const lane = { segment: "1795132800000-0000-0123456789000001.seg", rows, isDone: false };
  return { table: "events", uuid: "", snapshotId: undefined, lane };
}

/** A session over a lane of so many rows, a hundred each step; rows before `isLostTo` are gone. */
function sessionOf(
  lane: { rows: number; isLostTo?: number },
  options: { readonly expiresMs?: number; readonly rowsPerSecMax?: number } = {},
) {
  const clock = new LateClock();
  const service = testService(new FakeEngine({ rows: [1, 2, 3] }));
  const next = ({ lane: { rows } }: FollowPosition): Promise<FollowedRows> => {
    if (rows < (lane.isLostTo ?? 0)) {
      return Promise.resolve({ kind: "lost", position: positionAt(lane.isLostTo ?? 0) });
    }
    if (rows >= lane.rows) return Promise.resolve({ kind: "none", position: positionAt(rows) });
    return Promise.resolve({
      ...{ kind: "rows", rows: 100, isLast: rows + 100 >= lane.rows },
      position: positionAt(rows + 100),
      step: { kind: "commit", snapshot: "latest", since: undefined },
      [Symbol.dispose]: () => {},
    });
  };
  const sql = "SELECT n FROM events";
  const session = new TailSession({
    follower: { end: () => Promise.resolve(positionAt(0)), next, [Symbol.dispose]: () => {} },
    statements: {
      ...{ service, rowsSql: sql, countSql: sql, signal: new AbortController().signal },
      caller: { namespace: "svc", tenant: "default" },
    },
    columns: ["n"],
    position: positionAt(0),
    rowsPerSecMax: options.rowsPerSecMax ?? 1_000,
    stopping: new AbortController().signal,
    expiresMs: options.expiresMs,
    ...{ clock, metrics: service.metrics },
    onSent: () => {},
  });
  const events = session.events();
  const take = async () => new TextDecoder().decode((await events.next()).value);
  return { clock, take };
}

Deno.test({
  name: "a reader that is behind for more than 10 s is told how many rows lie between, and goes on",
  async fn() {
    const lane = { rows: 100 };
    const { clock, take } = sessionOf(lane);
    assert.match(await take(), /^retry: 1000\n\n$/);
    assert.match(await take(), /^event: rows\nid: t1\.\S+\ndata: {"columns":\["n"\],"rows":\[\],/);
    assert.match(await take(), /"rows":\[\[1\],\[2\],\[3\]\],"skipped":0}\n\n$/);
    lane.rows = 600;
    clock.pass(10_001);
    assert.match(
      await take(),
      /^event: lost\nid: t1\.\S+\ndata: {"rows":500,"reason":"slow_reader"}\n\n$/,
    );
    lane.rows = 700;
    assert.match(await take(), /"rows":\[\[1\],\[2\],\[3\]\]/);
  },
});

Deno.test({
  name: "a slow reader whose place is gone meanwhile is told so, and of what lies behind",
  async fn() {
    const lane: { rows: number; isLostTo?: number } = { rows: 100 };
    const { clock, take } = sessionOf(lane);
    for (let event = 0; event < 3; event += 1) await take();
    Object.assign(lane, { rows: 900, isLostTo: 600 });
    clock.pass(10_001);
    assert.match(
      await take(),
      /^event: lost\nid: t1\.\S+\ndata: {"rows":null,"reason":"position_expired"}\n\n$/,
    );
    assert.match(await take(), /"rows":300,"reason":"slow_reader"/);
  },
});

Deno.test({
  name: "a reader that was in time for its rows loses none, however many come",
  async fn() {
    const lane = { rows: 5_000 };
    const { clock, take } = sessionOf(lane);
    await take();
    await take();
    for (let step = 0; step < 50; step += 1) {
      clock.pass(150);
      assert.match(await take(), /^event: rows/);
    }
  },
});

Deno.test({
  name: "a tail ends with its caller's token",
  async fn() {
    const { clock, take } = sessionOf({ rows: 100 }, { expiresMs: 6_000 });
    await take();
    await take();
    await take();
    clock.pass(5_000);
    assert.match(await take(), /^event: end\ndata: {"reason":"token_expired"/);
    assert.equal(await take(), "");
  },
});

Deno.test({
  name: "a tail without rows is kept alive by a comment each 15 s",
  async fn() {
    const { clock, take } = sessionOf({ rows: 0 });
    await take();
    await take();
    const begunMs = clock.nowMs();
    assert.equal(await take(), ": keep-alive\n\n");
    const ms = clock.nowMs() - begunMs;
    assert.ok(ms >= 15_000 && ms < 16_000, `${ms}`);
  },
});
