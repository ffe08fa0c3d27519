/**
 * Random statements that 2 and 3 real servers share give the rows, columns and types that one of
 * them gives alone.
 */

import assert from "node:assert/strict";
import type { RowObject } from "../../shared/columns/rows.ts";
import type { ColumnType, TableSchema } from "../../shared/schema/schema.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { QueryFleet } from "../apps/query_fleet.ts";
import { FLEET_ARGS } from "../apps/shared_events.ts";
import { type RandomStatement, SpreadStatements } from "./spread_statements.ts";
import { askRecords, type Records } from "./sql_answers.ts";

const SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 20_261_123);
/** So many for each number of servers. */
const STATEMENTS = Number(Deno.env.get("SVC_TEST_SHARED_STATEMENTS") ?? 16);
const COUNTS = (Deno.env.get("SVC_TEST_SERVERS") ?? "2,3").split(",").map(Number);
const START_NS = 1_790_000_000_000_000_000n;
const FILES = 7;
const ROWS_A_FILE = 120;

function schemaOf(text: string): TableSchema {
  const columns = text.split(" ").map((one, at) => {
    const [name = "", type = ""] = one.split(":");
    return { id: at + 1, name, type: type as ColumnType, required: at < 2 };
  });
  return { columns, tags: [] };
}

const TIMES = "timestamp:timestamptz timestamp_ns:long";
const EVENTS = schemaOf(
  `${TIMES} id:long host:string code:int hits:long value:double ok:bool raw:string`,
);
const HOSTS = schemaOf(`${TIMES} host:string team:string weight:int`);

/** The tables that `SpreadStatements` asks; doubles are eighths, so that their sums are exact. */
async function openLab(): Promise<EngineLab> {
  const random = new SeededRandom(SEED);
  const lab = await EngineLab.open();
  const timed = (at: number, row: RowObject): RowObject => {
    const ns = START_NS + BigInt(at) * 1_000_000_000n;
    return { timestamp: ns / 1_000n, timestamp_ns: ns, ...row };
  };
  const some = <T>(share: number, value: () => T) => random.chance(share) ? value() : null;
  for (let file = 0; file < FILES; file += 1) {
    const rows = Array.from({ length: ROWS_A_FILE }, (_, at) => {
      const id = file * ROWS_A_FILE + at;
      return timed(id * 20, {
        id: BigInt(id),
        host: some(0.85, () => `h${random.below(5)}`),
        code: some(0.9, () => random.below(13) - 2),
        hits: some(0.9, () => BigInt(random.below(2 ** 32)) * 2n ** 31n - 2n ** 62n),
        value: some(0.9, () => random.below(64) / 8),
        ok: some(0.8, () => random.chance(0.5)),
        raw: `row ${random.below(40)}`,
      });
    });
    await lab.commitRows(rows, { ident: { namespace: "svc", name: "events" }, schema: EVENTS });
  }
  const hosts = Array.from(
    { length: 4 },
    (_, at) => timed(at, { host: `h${at}`, team: `t${at % 2}`, weight: at }),
  );
  await lab.commitRows(hosts, { ident: { namespace: "svc", name: "hosts" }, schema: HOSTS });
  return lab;
}

for (const count of COUNTS) {
  Deno.test({
    name: `random statements of ${count} servers give what one server gives, seed ${SEED}`,
    async fn() {
      await using lab = await openLab();
      await using fleet = await QueryFleet.start({ dataDir: lab.dir, count, args: FLEET_ARGS });
      const statements = new SpreadStatements(new SeededRandom(SEED + count));
      const modes = new Map<string, number>();
      for (let n = 0; n < STATEMENTS; n += 1) {
        const statement = statements.next();
        const told = `statement ${n} of ${count} servers, seed ${SEED}: ${statement.sql}`;
        const mode = await compare(`${fleet.at(n % count).url}/api/v1/sql`, statement, told);
        modes.set(mode, (modes.get(mode) ?? 0) + 1);
      }
      const unshared = (modes.get("local") ?? 0) + (modes.get("refused") ?? 0);
      assert(unshared < STATEMENTS / 2, JSON.stringify([...modes]));
    },
  });
}

const FIELDS = { types: true, default_order: false } as const;

/** Returns the mode in which it was shared. What one server refuses is refused alike. */
async function compare(
  url: string,
  { sql, keys, unlimited }: RandomStatement,
  told: string,
): Promise<string> {
  const alone = await askRecords(`${url}/local`, sql, FIELDS).catch((error: Error) => error);
  if (alone instanceof Error) {
    const { message } = alone;
    await assert.rejects(askRecords(`${url}/distributed`, sql, FIELDS), { message }, told);
    return "refused";
  }
  const shared = await askRecords(`${url}/distributed`, sql, FIELDS);
  assert.deepEqual([shared.columns, shared.types], [alone.columns, alone.types], told);
  if (unlimited === undefined) {
    assert.deepEqual(textsOf(shared).toSorted(), textsOf(alone).toSorted(), told);
  } else {
    // A limit may choose among rows that are equal in the statement's order.
    const all = textsOf(await askRecords(`${url}/local`, unlimited, FIELDS));
    for (const text of textsOf(shared)) {
      const at = all.indexOf(text);
      assert(at >= 0, `${told}\nrow ${text}`);
      all.splice(at, 1);
    }
    assert.equal(shared.rows.length, alone.rows.length, told);
  }
  if (keys !== undefined) assert.deepEqual(textsOf(shared, keys), textsOf(alone, keys), told);
  const { phases } = shared.stats as {
    readonly phases: { readonly distributed?: { readonly mode: string } };
  };
  return phases.distributed?.mode ?? "none";
}

/** Each row, or its values at `keys`; doubles without their last digits, which threads decide. */
function textsOf({ rows }: Records, keys: readonly number[] = []): string[] {
  const kept = keys.length === 0 ? rows : rows.map((row) => keys.map((key) => row[key]));
  return kept.map((row) =>
    JSON.stringify(row, (_member, value) => {
      const digits = (value as { readonly digits?: string } | null)?.digits;
      if (digits === undefined) return value;
      return /[.eE]/.test(digits) ? Number(Number(digits).toPrecision(11)) : digits;
    })
  );
}
