import assert from "node:assert/strict";
import fc from "fast-check";
import { openDuckdbConnection } from "../../testing/duckdb_connection.ts";
import { EngineLab } from "../../testing/engine_lab.ts";
import { parsePredicate } from "../predicate/row_predicate.ts";
import { parseSent } from "./parse_sent.ts";
import { isNode, nodesAt, textAt, type TreeValue } from "./syntax_tree.ts";

/** An expression as one writes it, the same with all parentheses, and how tightly it binds. */
interface Written {
  readonly plain: string;
  readonly full: string;
  readonly tightness: number;
}

const OR = 1;
const AND = 2;
const NOT = 3;
const IS = 4;
const COMPARED = 5;
const LIKE = 6;
const JOINED = 7;
const ALONE = 8;

const alone = (text: string): Written => ({ plain: text, full: text, tightness: ALONE });

/** A piece, in parentheses where it binds less tightly than what is around it. */
const within = ({ plain, tightness }: Written, least: number) =>
  tightness < least ? `(${plain})` : plain;

function infix(operator: string, tightness: number, sides: readonly [Written, Written]): Written {
  const [left, right] = sides;
  // Comparisons of comparisons need parentheses; chains of AND are read from the left.
  const isChain = tightness === AND || tightness === OR || tightness === JOINED;
  return {
    plain: `${within(left, isChain ? tightness : tightness + 1)} ${operator} ${
      within(right, tightness + 1)
    }`,
    full: `((${left.full}) ${operator} (${right.full}))`,
    tightness,
  };
}

const column = fc.constantFrom("a", "b", "t.c").map(alone);
const constant = fc.constantFrom("'x'", "'it''s'", "7", "NULL").map(alone);
const step = fc.tuple(
  fc.constantFrom("->>", "->"),
  fc.constantFrom("'k'", "'$.k.m'", "0").map(alone),
);
const member = fc.tuple(column, fc.array(step, { minLength: 1, maxLength: 3 })).map((
  [own, steps],
) => steps.reduce((left, [arrow, right]) => infix(arrow, JOINED, [left, right]), own));
const operand: fc.Arbitrary<Written> = fc.oneof(
  member,
  member,
  column,
  constant,
  member.map(({ plain, full }) => ({
    plain: `lower(${plain})`,
    full: `lower(${full})`,
    tightness: ALONE,
  })),
  fc.tuple(member, constant).map((sides) => infix("||", JOINED, sides)),
);
const condition = fc.letrec<{ readonly any: Written }>((tie) => ({
  any: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    fc.tuple(fc.constantFrom("=", "<>", "<", ">="), operand, operand)
      .map(([operator, ...sides]) => infix(operator, COMPARED, sides)),
    fc.tuple(fc.constantFrom("LIKE", "NOT LIKE", "ILIKE", "GLOB"), operand, operand)
      .map(([operator, ...sides]) => infix(operator, LIKE, sides)),
    fc.tuple(fc.constantFrom("IS DISTINCT FROM", "IS NOT DISTINCT FROM"), operand, operand)
      .map(([operator, ...sides]) => infix(operator, IS, sides)),
    fc.tuple(operand, constant, operand).map(([input, lower, upper]) => ({
      plain: `${within(input, LIKE + 1)} BETWEEN ${lower.plain} AND ${within(upper, LIKE + 1)}`,
      full: `((${input.full}) BETWEEN ${lower.full} AND (${upper.full}))`,
      tightness: LIKE,
    })),
    operand.map((own) => ({
      plain: `${within(own, LIKE + 1)} IN ('x', 'y')`,
      full: `((${own.full}) IN ('x', 'y'))`,
      tightness: LIKE,
    })),
    fc.tuple(operand, fc.constantFrom("IS NULL", "IS NOT NULL")).map(([own, is]) => ({
      plain: `${within(own, IS + 1)} ${is}`,
      full: `((${own.full}) ${is})`,
      tightness: IS,
    })),
    tie("any").map((own) => ({
      plain: `NOT ${within(own, NOT)}`,
      full: `(NOT (${own.full}))`,
      tightness: NOT,
    })),
    fc.tuple(tie("any"), tie("any")).map((sides) => infix("AND", AND, sides)),
    fc.tuple(tie("any"), tie("any")).map((sides) => infix("OR", OR, sides)),
  ),
})).any;

/** A tree without places, with AND and OR of more than two parts as one node. */
function shapeOf(value: TreeValue): TreeValue {
  if (Array.isArray(value)) return value.map(shapeOf);
  if (!isNode(value)) return value;
  const { query_location: _place, ...node } = value;
  const type = textAt(node, "type");
  const copy = Object.fromEntries(
    Object.entries(node).map(([name, inner]) => [name, shapeOf(inner)]),
  );
  if (textAt(node, "class") !== "CONJUNCTION") return copy;
  const children = nodesAt(copy, "children").flatMap((child) =>
    textAt(child, "type") === type ? nodesAt(child, "children") : [child]
  );
  return { ...copy, children };
}

Deno.test({
  name: "parseSent reads a condition with arrows as it reads the same with all parentheses",
  async fn() {
    await using lab = await openDuckdbConnection();
    const treeOf = async (expression: string, alias: string) => {
      const sql = `SELECT ${expression}${alias} FROM t WHERE ${expression} ORDER BY ${expression}`;
      return shapeOf((await parseSent(lab.connection, sql)).document);
    };
    await fc.assert(
      fc.asyncProperty(condition, fc.constantFrom("", " AS c"), async ({ plain, full }, alias) => {
        assert.deepEqual(await treeOf(plain, alias), await treeOf(full, alias), plain);
      }),
      { numRuns: Number(Deno.env.get("SVC_TEST_RUNS") ?? 500) },
    );
  },
});

Deno.test("parseSent leaves a statement without a misread arrow as it was sent", async () => {
  await using lab = await openDuckdbConnection();
  for (
    const sql of [
      "SELECT a->>'x' FROM t WHERE a->>'x' = 'y' AND b",
      "SELECT list_transform(l, x -> x + 1 > 2 AND x < 3) FROM t",
      "SELECT (a->'x')->>'y', a || b->>'x' FROM t",
      "SELECT '->' AS arrow, 1 = 1 AND 2 = 2",
      "SELECT a->b->>'k' = 'v' FROM t",
      "SELECT /* /* */ ' */ 'AND a->>1' AS \"'\"",
    ]
  ) {
    const { sql: read, writtenOf } = await parseSent(lab.connection, sql);
    assert.deepEqual([read, writtenOf], [sql, undefined]);
  }
});

const NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z

Deno.test("a statement with arrows behind AND finds its rows, and places are those that were sent", async () => {
  await using lab = await EngineLab.open();
  await lab.commit(["a", "b", "b"].map((host, at) => ({
    ns: NS + BigInt(at),
    ...{ host, raw: "r", attributes: JSON.stringify({ n: at, host }) },
  })));
  const one = async (where: string) =>
    (await lab.query(`SELECT count(*) FROM events WHERE ${where}`)).rows;
  assert.deepEqual(await one("host = 'b' AND attributes->>'n' = '2'"), [[1]]);
  assert.deepEqual(await one("host = attributes->>'host'"), [[3]]);
  assert.deepEqual(await one("attributes->>'n' = '0' OR attributes->>'n' = '1'"), [[2]]);
  assert.deepEqual(await one("NOT attributes->>'host' = 'a' AND attributes->'n' IS NOT NULL"), [
    [2],
  ]);
  const sent =
    "SELECT count(*) FROM events WHERE 'é' = host OR host = attributes->>'n' OR nobody(1)";
  const column = sent.indexOf("nobody") + 1;
  await assert.rejects(lab.query(sent), new RegExp(`"nobody" at line 1, column ${column}:`));
  await assert.rejects(
    lab.query("SELECT 1 FROM events WHERE host = attributes->>'n' AND AND 1"),
    /syntax error at or near "AND" at line 1, column 56$/,
  );
});

Deno.test("parseSent leaves lambdas what they are", async () => {
  await using lab = await openDuckdbConnection();
  const l = `['{"a":{"b":"v"},"c":"v"}', '{"a":{"b":"w"},"c":"u"}']`;
  for (
    const [sql, value] of [
      [`list_transform(${l}, x -> x->>'c')`, "[v, u]"],
      [`list_transform(${l}, x -> x->'a'->>'b')`, "[v, w]"],
      [`list_transform(${l}, x -> true AND x->>'c' = 'v')`, "[true, false]"],
      [`list_transform(${l}, (x, i) -> i = 1 AND x->'a'->>'b' = 'v')`, "[true, false]"],
      [`list_transform(['a', 'b'], x -> 'a' = x)`, "[true, false]"],
      [`list_transform([1, 2], x -> x + 1)`, "[2, 3]"],
      [`list_transform(${l}, lambda x: true AND x->>'c' = 'v')`, "[true, false]"],
    ] as const
  ) {
    const { sql: read } = await parseSent(lab.connection, `SELECT (${sql})::VARCHAR`);
    assert.deepEqual(await lab.connection.texts(read), [[value]], sql);
  }
});

Deno.test("parseSent reads as long a statement as there may be, of many arrows, in little time", async () => {
  await using lab = await openDuckdbConnection();
  const lists = [
    Array(5_000).fill("a = b->>'k'").join(" OR "),
    `a = b${"::text".repeat(30_000)}->>'k'`,
    `a = b${"[1]".repeat(60_000)}->>'k'`,
    `a = ${"b.".repeat(60_000)}c->>'k'`,
    "a = b->".repeat(20_000),
    `${"(".repeat(60_000)}a = b->>'k'`,
  ];
  for (const list of lists) {
    const startMs = performance.now();
    // Most of them are nested deeper than DuckDB reads.
    await parseSent(
      { serialize: (sql) => Promise.resolve(sql === "" ? "" : '{"error":true}') },
      `SELECT ${list}`,
    ).catch(() => {});
    const tookMs = performance.now() - startMs;
    assert.ok(tookMs < 10_000, `${tookMs} ms for ${list.slice(0, 20)}`);
    await parseSent(lab.connection, `SELECT ${list}`).catch(() => {});
  }
});

Deno.test("a predicate of a delete task is read so, too", async () => {
  await using lab = await openDuckdbConnection();
  const text = { namespace: "svc", table: "events" };
  const valueOf = async (predicate: string) =>
    await (await parsePredicate(lab.connection, { ...text, predicate })).value();
  assert.equal(
    await valueOf("host = 'b' AND attributes->>'n' = '2'"),
    await valueOf("host = 'b' AND (attributes->>'n') = '2'"),
  );
});
