/**
 * Keeps what does not change from one run of a statement to the next, for statements that are asked
 * again and again (a dashboard's). That is its tree, the text of a tree that was changed, values of
 * its constants, and the columns of its answer. Tree, text and values follow from one another
 * alone. The columns follow from the text and the columns of its tables, whatever files these have.
 * Long texts are not kept; the least recently used go first.
 */

import type { DescribedColumn, EngineConnection, Relation } from "../duckdb/driver.ts";
import { KEPT_STATEMENT_LENGTH_MAX, KEPT_TREE_LENGTH_MAX, STATEMENTS_KEPT_MAX } from "../limits.ts";
import { shapeOf } from "./statement_shape.ts";

/** A connection that is asked nothing whose answer is still known. */
export interface CachedConnection
  extends Pick<EngineConnection, "serialize" | "deserialize" | "texts"> {
  /** Gives what `texts` gives, also from the cache. The statement must give the same each time. */
  steadyTexts(sql: string): Promise<readonly (readonly (string | null)[])[]>;
}

/**
 * What is kept of statements: at most `STATEMENTS_KEPT_MAX` entries of each kind. Errors: the
 * connection's.
 */
export class StatementCache {
  readonly #trees = new Map<string, string>();
  readonly #texts = new Map<string, string>();
  readonly #values = new Map<string, readonly (readonly (string | null)[])[]>();
  readonly #columns = new Map<string, readonly DescribedColumn[]>();

  /** Returns `connection` behind this cache. */
  over(connection: EngineConnection): CachedConnection {
    return {
      serialize: (sql) => this.tree(connection, sql),
      deserialize: (tree) => this.text(connection, tree),
      texts: (sql) => connection.texts(sql),
      steadyTexts: (sql) => this.values(connection, sql),
    };
  }

  /** Gives what `EngineConnection.serialize` gives: the tree of a text. */
  async tree(connection: EngineConnection, sql: string): Promise<string> {
    if (sql.length > KEPT_STATEMENT_LENGTH_MAX) return await connection.serialize(sql);
    return await madeOnce(this.#trees, sql, (text) => connection.serialize(text));
  }

  /** Gives what `EngineConnection.deserialize` gives: the text of a tree. */
  async text(connection: EngineConnection, tree: string): Promise<string> {
    return await madeOnce(this.#texts, tree, (text) => connection.deserialize(text));
  }

  /**
   * Gives what `EngineConnection.texts` gives. The statement must give the same short texts
   * whenever it is asked.
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
   * Gives what `EngineConnection.describe` gives. `relations` are empty ones, which tell the
   * columns and no files. `shape` is all of the statement that its columns can depend on.
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

/** Returns what `make` makes of a text, and keeps it for all texts of its shape. */
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
    // A text that is refused is refused in its own words.
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
