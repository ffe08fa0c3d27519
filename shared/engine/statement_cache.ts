/**
 * What does not change from one run of a statement to the next, kept for those asked again and again (a dashboard's):
 * its tree, the text of a tree that was changed, and its result's columns. Tree and text follow from one another alone;
 * the columns from the text and the columns of its tables, whatever files they have. Long texts are not kept; the least recently used go first.
 */

import type { DescribedColumn, EngineConnection, Relation } from "./driver.ts";
import { KEPT_STATEMENT_LENGTH_MAX, KEPT_TREE_LENGTH_MAX, STATEMENTS_KEPT_MAX } from "./limits.ts";

export class StatementCache {
  readonly #trees = new Map<string, string>();
  readonly #texts = new Map<string, string>();
  readonly #columns = new Map<string, readonly DescribedColumn[]>();

  /** As `EngineConnection.serialize`. */
  async tree(connection: EngineConnection, sql: string): Promise<string> {
    const known = recall(this.#trees, sql);
    if (known !== undefined) return known;
    const tree = await connection.serialize(sql);
    if (sql.length <= KEPT_STATEMENT_LENGTH_MAX && tree.length <= KEPT_TREE_LENGTH_MAX) {
      keep(this.#trees, sql, tree);
    }
    return tree;
  }

  /** As `EngineConnection.deserialize`. */
  async text(connection: EngineConnection, tree: string): Promise<string> {
    const known = recall(this.#texts, tree);
    if (known !== undefined) return known;
    const text = await connection.deserialize(tree);
    if (tree.length <= KEPT_TREE_LENGTH_MAX) keep(this.#texts, tree, text);
    return text;
  }

  /** As `EngineConnection.describe`; `relations` are empty ones, which tell the columns and no files. */
  async columns(
    connection: EngineConnection,
    { sql, relations }: { readonly sql: string; readonly relations: readonly Relation[] },
  ): Promise<readonly DescribedColumn[]> {
    if (sql.length > KEPT_STATEMENT_LENGTH_MAX) return await connection.describe(sql, relations);
    const key = JSON.stringify([sql, relations]);
    const known = recall(this.#columns, key);
    if (known !== undefined) return known;
    const columns = await connection.describe(sql, relations);
    keep(this.#columns, key, columns);
    return columns;
  }
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
