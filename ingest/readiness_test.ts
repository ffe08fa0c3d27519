import assert from "node:assert/strict";
import { SystemClock } from "../shared/os/clock.ts";
import { configureLogging, resetLogging } from "../shared/logging/logging.ts";
import { abortListenersLeft } from "../shared/testing/abort_listeners.ts";
import { FakeClock } from "../shared/testing/fake_clock.ts";
import { until } from "../shared/testing/until.ts";
import { Readiness } from "./readiness.ts";

Deno.test({
  name: "Readiness answers 200 while the probe finds nothing, 503 with its reason otherwise",
  fn: async () => {
    let reason: string | undefined;
    const readiness = new Readiness(() => Promise.resolve(reason), {
      clock: new SystemClock(),
      intervalMs: 2,
    });
    await readiness.start();
    assert.equal(readiness.response().status, 200);
    assert.deepEqual(await readiness.response().json(), { status: "ready" });
    reason = "10 bytes are free";
    await until(() => readiness.response().status === 503);
    assert.deepEqual(await readiness.response().json(), {
      status: "not_ready",
      checks: { wal: "10 bytes are free" },
    });
    reason = undefined;
    await until(() => readiness.response().status === 200);
    await readiness.stop();
    assert.equal(readiness.response().status, 503);
  },
});

Deno.test({
  name:
    "Readiness logs that rows are not taken, with the reason, and that they are again, once each",
  fn: async () => {
    const lines: string[] = [];
    await configureLogging({ level: "info", writeLine: (line) => lines.push(line) });
    let probes = 0;
    const reasons = ["10 bytes are free", "9 bytes are free", undefined, undefined];
    const readiness = new Readiness(() => Promise.resolve(reasons[probes++]), {
      clock: new SystemClock(),
      intervalMs: 2,
    });
    try {
      await readiness.start();
      await until(() => probes > reasons.length);
      await readiness.stop();
    } finally {
      await resetLogging();
    }
    assert.deepEqual(lines.map((line) => line.slice(line.indexOf(" ") + 1).trim()), [
      "WRN ingest not ready: 10 bytes are free",
      "INF ingest ready again",
    ]);
  },
});

Deno.test({
  name: "Readiness leaves nothing of a probe behind",
  fn: async () => {
    const clock = new FakeClock();
    const readiness = new Readiness(() => Promise.resolve(undefined), { clock });
    await readiness.start();
    assert.ok(await abortListenersLeft(() => clock.advance(100_000)) < 10);
    await readiness.stop();
  },
});

Deno.test({
  name: "Readiness turns a probe that throws into a reason",
  fn: async () => {
    const readiness = new Readiness(() => Promise.reject(new Error("disk gone")), {
      clock: new SystemClock(),
      intervalMs: 2,
    });
    await readiness.start();
    assert.match(readiness.checks().wal ?? "", /disk gone/);
    await readiness.stop();
  },
});

Deno.test({
  name: "Readiness answers at once, and not ready, while a probe hangs; stop does not wait for it",
  fn: async () => {
    let probes = 0;
    const clock = new FakeClock();
    const readiness = new Readiness(
      () => probes++ === 0 ? Promise.resolve(undefined) : new Promise(() => {}),
      { clock, intervalMs: 2, ageMsMax: 30 },
    );
    await readiness.start();
    await clock.advance(30);
    assert.equal(probes, 2);
    assert.equal(readiness.response().status, 200);
    await clock.advance(1);
    assert.equal(readiness.response().status, 503);
    assert.match(readiness.checks().wal ?? "", /has not come back/);
    await readiness.stop();
  },
});
