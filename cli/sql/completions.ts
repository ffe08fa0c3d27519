/**
 * What Tab makes of a word at the prompt: commands, keywords, functions, tables, columns, and
 * within `attr_get(attributes, '` and behind `->>` the names of attributes. Names are asked of the
 * server when they are first wanted, and again after a minute. A server that does not answer leaves
 * the keywords.
 */

import type { Clock } from "../../shared/os/clock.ts";
import { isNested } from "../../shared/schema/attribute_path.ts";
import type { SqlClient } from "./client.ts";

const COMMANDS = ["\\?", "\\d", "\\dt", "\\e", "\\format", "\\q", "\\timing", "\\watch", "\\x"];

const KEYWORDS = [
  ..."ALL AND ANY AS ASC BETWEEN BY CASE CAST CROSS DESC DESCRIBE DISTINCT ELSE END EXCEPT".split(
    " ",
  ),
  ..."EXISTS EXPLAIN ANALYZE FALSE FILTER FROM GROUP HAVING ILIKE IN INTERSECT INTERVAL IS".split(
    " ",
  ),
  ..."JOIN LAST LEFT LIKE LIMIT NOT NULL OFFSET ON OR ORDER OVER PARTITION PIVOT QUALIFY".split(
    " ",
  ),
  ..."RECURSIVE SAMPLE SELECT SHOW SUMMARIZE TABLES THEN TRUE UNION UNPIVOT USING VALUES".split(
    " ",
  ),
  ..."WHEN WHERE WINDOW WITH".split(" "),
];

const FUNCTIONS = [
  ..."attr_get avg coalesce count date_bin date_trunc approx_quantile kv_extract log_pattern".split(
    " ",
  ),
  ..."lower match_any match_phrase match_prefix match_terms max median min now sum".split(" "),
  ..."time_bucket upper".split(" "),
];

const NAMES_MS_MAX = 60_000;
/** Who types waits no longer for names. */
const WAIT_MS_MAX = 2_000;

const NAMES_SQL = "SELECT table_name, column_name FROM information_schema.columns";
const NAMES_MAX = 10_000;

interface Names {
  /** Columns by table. */
  readonly columns: ReadonlyMap<string, readonly string[]>;
}

/** Completes words for one prompt. */
export class Completions {
  #names: { readonly value: Names; readonly atMs: number } | undefined;
  readonly #attributes = new Map<
    string,
    { readonly value: readonly string[]; readonly atMs: number }
  >();

  constructor(
    private readonly client: Pick<SqlClient, "records" | "attributes">,
    private readonly clock: Pick<Clock, "monotonicMs">,
  ) {}

  /**
   * Returns what the end of `line` may become, and the part of it that does. `before` are the lines
   * of the statement above it.
   */
  async complete(line: string, before: string): Promise<[string[], string]> {
    if (/^\s*\\\S*$/.test(line)) return matching(COMMANDS, line.trimStart());
    const text = `${before}\n${line}`;
    const quoted = /'([^']*)$/.exec(line)?.[1];
    if (quoted !== undefined && isOpen(text)) {
      const kind = attributeKind(text);
      if (kind === undefined) return [[], quoted];
      const names = await this.#attributeNames(text);
      return matching(kind === "any" ? names : names.filter((name) => !isNested(name)), quoted);
    }
    const word = /[\w.]*$/.exec(line)?.[0] ?? "";
    const { columns } = await this.#known();
    const tables = [...columns.keys()];
    if (/\b(?:FROM|JOIN|DESCRIBE|SUMMARIZE|PIVOT)\s+[\w.]*$|^\s*\\d\s+[\w.]*$/i.test(line)) {
      return matching(tables, word);
    }
    const named = tables.filter((table) => new RegExp(`\\b${table}\\b`, "i").test(text));
    const wanted = (named.length > 0 ? named : tables).flatMap((table) => columns.get(table) ?? []);
    return matching([...new Set([...wanted, ...tables, ...FUNCTIONS, ...KEYWORDS])], word);
  }

  async #known(): Promise<Names> {
    const nowMs = this.clock.monotonicMs();
    if (this.#names !== undefined && nowMs - this.#names.atMs < NAMES_MS_MAX) {
      return this.#names.value;
    }
    const value = await this.#askNames().catch(() => this.#names?.value ?? { columns: new Map() });
    this.#names = { value, atMs: nowMs };
    return value;
  }

  async #askNames(): Promise<Names> {
    const signal = AbortSignal.timeout(WAIT_MS_MAX);
    const { body: { rows } } = await this.client.records(NAMES_SQL, { rowsMax: NAMES_MAX, signal });
    const columns = Map.groupBy(rows, ([table]) => String(table));
    return {
      columns: new Map(
        [...columns].map(([table, of]) => [table, of.map(([, column]) => String(column))]),
      ),
    };
  }

  async #attributeNames(text: string): Promise<readonly string[]> {
    const table = /\b(?:FROM|JOIN)\s+(?:\w+\.)?(\w+)/i.exec(text)?.[1]?.toLowerCase() ?? "events";
    const nowMs = this.clock.monotonicMs();
    const known = this.#attributes.get(table);
    if (known !== undefined && nowMs - known.atMs < NAMES_MS_MAX) return known.value;
    const value = await this.client.attributes(table, AbortSignal.timeout(WAIT_MS_MAX))
      .catch(() => known?.value ?? []);
    this.#attributes.set(table, { value, atMs: nowMs });
    return value;
  }
}

/** Whether a text is open at the end. */
function isOpen(text: string): boolean {
  return (text.match(/'/g)?.length ?? 0) % 2 === 1;
}

/** Which attributes the open text at the end may name; `attr_get` knows no path. */
function attributeKind(text: string): "outermost" | "any" | undefined {
  if (/\battr_get\s*\(\s*[\w."]+\s*,\s*'[^']*$/i.test(text)) return "outermost";
  return /->>?\s*'[^']*$/.test(text) ? "any" : undefined;
}

function matching(candidates: readonly string[], word: string): [string[], string] {
  const start = word.toLowerCase();
  const found = candidates.filter((candidate) => candidate.toLowerCase().startsWith(start));
  return [found.toSorted(), word];
}
