/**
 * Words that are looked for in the column of the words of each row, where data files have one
 * (`shared/derived/text/README.md`), in place of their texts.
 *
 * That is so where the statement reads the text for nothing else: who shows texts reads them
 * anyway. Rows of the WAL are looked for in texts, and those of files in which the words are rare.
 * Indexes find these.
 */

import { eachOf } from "../../base/each_of.ts";
import { hasWords, memberText } from "../../derived/text/row_words.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { wordsColumn, wordsColumns } from "../../schema/row_words.ts";
import type { Column } from "../../schema/schema.ts";
import { quoteName, quoteText } from "../duckdb/statement_text.ts";
import type { TableAnswers } from "../fast_paths/table_answers.ts";
import { fastCondition } from "../fast_paths/word_conditions.ts";
import { type MatchCall, matchCallOf } from "../functions/match_calls.ts";
import type { TableReference } from "../gate/gate.ts";
import type { Ordered } from "../order/order_statement.ts";
import { type AttributeTable, type ColumnUse, columnUses } from "../plan/attribute_scopes.ts";
import type { TablePlan } from "../plan/plan.ts";
import { isNamed } from "../plan/projection.ts";
import type { CachedConnection } from "../statement/statement_cache.ts";
import { textAt, type TreeNode } from "../statement/syntax_tree.ts";
import type { SparedUse } from "./spared_columns.ts";

/** In a smaller file looking up which words rows tell of takes as long as to look for them. */
const ROWS_MIN = 2_048;
/** Files that are asked at the same time. */
const FILES_AT_ONCE = 16;

/**
 * Returns what may take the place of conditions on texts that the statement reads for nothing else.
 * Errors: the connection's.
 */
export async function toldConditions(
  root: TreeNode,
  statement: Pick<Ordered, "references" | "tables">,
  { answers, cached }: { readonly answers: TableAnswers; readonly cached: CachedConnection },
): Promise<readonly SparedUse[]> {
  const told = await toldWords(soughtIn(root, statement), answers);
  return await Promise.all(told.map(async (one): Promise<SparedUse> => {
    const { use: { node, reach, call: { call } }, table, text, words, files } = one;
    const source = wordsColumn(text);
    const parts = words.map((own) =>
      `contains(${quoteName(source.name)}, ${quoteText(memberText(own))})`
    );
    const sql = callSql(one);
    return {
      ...{ node, reach, table, source, files },
      key: sql,
      type: "bool",
      cheap: {
        sql: `(${parts.join(call.kind === "any" ? " OR " : " AND ")})`,
        reads: [source.name],
        told: `words of ${text.name} are told by rows of`,
      },
      dear: {
        sql: `(${await fastCondition(sql, cached)})`,
        reads: [text.name],
        told: "looked for in texts of",
      },
    };
  }));
}

/** A condition on the words of a text. */
interface Sought {
  readonly use: TextUse;
  readonly table: TablePlan;
  readonly text: Column;
  /** What it is of: all of these, or any, each a word or two side by side. */
  readonly words: readonly (readonly string[])[];
}

interface Told extends Sought {
  /** The files whose rows tell of all its words. */
  readonly files: ReadonlySet<DataFile>;
}

type TextUse = ColumnUse<TextCall> & Pick<SparedUse, "reach">;

interface TextCall {
  readonly column: TreeNode;
  readonly call: MatchCall;
}

/** The conditions on texts that the statement reads for nothing else. */
function soughtIn(
  root: TreeNode,
  { references, tables }: Pick<Ordered, "references" | "tables">,
): readonly Sought[] {
  const planOf = ({ table, hot }: TableReference) =>
    hot === undefined ? tables.find(({ name }) => name === table) : undefined;
  const places = references.flatMap((reference) => {
    const plan = planOf(reference);
    return plan === undefined ? [] : [{ node: reference.node, plan, texts: textsOf(plan) }];
  });
  const names = new Set(places.flatMap(({ texts }) => [...texts.keys()]));
  return [...names].flatMap((name) => {
    const own = places.map(({ node, plan, texts }): AttributeTable => ({
      node,
      columns: plan.schema.columns.map((column) => column.name),
      lookedInto: texts.has(name) ? name : undefined,
    }));
    const { uses } = columnUses(root, own, textCallOf);
    const sought = uses.flatMap((use): Sought[] => {
      const { reach, isOwn, isMatched, call: { call } } = use;
      if (reach.kind !== "table" || !isOwn || isMatched) return [];
      const place = places.find(({ node }) => node === reach.node);
      const text = place?.texts.get(name);
      const words = wordsOfCall(call);
      if (place === undefined || text === undefined || words === undefined) return [];
      return [{ use: { ...use, reach }, table: place.plan, text, words }];
    });
    const besides = new Set(sought.map(({ use }) => use.call.column));
    return isNamed(name, root, besides) ? [] : sought;
  });
}

/** The columns of text of whose words some file may tell, by lower-cased name. */
function textsOf({ schema, stored, stemmed, made, files }: TablePlan): ReadonlyMap<string, Column> {
  const texts = schema.columns.filter((column) =>
    column.type === "string" && !stemmed.has(column.name) && !made.has(column.name) &&
    files.some((file) => mayTell(file, column))
  );
  const telling = wordsColumns(texts, stored.columns);
  return new Map([...telling.keys()].map((column) => [column.name.toLowerCase(), column]));
}

function mayTell({ rows, columnSizes }: DataFile, text: Column): boolean {
  return rows >= ROWS_MIN && columnSizes.has(wordsColumn(text).id);
}

function textCallOf(node: TreeNode): TextCall | undefined {
  const call = matchCallOf(node);
  return call === undefined || textAt(call.text, "class") !== "COLUMN_REF"
    ? undefined
    : { column: call.text, call };
}

/** The words of a call; undefined: it is of more than which words a text has. */
function wordsOfCall({ kind, words }: MatchCall): Sought["words"] | undefined {
  const tokens = words.map(({ common }) => common);
  const isRun = kind === "phrase" && tokens.length === 2;
  const isSet = kind !== "prefix" && (kind !== "phrase" || tokens.length === 1);
  if (tokens.length === 0 || !isRun && !isSet) return undefined;
  return isRun ? [tokens] : tokens.map((token) => [token]);
}

/** What is sought, and the files that tell of it, where some do for each condition on a text. */
async function toldWords(
  sought: readonly Sought[],
  answers: TableAnswers,
): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (const [table, ofTable] of Map.groupBy(sought, (one) => one.table)) {
    for (const [text, ofText] of Map.groupBy(ofTable, (one) => one.text)) {
      const words = await wordsOfFiles(table, text, answers);
      const own = ofText.map((one): Told => {
        const tells = (set: string) => one.words.every((each) => hasWords(set, each));
        const files = words.entries().flatMap(([file, set]) => tells(set) ? [file] : []);
        return { ...one, files: new Set(files) };
      });
      // Else the text is read, and may be read for all of them.
      if (own.every(({ files }) => files.size > 0)) told.push(...own);
    }
  }
  return told;
}

/** The words of which the rows of each file tell. */
async function wordsOfFiles(
  { version, parts }: TablePlan,
  text: Column,
  answers: TableAnswers,
): Promise<ReadonlyMap<DataFile, string>> {
  const cubes = answers.table(version?.uuid ?? "");
  const read = new Set(parts.flatMap((part) => part.origin === "file" ? [part.file] : []));
  const words = new Map<DataFile, string>();
  const asked = [...read].filter((file) => mayTell(file, text));
  await eachOf(asked, { atOnce: FILES_AT_ONCE, signal: undefined }, async (file) => {
    words.set(file, await cubes.toldWords(file, text));
  });
  return words;
}

/** The call over the column of the table's files. */
function callSql({ use: { call: { call: { kind, words } } }, text }: Sought): string {
  const name = kind === "all" ? "match_terms" : kind === "any" ? "match_any" : "match_phrase";
  const literal = words.map(({ common }) => common).join(" ");
  return `${name}(${quoteName(text.name)}, ${quoteText(literal)})`;
}
