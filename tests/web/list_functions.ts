/**
 * Makes `web/sql/functions.json`, what the editor offers: the functions that the gate lets through,
 * with the documentation of DuckDB and of DIALECT.md. Run it to write the file; a test holds the
 * file to it.
 */

import { DuckDBInstance } from "@duckdb/node-api";
import {
  ALLOWED_FUNCTIONS,
  ALLOWED_TABLE_FUNCTIONS,
} from "../../shared/engine/gate/allowed_functions.ts";
import type { SqlFunction } from "../../web/sql/complete_sql.ts";

export const FUNCTIONS_FILE = new URL("../../web/sql/functions.json", import.meta.url);
const DIALECT_PAGE = new URL("../../shared/engine/DIALECT.md", import.meta.url);

const CALLS_MAX = 4;

/** What DuckDB's catalog says nothing of, and people use. */
const FURTHER: Readonly<Record<string, readonly [call: string, text: string]>> = {
  count_star: ["", "Number of rows; written count(*)."],
  cume_dist: ["", "Share of the rows of the partition that come before or with this one."],
  dense_rank: ["", "Rank of the row; equal rows share one, and no rank is left out."],
  fill: ["value", "The value, or one interpolated from its neighbours where it is NULL."],
  first_value: ["value", "Value of the first row of the frame."],
  json_array_length: ["json", "Number of values in a JSON array."],
  json_extract: ["json, path", "Value at a path such as '$.a.b', as JSON."],
  json_extract_string: ["json, path", "Value at a path such as '$.a.b', as text."],
  json_keys: ["json", "Names of the members of a JSON object."],
  json_type: ["json", "Kind of a JSON value, such as OBJECT or VARCHAR."],
  json_valid: ["text", "Whether a text is JSON."],
  lag: ["value, offset, default", "Value of the row that is `offset` rows before this one."],
  last_value: ["value", "Value of the last row of the frame."],
  lead: ["value, offset, default", "Value of the row that is `offset` rows after this one."],
  nth_value: ["value, n", "Value of row `n` of the frame."],
  ntile: ["buckets", "Number of the bucket, of so many equal ones, that the row is in."],
  nullif: ["value, other", "NULL where both are equal, else the first."],
  percent_rank: ["", "Rank of the row as a share, from 0 to 1."],
  rank: ["", "Rank of the row; equal rows share one, and the next ranks are left out."],
  row_number: ["", "Number of the row in its partition, from 1."],
  split_part: ["text, separator, n", "Part `n`, from 1, of a text that is cut at a separator."],
  to_json: ["value", "The value as JSON."],
  today: ["", "The day of today, in UTC."],
  unnest: ["list", "A row for each item of a list."],
};

/** Returns the functions by their names. */
export async function listFunctions(): Promise<readonly SqlFunction[]> {
  const ofDialect = dialectFunctions(await Deno.readTextFile(DIALECT_PAGE));
  const known = new Map<string, SqlFunction>([
    ...await duckdbFunctions(),
    ...Object.entries(FURTHER).map(([name, [call, text]]) =>
      [name, { name, calls: [call], text }] as const
    ),
    ...ofDialect,
  ]);
  const names = [
    ...ALLOWED_FUNCTIONS,
    ...ALLOWED_TABLE_FUNCTIONS,
    ...ofDialect.map(([name]) => name),
  ];
  return [...new Set(names)]
    .filter((name) => /^[a-z]/.test(name))
    .toSorted()
    .flatMap((name) => known.get(name) ?? []);
}

async function duckdbFunctions(): Promise<readonly (readonly [string, SqlFunction])[]> {
  const database = await DuckDBInstance.create(":memory:");
  const connection = await database.connect();
  const result = await connection.runAndReadAll(
    "SELECT function_name, list(array_to_string(parameters, ', ') ORDER BY len(parameters)), " +
      "coalesce(max(description), ''), min(examples[1]) FROM duckdb_functions() " +
      "WHERE schema_name = 'main' GROUP BY 1",
  );
  const found = result.getRowsJson().map(([name, calls, text, example]) => {
    const plain = [...new Set(calls as string[])].slice(0, CALLS_MAX);
    const known: SqlFunction = { name: String(name), calls: plain, text: String(text) };
    return [known.name, example === null ? known : { ...known, example: String(example) }] as const;
  });
  connection.closeSync();
  database.closeSync();
  return found;
}

/** A sentence or a row of a table that begins with a call in code, and the first example of it. */
function dialectFunctions(page: string): readonly (readonly [string, SqlFunction])[] {
  const aliases = page.indexOf("## Names from other engines");
  const prose = page.replace(/^```[^]*?^```$/gm, "").replace(/\n(?![\n|#])/g, " ");
  const found: (readonly [string, SqlFunction])[] = [];
  const add = (heads: string, text: string) => {
    const [call] = /\(([^)`]*)\)/.exec(heads)?.slice(1) ?? [];
    for (const [, name = ""] of heads.matchAll(/`(\w+)(?:\([^)`]*\))?`/g)) {
      const [example] = new RegExp(`^${name}\\(.*?\\)(?= +--)`, "m").exec(page) ?? [];
      const known = { name, calls: [call ?? ""], text };
      found.push([name, example === undefined ? known : { ...known, example }]);
    }
  };
  for (
    const [, heads = "", text = ""] of prose.matchAll(
      /(`\w+\([^)`]*\)`) ((?:is|makes) .*?\.)(?= |\n|$)/g,
    )
  ) {
    add(heads, plainText(text));
  }
  for (const [, heads = "", text = ""] of prose.matchAll(/^\| (`\w+\(.*?) \| (.*?) \|$/gm)) {
    const isAlias = page.indexOf(`| ${heads} |`) > aliases;
    const [before, after] = isAlias ? ["Another name for ", "."] : ["True when ", "."];
    add(heads, `${before}${text.replace(/^DuckDB's /, "").replaceAll("`", "")}${after}`);
  }
  return found;
}

/** Texts of the page without its marks, as a sentence of its own. */
function plainText(text: string): string {
  const plain = text.replaceAll("`", "").replace(/\[(.*?)\]\(.*?\)/g, "$1");
  return `${plain.charAt(0).toUpperCase()}${plain.slice(1)}`;
}

if (import.meta.main) {
  const list = await listFunctions();
  await Deno.writeTextFile(FUNCTIONS_FILE, `${JSON.stringify(list, null, 2)}\n`);
}
