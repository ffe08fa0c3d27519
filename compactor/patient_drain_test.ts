import assert from "node:assert/strict";
import { OperatingError } from "../shared/base/errors.ts";
import { FakeClock } from "../shared/testing/fake_clock.ts";
import { PatientDrain } from "./patient_drain.ts";

const AWAY = new OperatingError("unavailable", "Cannot make the tables: no server");
const DENIED = new OperatingError("permission_denied", "Cannot make the tables: wrong password");

Deno.test({
  name: "PatientDrain starts when the catalog answers, says why it does not yet, and is woken then",
  async fn() {
    const clock = new FakeClock();
    const drain = new FakeDrain();
    let [attempts, failure] = [0, AWAY as Error | undefined];
    await using patient = await PatientDrain.open(() => {
      attempts += 1;
      return failure === undefined ? Promise.resolve(drain) : Promise.reject(failure);
    }, clock);
    patient.wake();
    assert.match(patient.problem ?? "", /no server/);
    await clock.advance(60_000);
    assert.ok(attempts >= 8 && attempts <= 12, `${attempts} attempts in a minute`);
    failure = DENIED;
    await clock.advance(10_000);
    assert.match(patient.problem ?? "", /wrong password/);
    failure = undefined;
    await clock.advance(10_000);
    assert.equal(patient.problem, undefined);
    const before = attempts;
    await clock.advance(60_000);
    assert.equal(attempts, before);
    patient.wake();
    await patient.stop();
    assert.deepEqual([drain.wakes, drain.ends], [1, 1]);
  },
});

Deno.test({
  name: "PatientDrain ends at once what will not pass, and its waiting when it is stopped",
  async fn() {
    const clock = new FakeClock();
    await assert.rejects(PatientDrain.open(() => Promise.reject(DENIED), clock), DENIED);
    const patient = await PatientDrain.open(() => Promise.reject(AWAY), clock);
    await patient.stop();
    assert.equal(clock.sleepers, 0);
  },
});

class FakeDrain implements AsyncDisposable {
  wakes = 0;
  ends = 0;

  wake(): void {
    this.wakes += 1;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.ends += 1;
    return Promise.resolve();
  }
}
