import assert from "node:assert/strict";
import { newestSample } from "./newest_sample.ts";

/** A table of a million rows in an hour, and one row that is a day later. */
const BINS = [
  ["2026-11-21T12:00:00.000000Z", 1],
  ...Array.from({ length: 60 }, (_, n) => [
    `2026-11-20T12:${String(59 - n).padStart(2, "0")}:00.000000Z`,
    16_000,
  ]),
];

Deno.test({
  name: "newestSample of a dear search looks at the newest rows, whatever times they have",
  async fn() {
    const asked: string[] = [];
    const priced: string[] = [];
    const call = {
      price: (sql: string) => {
        priced.push(sql);
        return Promise.resolve(/12:5\d:00/.test(sql) ? 0.1 : 5);
      },
      rows: (sql: string) => {
        asked.push(sql);
        const rows = sql.includes("min(timestamp)")
          ? [["2026-11-20T12:00:00.000000Z", "2026-11-21T12:00:00.000000Z"]]
          : sql.includes("count(*)")
          ? BINS
          : [["a"], ["b"]];
        return Promise.resolve({ columns: ["v"], rows, counts: undefined, table: "events" });
      },
    };
    const sample = await newestSample(call, {
      table: "events",
      range: { minNs: undefined, maxNs: undefined },
      condition: "slow",
      list: "v",
      rowsMax: 10,
    });
    assert.deepEqual([sample.rows, sample.isWhole], [[["a"], ["b"]], false]);
    // An eighth of the rows: seven minutes and a half.
    assert.match(
      asked.at(-1) ?? "",
      /timestamp >= .*2026-11-20T12:52:00.*\(slow\) ORDER BY timestamp DESC LIMIT 11$/,
    );
    assert.equal(priced.length, 2);
    const cheap = await newestSample({ ...call, price: () => Promise.resolve(0.01) }, {
      ...{ table: "events", range: { minNs: undefined, maxNs: undefined } },
      ...{ condition: "quick", list: "v", rowsMax: 2 },
    });
    assert.equal(cheap.isWhole, true);
  },
});
