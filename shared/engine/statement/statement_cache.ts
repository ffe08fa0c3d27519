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
/** There are four kinds of what is kept, each with its part of the bytes. */
const KINDS = 4;

/**
 * What is kept of statements: at most `STATEMENTS_KEPT_MAX` entries of each kind. Errors: the
 * connection's.
 */
export class StatementCache {
  readonly #trees: KeptTexts<string>;
  readonly #texts: KeptTexts<string>;
  readonly #values: KeptTexts<readonly (readonly (string | null)[])[]>;
  readonly #columns: KeptTexts<readonly DescribedColumn[]>;

  /** `bytesMax`: of all that is kept, about. */
  constructor(bytesMax: number = Infinity) {
    const each = bytesMax / KINDS;
    this.#trees = new KeptTexts(each, (tree) => tree.length);
    this.#texts = new KeptTexts(each, (text) => text.length);
    this.#values = new KeptTexts(each, (rows) => VALUE_LENGTH * rows.length);
    this.#columns = new KeptTexts(each, (columns) => VALUE_LENGTH * columns.length);
  }

  /** Held now, about. */
  get bytes(): number {
    return this.#kinds.reduce((sum, { bytes }) => sum + bytes, 0);
  }

  giveWay(): void {
    for (const kind of this.#kinds) kind.clear();
  }

  get #kinds(): readonly Pick<KeptTexts<unknown>, "bytes" | "clear">[] {
    return [this.#trees, this.#texts, this.#values, this.#columns];
  }

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
    const known = this.#values.recall(sql);
    if (known !== undefined) return known;
    const values = await connection.texts(sql);
    if (sql.length <= KEPT_STATEMENT_LENGTH_MAX) this.#values.keep(sql, values);
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
    // No name and no text of SQL has a character 0.
    const key = [shape, ...relations.flatMap(({ name, select }) => [name, select])].join("\0");
    const known = this.#columns.recall(key);
    if (known !== undefined) return known;
    const columns = await connection.describe(sql, relations);
    this.#columns.keep(key, columns);
    return columns;
  }
}

/** Returns what `make` makes of a text, and keeps it for all texts of its shape. */
async function madeOnce(
  kept: KeptTexts<string>,
  text: string,
  make: (text: string) => Promise<string>,
): Promise<string> {
  const shape = shapeOf(text);
  const key = shape?.text ?? text;
  let made = kept.recall(key);
  if (made === undefined) {
    made = await make(key);
    // A text that is refused is refused in its own words.
    if (shape !== undefined && isRefusal(made)) return await make(text);
    if (Math.max(key.length, made.length) <= KEPT_TREE_LENGTH_MAX) kept.keep(key, made);
  }
  return shape === undefined ? made : shape.restored(made) ?? await make(text);
}

/** DuckDB's parser tells a syntax error as a value. */
function isRefusal(tree: string): boolean {
  return tree.startsWith('{"error":true');
}

/** A short value of a statement, or a column of its result, takes as much as so many characters. */
const VALUE_LENGTH = 64;
/** A character takes two bytes at most. */
const CHARACTER_BYTES = 2;

/** By text, least recently used first. */
class KeptTexts<V> {
  readonly #kept = new Map<string, { readonly value: V; readonly bytes: number }>();
  bytes = 0;

  constructor(
    private readonly bytesMax: number,
    private readonly lengthOf: (value: V) => number,
  ) {}

  recall(key: string): V | undefined {
    const entry = this.#kept.get(key);
    if (entry === undefined) return undefined;
    this.#kept.delete(key);
    this.#kept.set(key, entry);
    return entry.value;
  }

  keep(key: string, value: V): void {
    this.#drop(key);
    const bytes = CHARACTER_BYTES * (key.length + this.lengthOf(value));
    this.#kept.set(key, { value, bytes });
    this.bytes += bytes;
    for (const oldest of this.#kept.keys()) {
      if (this.#kept.size <= STATEMENTS_KEPT_MAX && this.bytes <= this.bytesMax) break;
      this.#drop(oldest);
    }
  }

  clear(): void {
    this.#kept.clear();
    this.bytes = 0;
  }

  #drop(key: string): void {
    this.bytes -= this.#kept.get(key)?.bytes ?? 0;
    this.#kept.delete(key);
  }
}
