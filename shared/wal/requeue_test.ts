import assert from "node:assert/strict";
import { CrashableFileSystem } from "../testing/crashable_file_system.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { numberedBatch } from "../testing/numbered_rows.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { openWalConsumerAdmin } from "./admin.ts";
import { segmentPath } from "./layout.ts";
import { openWalReader } from "./reader.ts";
import { applyRequeue, planRequeue } from "./requeue.ts";
import { openWal } from "./wal.ts";

const ROOT = "/data/wal";
const LANE = { tenant: "default", index: "events" };

Deno.test({
  name: "requeue moves poison back to sealed, one or all, and never over a sealed segment",
  async fn() {
    const { fs, names } = await poisoned(3);
    const [first = "", second = "", third = ""] = names;
    await fs.link(
      segmentPath(ROOT, LANE, { state: "poison", name: third }),
      segmentPath(ROOT, LANE, { state: "sealed", name: third }),
    );
    const one = await planRequeue(fs, ROOT, second);
    assert.deepEqual(one, [{ lane: LANE, name: second, action: "move", rows: 1 }]);
    assert.deepEqual(await statesOf(fs), ["poison", "poison", "poison"], "a plan moves nothing");
    await applyRequeue(fs, ROOT, one);
    const all = await planRequeue(fs, ROOT);
    assert.deepEqual(all.map(({ name, action }) => [name, action]), [
      [first, "move"],
      [third, "refuse"],
    ]);
    await applyRequeue(fs, ROOT, all);
    assert.deepEqual(await statesOf(fs), ["sealed", "sealed", "poison"]);
  },
});

Deno.test({
  name: "requeue leaves a segment that cannot be read where it is, and says why",
  async fn() {
    const { fs, names } = await poisoned(3);
    const [cut = "", , rubbish = ""] = names;
    const pathOf = (name: string) => segmentPath(ROOT, LANE, { state: "poison", name });
    const whole = await fs.readFile(pathOf(cut));
    for (
      const [name, bytes] of [
        [cut, whole.subarray(0, whole.byteLength - 3)],
        [rubbish, new Uint8Array(300).fill(7)],
      ] as const
    ) {
      await fs.remove(pathOf(name));
      const file = await fs.create(pathOf(name));
      await file.write(bytes);
      file.close();
    }
    const plan = await planRequeue(fs, ROOT);
    assert.deepEqual(plan.map(({ action }) => action), ["refuse", "move", "refuse"]);
    assert.match(plan[0]?.why ?? "", /the frame at offset \d+ is damaged/);
    assert.match(plan[2]?.why ?? "", /it does not begin with SVCW/);
    await applyRequeue(fs, ROOT, plan);
    assert.deepEqual(await statesOf(fs), ["poison", "sealed", "poison"]);
  },
});

/** `count` segments in `poison/`. */
async function poisoned(count: number) {
  const fs = new CrashableFileSystem();
  const clock = new FakeClock();
  const random = new SeededRandom(3);
  await using wal = await openWal({ fs, clock, random, root: ROOT, freeBytesMin: 0 });
  const names: string[] = [];
  for (let at = 0; at < count; at += 1) {
    await wal.append(LANE, numberedBatch([at]), "wait_for");
    const name = await wal.seal(LANE) ?? "";
    await openWalConsumerAdmin(fs, clock, ROOT).markPoison(LANE, name);
    names.push(name);
  }
  return { fs, names };
}

/** The state of each segment, in order of name; `poison` wins where there are two. */
async function statesOf(fs: CrashableFileSystem): Promise<string[]> {
  const segments = await openWalReader(fs, ROOT).list(LANE, ["sealed", "poison"]);
  return segments.map(({ state }) => state);
}
