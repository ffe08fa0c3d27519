import assert from "node:assert/strict";
import { EVENTS_SCHEMA } from "../../schema/events.ts";
import type { TableSchema } from "../../schema/schema.ts";
import type { EngineConnection, Relation } from "../duckdb/driver.ts";
import { KEPT_STATEMENT_LENGTH_MAX, KEPT_TREE_LENGTH_MAX, STATEMENTS_KEPT_MAX } from "../limits.ts";
import { emptySql } from "../bind/relation.ts";
import { StatementCache } from "./statement_cache.ts";

/** Answers with the text asked for, and counts. */
function countingConnection() {
  const asked: string[] = [];
  const answer = (sql: string) => {
    asked.push(sql);
    return Promise.resolve(sql);
  };
  const connection = {
    serialize: answer,
    deserialize: answer,
    describe: answer,
  } as unknown as EngineConnection;
  return { asked, connection };
}

function relationOf({ columns }: TableSchema): Relation {
  return { name: "events", select: emptySql(columns) };
}

Deno.test({
  name: "StatementCache asks for a text's tree once, until others have pushed it out",
  async fn() {
    const { asked, connection } = countingConnection();
    const cache = new StatementCache();
    for (let i = 0; i < 3; i += 1) {
      assert.equal(await cache.tree(connection, "SELECT 1"), "SELECT 1");
    }
    assert.deepEqual(asked, ["SELECT 1"]);
    for (let i = 0; i < STATEMENTS_KEPT_MAX; i += 1) {
      await cache.tree(connection, `SELECT ${i + 2}`);
    }
    await cache.tree(connection, "SELECT 1");
    assert.equal(asked.filter((sql) => sql === "SELECT 1").length, 2);
  },
});

Deno.test({
  name: "StatementCache asks for a tree's text once, and for another tree's again",
  async fn() {
    const { asked, connection } = countingConnection();
    const cache = new StatementCache();
    for (const tree of ["a", "b", "a", "b"]) {
      assert.equal(await cache.text(connection, tree), tree);
    }
    assert.deepEqual(asked, ["a", "b"]);
  },
});

Deno.test({
  name: "StatementCache asks for columns again when a table has others",
  async fn() {
    const { asked, connection } = countingConnection();
    const cache = new StatementCache();
    const [first] = EVENTS_SCHEMA.columns;
    assert.ok(first !== undefined);
    const widened = { ...first, type: "string" as const };
    const schemas = [
      EVENTS_SCHEMA,
      EVENTS_SCHEMA,
      { ...EVENTS_SCHEMA, columns: EVENTS_SCHEMA.columns.slice(1) },
      { ...EVENTS_SCHEMA, columns: [widened, ...EVENTS_SCHEMA.columns.slice(1)] },
      EVENTS_SCHEMA,
    ];
    for (const schema of schemas) {
      const relations = [relationOf(schema)];
      await cache.columns(connection, { sql: "SELECT *", shape: "*", relations });
    }
    assert.equal(asked.length, 3);
  },
});

Deno.test({
  name: "StatementCache keeps neither long texts nor failures",
  async fn() {
    const { asked, connection } = countingConnection();
    const cache = new StatementCache();
    const long = "x".repeat(KEPT_STATEMENT_LENGTH_MAX + 1);
    for (let i = 0; i < 2; i += 1) {
      await cache.tree(connection, long);
      await cache.columns(connection, {
        sql: long,
        shape: "x".repeat(KEPT_TREE_LENGTH_MAX + 1),
        relations: [],
      });
    }
    assert.equal(asked.length, 4);
    const failing = {
      serialize: () => Promise.reject(new Error("no")),
      describe: () => Promise.reject(new Error("no")),
    } as unknown as EngineConnection;
    await assert.rejects(cache.tree(failing, "SELECT 1"));
    await assert.rejects(cache.columns(failing, { sql: "SELECT 1", shape: "1", relations: [] }));
    assert.equal(await cache.tree(connection, "SELECT 1"), "SELECT 1");
  },
});
