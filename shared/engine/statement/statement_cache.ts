/**
 * What does not change from one run of a statement to the next, kept for those asked again and
 * again (a dashboard's): its tree, the text of a tree that was changed, values of its constants,
 * and its result's columns. Tree, text and values follow from one another alone; the columns from
 * the text and the columns of its tables, whatever files they have. Long texts are not kept; the
 * least recently used go first.
 */

import type { DescribedColumn, EngineConnection, Relation } from "../duckdb/driver.ts";
import { KEPT_STATEMENT_LENGTH_MAX, KEPT_TREE_LENGTH_MAX, STATEMENTS_KEPT_MAX } from "../limits.ts";
import { shapeOf } from "./statement_shape.ts";

/** A connection that is asked nothing whose answer is still known. */
export interface CachedConnection
  extends Pick<EngineConnection, "serialize" | "deserialize" | "texts"> {
  /** As `texts`, of a statement that gives the same each time: from the cache, too. */
  steadyTexts(sql: string): Promise<readonly (readonly (string | null)[])[]>;
}

export class StatementCache {
  readonly #trees = new Map<string, string>();
  readonly #texts = new Map<string, string>();
  readonly #values = new Map<string, readonly (readonly (string | null)[])[]>();
  readonly #columns = new Map<string, readonly DescribedColumn[]>();

  /** `connection` behind this cache. */
  over(connection: EngineConnection): CachedConnection {
    return {
      serialize: (sql) => this.tree(connection, sql),
      deserialize: (tree) => this.text(connection, tree),
      texts: (sql) => connection.texts(sql),
      steadyTexts: (sql) => this.values(connection, sql),
    };
  }

  /** As `EngineConnection.serialize`. */
  async tree(connection: EngineConnection, sql: string): Promise<string> {
    if (sql.length > KEPT_STATEMENT_LENGTH_MAX) return await connection.serialize(sql);
    return await madeOnce(this.#trees, sql, (text) => connection.serialize(text));
  }

  /** As `EngineConnection.deserialize`. */
  async text(connection: EngineConnection, tree: string): Promise<string> {
    return await madeOnce(this.#texts, tree, (text) => connection.deserialize(text));
  }

  /**
   * As `EngineConnection.texts`, of a statement that gives the same short texts whenever it is
   * asked.
   */
  async values(
    connection: EngineConnection,
    sql: string,
  ): Promise<readonly (readonly (string | null)[])[]> {
    const known = recall(this.#values, sql);
    if (known !== undefined) return known;
    const values = await connection.texts(sql);
    if (sql.length <= KEPT_STATEMENT_LENGTH_MAX) keep(this.#values, sql, values);
    return values;
  }

  /**
   * As `EngineConnection.describe`; `relations` are empty ones, which tell the columns and no
   * files. `shape` is all of the statement that its columns can depend on.
   */
  async columns(
    connection: EngineConnection,
    { sql, shape, relations }: {
      readonly sql: string;
      readonly shape: string;
      readonly relations: readonly Relation[];
    },
  ): Promise<readonly DescribedColumn[]> {
    if (shape.length > KEPT_TREE_LENGTH_MAX) return await connection.describe(sql, relations);
    const key = JSON.stringify([shape, relations]);
    const known = recall(this.#columns, key);
    if (known !== undefined) return known;
    const columns = await connection.describe(sql, relations);
    keep(this.#columns, key, columns);
    return columns;
  }
}

/** What `make` makes of a text, kept for all of its shape. */
async function madeOnce(
  kept: Map<string, string>,
  text: string,
  make: (text: string) => Promise<string>,
): Promise<string> {
  const shape = shapeOf(text);
  const key = shape?.text ?? text;
  let made = recall(kept, key);
  if (made === undefined) {
    made = await make(key);
    // What is refused is refused in its own words.
    if (shape !== undefined && isRefusal(made)) return await make(text);
    if (Math.max(key.length, made.length) <= KEPT_TREE_LENGTH_MAX) keep(kept, key, made);
  }
  return shape === undefined ? made : shape.restored(made);
}

/** DuckDB's parser tells a syntax error as a value. */
function isRefusal(tree: string): boolean {
  return tree.startsWith('{"error":true');
}

function recall<V>(kept: Map<string, V>, key: string): V | undefined {
  const value = kept.get(key);
  if (value !== undefined) {
    kept.delete(key);
    kept.set(key, value);
  }
  return value;
}

function keep<V>(kept: Map<string, V>, key: string, value: V): void {
  kept.set(key, value);
  const [oldest] = kept.keys();
  if (kept.size > STATEMENTS_KEPT_MAX && oldest !== undefined) kept.delete(oldest);
}
