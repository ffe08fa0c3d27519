/**
 * Words that are looked for in the column of the words of each row, where data files have one
 * (`shared/derived/text/README.md`), in place of their texts. It takes a fiftieth of the time.
 *
 * That is so where the statement reads the text for nothing else: who shows texts reads them
 * anyway. Rows of the WAL are looked for in texts, and those of files in which the words are rare.
 * Indexes find these.
 */

import { memberText } from "../../derived/text/row_words.ts";
import type { DataFile } from "../../iceberg/types.ts";
import { wordsColumn } from "../../schema/row_words.ts";
import type { Column } from "../../schema/schema.ts";
import { quoteName, quoteText } from "../duckdb/statement_text.ts";
import type { SoughtWords, TableAnswers } from "../fast_paths/table_answers.ts";
import { fastCondition } from "../fast_paths/word_conditions.ts";
import { type MatchCall, matchCallOf } from "../functions/match_calls.ts";
import type { TableReference } from "../gate/gate.ts";
import type { Ordered } from "../order/order_statement.ts";
import { type AttributeTable, type ColumnUse, columnUses } from "../plan/attribute_scopes.ts";
import type { TablePlan } from "../plan/plan.ts";
import { namedColumns } from "../plan/projection.ts";
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
  readonly words: SoughtWords["words"];
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
      attributes: texts.has(name) ? name : undefined,
    }));
    const { uses } = columnUses(root, own, textCallOf);
    const sought = uses.flatMap((use): Sought[] => {
      const { reach, isMatched, call: { call } } = use;
      if (reach.kind !== "table") return [];
      const place = places.find(({ node }) => node === reach.node);
      const text = place?.texts.get(name);
      const words = wordsOfCall(call);
      if (place === undefined || text === undefined || words === undefined || isMatched) return [];
      return [{ use: { ...use, reach }, table: place.plan, text, words }];
    });
    const besides = new Set(sought.map(({ use }) => use.call.column));
    return namedColumns(root, besides)?.has(name) === false ? sought : [];
  });
}

/** The columns of text of whose words some file may tell, by lower-cased name. */
function textsOf({ schema, stemmed, made, files }: TablePlan): ReadonlyMap<string, Column> {
  const texts = schema.columns.filter((column) =>
    column.type === "string" && !stemmed.has(column.name) && !made.has(column.name) &&
    files.some((file) => mayTell(file, column))
  );
  return new Map(texts.map((column) => [column.name.toLowerCase(), column]));
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
function wordsOfCall({ kind, words }: MatchCall): SoughtWords["words"] | undefined {
  const tokens = words.map(({ common }) => common);
  const isRun = kind === "phrase" && tokens.length === 2;
  const isSet = kind !== "prefix" && (kind !== "phrase" || tokens.length === 1);
  if (tokens.length === 0 || !isRun && !isSet) return undefined;
  return isRun ? [tokens] : tokens.map((token) => [token]);
}

/** What is sought, where a file tells of it. */
async function toldWords(
  sought: readonly Sought[],
  answers: TableAnswers,
): Promise<readonly Told[]> {
  const told: Told[] = [];
  for (const one of sought) {
    const { table, text, words } = one;
    const cubes = answers.table(table.version?.uuid ?? "");
    const read = new Set(
      table.parts.flatMap((part) => part.origin === "file" ? [part.file] : []),
    );
    const asked = [...read].filter((file) => mayTell(file, text));
    const files = new Set<DataFile>();
    for (let at = 0; at < asked.length; at += FILES_AT_ONCE) {
      await Promise.all(
        asked.slice(at, at + FILES_AT_ONCE).map(async (file) => {
          if (await cubes.tellsWords(file, { text: text.id, words })) files.add(file);
        }),
      );
    }
    told.push({ ...one, files });
  }
  // A text that is read for one condition may be read for all.
  const isRead = ({ table, text }: Told) =>
    told.some((one) => one.table === table && one.text.id === text.id && one.files.size === 0);
  return told.filter((one) => !isRead(one));
}

/** The call over the column of the table's files. */
function callSql({ use: { call: { call } }, text }: Sought): string {
  const name = { all: "match_terms", any: "match_any", phrase: "match_phrase", prefix: "" };
  const words = call.words.map(({ common }) => common).join(" ");
  return `${name[call.kind]}(${quoteName(text.name)}, ${quoteText(words)})`;
}
