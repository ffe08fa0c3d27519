import assert from "node:assert/strict";
import fc from "fast-check";
import { NS_PER_DAY } from "../testing/table_lab.ts";
import { rangeFilter } from "./prune.ts";
import { encodeSingleValue } from "./single_value.ts";
import type { ManifestFile } from "./manifest_list.ts";
import type { DataFile } from "./types.ts";

const INSTANT = fc.bigInt({ min: 0n, max: 5n * NS_PER_DAY });
const OPTIONAL = fc.option(INSTANT, { nil: undefined });

function fileOf(rows: readonly bigint[], bounded: boolean): DataFile {
  const sorted = rows.toSorted((a, b) => a < b ? -1 : a > b ? 1 : 0);
  const day = Number((sorted[0] ?? 0n) / NS_PER_DAY);
  return {
    day,
    timestampNsMin: bounded ? sorted[0] : undefined,
    timestampNsMax: bounded ? sorted.at(-1) : undefined,
  } as DataFile;
}

Deno.test({
  name: "rangeFilter never leaves out a file with a row of the range",
  fn() {
    fc.assert(
      fc.property(
        fc.nat(4),
        fc.array(fc.bigInt({ min: 0n, max: NS_PER_DAY - 1n }), { minLength: 1, maxLength: 5 }),
        fc.boolean(),
        OPTIONAL,
        OPTIONAL,
        (day, offsets, bounded, minNs, maxNs) => {
          const rows = offsets.map((offset) => BigInt(day) * NS_PER_DAY + offset);
          const wanted = rows.some((ns) =>
            (minNs === undefined || ns >= minNs) && (maxNs === undefined || ns <= maxNs)
          );
          if (!wanted) return;
          const filter = rangeFilter({ minNs, maxNs });
          assert.ok(filter.file(fileOf(rows, bounded)));
          assert.ok(filter.manifest(manifestOf(day, day)));
        },
      ),
    );
  },
});

function manifestOf(dayMin: number, dayMax: number): ManifestFile {
  const lowerBound = encodeSingleValue("int", dayMin);
  const upperBound = encodeSingleValue("int", dayMax);
  const summary = { containsNull: false, containsNan: undefined, lowerBound, upperBound };
  return { partitions: [summary] } as unknown as ManifestFile;
}

Deno.test({
  name: "rangeFilter leaves out files before, after and between by their bounds",
  fn() {
    const file = fileOf([NS_PER_DAY + 10n, NS_PER_DAY + 20n], true);
    const cases: [minNs: bigint | undefined, maxNs: bigint | undefined, match: boolean][] = [
      [undefined, undefined, true],
      [NS_PER_DAY + 20n, undefined, true],
      [NS_PER_DAY + 21n, undefined, false],
      [undefined, NS_PER_DAY + 10n, true],
      [undefined, NS_PER_DAY + 9n, false],
      [2n * NS_PER_DAY, undefined, false],
      [undefined, NS_PER_DAY - 1n, false],
    ];
    for (const [minNs, maxNs, match] of cases) {
      assert.equal(rangeFilter({ minNs, maxNs }).file(file), match, `${minNs} ${maxNs}`);
    }
  },
});

Deno.test({
  name: "rangeFilter goes by the day summary and keeps what it cannot tell",
  fn() {
    const range = { minNs: 3n * NS_PER_DAY, maxNs: 4n * NS_PER_DAY };
    const cases: [manifest: ManifestFile, match: boolean][] = [
      [manifestOf(0, 2), false],
      [manifestOf(0, 3), true],
      [manifestOf(4, 9), true],
      [manifestOf(5, 9), false],
      [{ partitions: undefined } as ManifestFile, true],
      [{ partitions: [{ containsNull: true }] } as unknown as ManifestFile, true],
    ];
    for (const [manifest, match] of cases) {
      assert.equal(rangeFilter(range).manifest(manifest), match);
    }
  },
});
