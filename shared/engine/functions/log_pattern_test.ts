import { deepStrictEqual, strictEqual } from "node:assert/strict";
import { EngineLab } from "../../testing/engine_lab.ts";

/** Lines in the style of known programs, grouped by the statement that wrote them. */
const GROUPS: readonly (readonly [pattern: string, lines: readonly string[]])[] = [
  ["<*> INFO storage.BlockManager: Found block rdd_<*>_<*> locally", [
    "17/06/09 INFO storage.BlockManager: Found block rdd_2_1 locally",
    "18/12/31 INFO storage.BlockManager: Found block rdd_42_139 locally",
  ]],
  ["<*> <*> web sshd[<*>]: Failed password for root from <*> port <*> ssh<*>", [
    "Dec 10 06:55:46 web sshd[24200]: Failed password for root from 10.0.0.7 port 38926 ssh2",
    "Jan  2 23:00:01 web sshd[7]: Failed password for root from 192.168.100.200 port 1 ssh2",
  ]],
  ["request <*> of <*> took <*>ms", [
    'request 7c3f9b1e-0000-4000-8000-00805f9b34fb of "GET /cart" took 31ms',
    'request 00000000-0000-0000-0000-000000000000 of "" took 0.5ms',
  ]],
  ["segfault at <*> ip <*> in worker", [
    "segfault at 0x7ffd4c021000 ip deadbeef00 in worker",
    "segfault at 0xffffffff ip 00000000004005d0 in worker",
  ]],
  ["café 接続 <*> ✓", ["café 接続 1 ✓", "café 接続 -99.5 ✓"]],
  ["facade decade added", ["facade decade added"]],
  ["", [""]],
];

Deno.test({
  name: "log_pattern gives the lines of one statement of a program one shape",
  fn: async () => {
    await using lab = await EngineLab.open();
    for (const [pattern, lines] of GROUPS) {
      for (const line of lines) {
        const { rows } = await lab.query(`SELECT log_pattern('${line}')`);
        deepStrictEqual(rows, [[pattern]], line);
      }
    }
  },
});

Deno.test({
  name:
    "log_pattern groups rows, its patterns are their own patterns, and a long text is no matter",
  fn: async () => {
    await using lab = await EngineLab.open({ wal: true });
    const row = (at: number) => ({
      ns: 1_795_132_800_000_000_000n + BigInt(at),
      raw: `took ${at} ms`,
    });
    await lab.commit([1, 22, 333].map(row));
    await lab.append([row(4_444)]);
    const grouped = await lab.query(
      "SELECT log_pattern(raw) AS p, count(*) FROM events GROUP BY p",
    );
    deepStrictEqual(grouped.rows, [["took <*> ms", 4]]);
    const again = await lab.query("SELECT DISTINCT log_pattern(log_pattern(raw)) FROM events");
    deepStrictEqual(again.rows, [["took <*> ms"]]);
    const long = await lab.query("SELECT length(log_pattern(repeat('id 12 ', 10000)))");
    strictEqual(long.rows[0]?.[0], "id <*> ".length * 10_000);
  },
});
