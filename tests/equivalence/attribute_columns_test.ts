/**
 * Statements that name attributes answer alike with and without columns for attributes: rows,
 * types, names of columns and errors. Files are from before a column, from after it, and merged.
 * Segments of the WAL have rows that columns can hold, and others. Attributes are of changing
 * types, and some are no JSON.
 *
 * `SVC_ATTRIBUTE_SEEDS=50` runs more seeds.
 */

import assert from "node:assert/strict";
import { present } from "../../shared/base/assert.ts";
import { unaskedColumn } from "../../shared/schema/promoted.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import type { EngineLab } from "../../shared/testing/engine_lab.ts";
import { messageOf } from "../../shared/base/errors.ts";
import {
  type Batch,
  openAttributeLab,
  randomAttributes,
  randomColumns,
  SEEN_COLUMNS,
  SEEN_VALUES,
} from "./attribute_lab.ts";
import { ATTRIBUTE_NAMES, AttributeStatements } from "./attribute_statements.ts";

const SEEDS = Number(Deno.env.get("SVC_ATTRIBUTE_SEEDS") ?? 2);
const FIRST_SEED = Number(Deno.env.get("SVC_ATTRIBUTE_SEED") ?? 1);
const STATEMENTS = 120;
/** Rows of the WAL are converted anew after so many, at first with the columns that are needed. */
const RESTART_AFTER = 6;
/** The last one, which waits in the WAL, has attributes of the same types in all rows. */
const BATCHES = 7;
const ROWS = 40;

for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
  Deno.test({
    name: `statements with columns of attributes answer as without, seed ${seed}`,
    async fn() {
      const random = new SeededRandom(seed);
      const hasHuge = seed % 2 === 0;
      const batches: Batch[] = Array.from(
        { length: BATCHES },
        (_, batch) =>
          Array.from(
            { length: ROWS },
            () => randomAttributes(random, { batch, isJson: seed % 3 !== 0, hasHuge }),
          ),
      );
      const wal = seed % 2 === 0;
      await using plain = await openAttributeLab({
        ...{ batches, wal },
        columns: new Map(),
        mergedAfter: new Set(),
      });
      await using columns = await openAttributeLab({
        ...{ batches, wal },
        columns: randomColumns(random, ATTRIBUTE_NAMES, { batches: BATCHES, seen: [] }),
        mergedAfter: new Set([2, 4].filter(() => random.float() < 0.7)),
      });
      const statements = new AttributeStatements(random);
      const served = new Map<string, number>();
      let failed = 0;
      for (let left = STATEMENTS; left > 0; left -= 1) {
        if (wal && left % RESTART_AFTER === 0) await columns.restartEngine();
        const { sql, isOrdered } = statements.next();
        const expected = await outcomeOf(plain, sql, { isOrdered, hasHuge, fastPaths: false });
        const actual = await outcomeOf(columns, sql, { isOrdered, hasHuge });
        if ("error" in expected.answer) failed += 1;
        // A row that fails may be left out, or another one be met first.
        if (isOfRow(expected.answer) && (isOfRow(actual.answer) || "texts" in actual.answer)) {
          continue;
        }
        assert.deepEqual(actual.answer, expected.answer, sql);
        served.set(actual.served, (served.get(actual.served) ?? 0) + 1);
      }
      assert.ok(failed < STATEMENTS * (seed % 3 === 0 ? 0.8 : 0.4), `${failed} statements failed`);
      assert.ok(served.size > 1, `served by ${[...served.keys()].join()}`);
    },
  });
}

Deno.test({
  name:
    "numbers are looked up in each file whose texts are not all there, beside one with all texts",
  async fn() {
    const column = (kind: "text" | "integer") => present(unaskedColumn("s", kind));
    await using lab = await openAttributeLab({
      batches: [['{"s":"x"}', '{"s":"5"}'], ['{"s":"x"}', '{"s":1e3}']],
      columns: new Map([[0, [column("text"), column("integer")]]]),
      mergedAfter: new Set(),
      wal: false,
    });
    const number = "TRY_CAST(attr_get(attributes, 's') AS BIGINT)";
    const { rows } = await lab.query(`SELECT ${number} FROM events ORDER BY raw`);
    assert.deepEqual(rows, [[null], [5], [null], [1_000]]);
  },
});

Deno.test({
  name: "an operator's column answers as its attribute does, by either name, whatever files hold",
  async fn() {
    for (const seed of [11, 12]) {
      const random = new SeededRandom(seed);
      const batches: Batch[] = Array.from(
        { length: BATCHES },
        (_, batch) =>
          Array.from(
            { length: ROWS },
            () => randomAttributes(random, { batch, isJson: seed % 3 !== 0 }),
          ),
      );
      const wal = seed % 2 === 0;
      await using plain = await openAttributeLab({
        ...{ batches, wal },
        columns: new Map(),
        mergedAfter: new Set(),
      });
      await using columns = await openAttributeLab({
        ...{ batches, wal },
        columns: randomColumns(random, ["status", "severity_text", "$.http.status"], {
          batches: BATCHES,
          seen: SEEN_COLUMNS,
        }),
        mergedAfter: new Set([3]),
      });
      for (const shape of SEEN_STATEMENTS) {
        const named = shape.replaceAll(/<([\w.$]+)>/g, '"$1"');
        const plainly = shape.replaceAll(
          /<([\w.$]+)>/g,
          (_all, name: string) => SEEN_VALUES[name] ?? "",
        );
        const expected = await outcomeOf(plain, plainly, { isOrdered: false, fastPaths: false });
        for (const sql of [named, plainly]) {
          const actual = await outcomeOf(columns, sql, { isOrdered: false });
          assert.deepEqual(actual.answer, expected.answer, sql);
        }
      }
    }
  },
});

const SEEN_STATEMENTS = [
  "SELECT raw, <status> AS s, <severity_text> AS t FROM events",
  "SELECT raw FROM events WHERE <severity_text> = 'ERROR'",
  "SELECT raw, <$.http.status> AS s, <$.http.user.id> AS t FROM events",
  "SELECT raw FROM events WHERE <$.http.user.id> = 'u1'",
  "SELECT raw FROM events WHERE <$.http.status> > 300 ORDER BY timestamp DESC LIMIT 5",
  "SELECT <$.http.user.id> AS s, count(*) AS n FROM events GROUP BY ALL",
  "SELECT raw FROM events WHERE <severity_text> IN ('ERROR', 'WARN') ORDER BY timestamp DESC LIMIT 5",
  "SELECT raw FROM events WHERE <severity_text> LIKE 'E%' OR <status> > 300",
  "SELECT count(*) AS n FROM events WHERE <status> = 503",
  "SELECT count(*) AS n FROM events WHERE <status> IS NULL",
  "SELECT <severity_text> AS s, count(*) AS n FROM events GROUP BY ALL",
  "SELECT date_trunc('minute', timestamp) AS m, <severity_text> AS s, count(*) AS n FROM events GROUP BY ALL",
  "SELECT host, sum(<status>) AS s, avg(<status>) AS a, min(<status>) AS b, max(<status>) AS c, count(<status>) AS n FROM events GROUP BY host",
  "SELECT <status> AS s, count(*) AS n FROM events GROUP BY ALL ORDER BY n DESC, s LIMIT 3",
  "WITH e AS (SELECT * FROM events) SELECT host, max(<status>) AS s FROM e GROUP BY host",
];

interface Asked {
  readonly answer:
    | { readonly error: string }
    | {
      readonly columns: readonly string[];
      readonly types: readonly string[];
      readonly texts: readonly string[];
    };
  readonly served: string;
}

/**
 * A sum of doubles depends on the order in which rows are read. Nothing is sure of it where huge
 * numbers of both signs are added.
 */
function roundedDoubles(text: string, hasHuge: boolean): string {
  return text.replaceAll(
    /-?\d+\.\d+(?:e[-+]?\d+)?/g,
    (value) => hasHuge ? "a double" : Number(value).toPrecision(9),
  );
}

/** Whether a statement failed because of the value of a row. */
function isOfRow(answer: Asked["answer"]): boolean {
  return "error" in answer && /^(?:Conversion|Invalid Input) Error/.test(answer.error);
}

async function outcomeOf(
  lab: EngineLab,
  sql: string,
  { isOrdered, hasHuge = false, ...options }: {
    readonly isOrdered: boolean;
    readonly hasHuge?: boolean;
    readonly fastPaths?: boolean;
  },
): Promise<Asked> {
  try {
    const { columns, types, texts, stats } = await lab.query(sql, options);
    const rounded = /\b(?:avg|sum)\(/.test(sql)
      ? texts.map((text) => roundedDoubles(text, hasHuge))
      : texts;
    // Zeros of both signs are one group, called as the one that a thread met first.
    const told = /\bGROUP BY\b/.test(sql) ? rounded.map(withoutMinusZero) : rounded;
    const rows = isOrdered ? told : told.toSorted();
    return { answer: { columns, types, texts: rows }, served: stats.served_by };
  } catch (error) {
    return { answer: { error: messageOf(error) }, served: "error" };
  }
}

function withoutMinusZero(row: string): string {
  return row.replaceAll(/(?<![\w.])-0\.0(?![\d\w])/g, "0.0");
}
