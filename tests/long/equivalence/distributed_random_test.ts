/**
 * Random statements that several real servers share give the rows, columns and types that one of
 * them gives alone.
 */

import assert from "node:assert/strict";
import { present } from "../../../shared/base/assert.ts";
import { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import { QueryFleet } from "../../apps/query_fleet.ts";
import { FLEET_ARGS } from "../../apps/shared_events.ts";
import {
  openAttributeLab,
  randomAttributes,
  randomColumns,
  SEEN_COLUMNS,
} from "../../equivalence/attribute_lab.ts";
import { ATTRIBUTE_NAMES, AttributeStatements } from "../../equivalence/attribute_statements.ts";
import { openSharedTables, SHARED_TABLES } from "../../equivalence/shared_tables.ts";
import { type RandomStatement, SpreadStatements } from "../../equivalence/spread_statements.ts";
import { askRecords, type Records } from "../../equivalence/sql_answers.ts";

const SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 20_261_123);
/** So many for each number of servers. */
const STATEMENTS = Number(Deno.env.get("SVC_TEST_SHARED_STATEMENTS") ?? 8);
/** Without a wish each kind of statement has another number of servers: their starts take time. */
const countsOr = (usual: string) =>
  (Deno.env.get("SVC_TEST_SERVERS") ?? usual).split(",").map(Number);
const BATCHES = 6;

for (const count of countsOr("3")) {
  Deno.test({
    name: `random statements of ${count} servers give what one server gives, seed ${SEED}`,
    async fn() {
      await using lab = await openSharedTables(SEED);
      await using fleet = await QueryFleet.start({ dataDir: lab.dir, count, args: FLEET_ARGS });
      const statements = new SpreadStatements(new SeededRandom(SEED + count));
      const modes = new Map<string, number>();
      for (let n = 0; n < STATEMENTS; n += 1) {
        const table = present(SHARED_TABLES[n % SHARED_TABLES.length]);
        const statement = overTable(statements.next(), table);
        const told = `statement ${n} of ${count} servers, seed ${SEED}: ${statement.sql}`;
        const mode = await compare(`${fleet.at(n % count).url}/api/v1/sql`, statement, told);
        modes.set(mode, (modes.get(mode) ?? 0) + 1);
      }
      assertShared(modes, count);
    },
  });
}

for (const count of countsOr("2")) {
  Deno.test({
    name:
      `statements that name attributes with columns are alike on ${count} servers, seed ${SEED}`,
    async fn() {
      const random = new SeededRandom(SEED + count);
      const batches = Array.from(
        { length: BATCHES },
        (_, batch) =>
          Array.from({ length: 60 }, () => randomAttributes(random, { batch, isJson: true })),
      );
      await using lab = await openAttributeLab({
        ...{ batches, wal: true, mergedAfter: new Set([2]) },
        columns: randomColumns(random, ATTRIBUTE_NAMES, { batches: BATCHES, seen: SEEN_COLUMNS }),
      });
      await using fleet = await QueryFleet.start({ dataDir: lab.dir, count, args: FLEET_ARGS });
      const statements = new AttributeStatements(random);
      const modes = new Map<string, number>();
      for (let n = 0; n < STATEMENTS; n += 1) {
        const { sql, isOrdered } = statements.next();
        const told = `statement ${n} of ${count} servers, seed ${SEED}: ${sql}`;
        const statement = { sql, ...(isOrdered ? { keys: [] } : {}) };
        const mode = await compare(`${fleet.at(n % count).url}/api/v1/sql`, statement, told);
        modes.set(mode, (modes.get(mode) ?? 0) + 1);
      }
      assertShared(modes, count);
    },
  });
}

function overTable({ sql, unlimited, ...rest }: RandomStatement, table: string): RandomStatement {
  const over = (text: string) => text.replaceAll(/\bevents\b/g, table);
  return {
    ...rest,
    sql: over(sql),
    ...(unlimited === undefined ? {} : { unlimited: over(unlimited) }),
  };
}

/** A server without others has nobody to share with. Up to three quarters may stay unshared. */
function assertShared(modes: ReadonlyMap<string, number>, count: number): void {
  const unshared = (modes.get("local") ?? 0) + (modes.get("refused") ?? 0);
  assert(
    count === 1 ? unshared === STATEMENTS : 4 * unshared <= 3 * STATEMENTS,
    JSON.stringify([...modes]),
  );
}

const FIELDS = { types: true, default_order: false } as const;

/** Returns the mode in which it was shared. What one server refuses is refused alike. */
async function compare(
  url: string,
  { sql, keys, unlimited }: RandomStatement,
  told: string,
): Promise<string> {
  const outcomeOf = (path: string) =>
    askRecords(`${url}${path}`, sql, FIELDS).catch((error: Error) => error);
  const alone = await outcomeOf("/local");
  const shared = await outcomeOf("/distributed");
  // A row that fails may be left out, or another one be met first.
  if (isOfRow(alone) && (isOfRow(shared) || !(shared instanceof Error))) return "refused";
  if (alone instanceof Error || shared instanceof Error) {
    assert.deepEqual([String(shared)], [String(alone)], told);
    return "refused";
  }
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

/** Whether a statement failed because of the value of a row. */
function isOfRow(outcome: Records | Error): boolean {
  return outcome instanceof Error &&
    /"error":"(?:Conversion|Invalid Input) Error/.test(outcome.message);
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
