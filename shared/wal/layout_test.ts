import assert from "node:assert/strict";
import { SeededRandom } from "../testing/seeded_random.ts";
import { SleeplessClock } from "../testing/sleepless_clock.ts";
import { isSegmentName, ordinalOfSegmentName, SegmentNames } from "./layout.ts";

Deno.test({
  name: "SegmentNames numbers its names from 0, and another writer follows when there are no more",
  fn() {
    const names = new SegmentNames(new SleeplessClock(), new SeededRandom(1), { numbersMax: 3 });
    const made = Array.from({ length: 7 }, () => names.next());
    assert.ok(made.every(isSegmentName));
    const ordinals = made.map((name) => ordinalOfSegmentName(name));
    assert.deepEqual(ordinals.map((ordinal) => ordinal?.number), [0, 1, 2, 0, 1, 2, 0]);
    const writers = ordinals.map((ordinal) => ordinal?.writer);
    assert.equal(new Set(writers).size, 3);
    assert.deepEqual([writers[0], writers[3]], [writers[2], writers[5]]);
  },
});

Deno.test({
  name: "SegmentNames gives a number that was given back again, in a name greater than all before",
  fn() {
    const names = new SegmentNames(new SleeplessClock(), new SeededRandom(1), { numbersMax: 3 });
    const [first, unused] = [names.next(), names.next(), names.next()];
    names.giveBack(unused);
    const again = names.next();
    assert.equal(ordinalOfSegmentName(again)?.number, ordinalOfSegmentName(unused)?.number);
    assert.ok(again > unused && again > first);
    names.giveBack(again);
    names.next();
    // A segment of a writer that is no more.
    const other = names.next();
    names.giveBack(first);
    assert.equal(ordinalOfSegmentName(names.next())?.writer, ordinalOfSegmentName(other)?.writer);
    assert.notEqual(ordinalOfSegmentName(first)?.writer, ordinalOfSegmentName(other)?.writer);
  },
});

for (const name of ["", "s1", "1700000000000-0000-0123456789abcdef.seg.zst", "x.seg"]) {
  Deno.test({
    name: `ordinalOfSegmentName knows none of ${JSON.stringify(name)}`,
    fn: () => assert.equal(ordinalOfSegmentName(name), undefined),
  });
}
