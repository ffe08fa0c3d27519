/** Why a search may have found nothing: asked from the server once it has. */

import { signal } from "@preact/signals";
import { LEVEL_ATTRIBUTES, searchTarget } from "../../shared/search/search_fields.ts";
import type { SearchField, SearchNode } from "../../shared/search/search_syntax.ts";
import { requestJson } from "../api/request.ts";
import { askSql } from "../api/sql_client.ts";
import { pause } from "../api/pause.ts";
import { closestName } from "./closest_name.ts";
import { type Asked, search } from "./log_state.ts";
import { anyRowSql, nearestSql } from "./log_statements.ts";

export interface Emptiness {
  /** Unix milliseconds of the nearest rows that the search finds outside of its range. */
  readonly olderMs?: number | undefined;
  readonly newerMs?: number | undefined;
  /** A field that no row has, and the name that may be meant. */
  readonly unknown?:
    | { readonly field: SearchField; readonly meant: string | undefined }
    | undefined;
  /** Whether the table has no row at all. */
  readonly isUnused?: boolean;
}

const POLL_MS = 2_000;

/** Grows as the answers come. */
export const emptiness = signal<Emptiness>({});

/** Asks why. What fails is left out: the page says what it knows. Returns when nothing is asked. */
export async function lookWhy(now: Asked, signal: AbortSignal): Promise<void> {
  emptiness.value = {};
  const learn = (learned: Emptiness) => {
    if (!signal.aborted) emptiness.value = { ...emptiness.value, ...learned };
  };
  const isUnused = await isTableUnused(now.query.table, signal).catch(() => false);
  if (isUnused) {
    learn({ isUnused });
    return await waitForRows(now.query.table, signal);
  }
  await Promise.allSettled([
    nearest(now, { side: "older", signal }).then((olderMs) => learn({ olderMs })),
    nearest(now, { side: "newer", signal }).then((newerMs) => learn({ newerMs })),
    unknownField(now, signal).then((unknown) => learn({ unknown })),
  ]);
}

async function isTableUnused(table: string, signal: AbortSignal): Promise<boolean> {
  return (await askSql(anyRowSql(table), { signal, rowsMax: 1 })).rows.length === 0;
}

/** The page fills by itself when the first row comes. */
async function waitForRows(table: string, signal: AbortSignal): Promise<void> {
  for (;;) {
    await pause(POLL_MS, signal);
    if (document.hidden) continue;
    // A server that is away for the moment is asked again.
    const isUnused = await isTableUnused(table, signal).catch(() => true);
    if (!isUnused && !signal.aborted) return await search({ isNew: false });
  }
}

async function nearest(
  { query }: Asked,
  { side, signal }: { readonly side: "older" | "newer"; readonly signal: AbortSignal },
): Promise<number | undefined> {
  const { rows: [row] } = await askSql(nearestSql(query, side), { signal, rowsMax: 1 });
  return row === undefined ? undefined : Number(row[0]);
}

/** The first field of the search that is no column and that no row has as an attribute. */
async function unknownField(
  { query, search, known }: Asked,
  signal: AbortSignal,
): Promise<Emptiness["unknown"]> {
  const attributes = fieldsIn(search).flatMap((field) => {
    const target = searchTarget(field.name, known);
    return target.kind === "attribute" ? [{ field, name: target.name }] : [];
  });
  if (attributes.length === 0) return undefined;
  const path = `fields?${new URLSearchParams({ table: query.table })}`;
  const { fields } = await requestJson(path, { signal }) as {
    readonly fields: readonly { readonly name: string }[];
  };
  const names = new Set(fields.map(({ name }) => name));
  const missing = attributes.find(({ name }) => !names.has(name));
  if (missing === undefined) return undefined;
  const all = [...names, ...known.columns.map(({ name }) => name), ...SPOKEN, ...LEVEL_ATTRIBUTES];
  return { field: missing.field, meant: closestName(missing.name, new Set(all)) };
}

/** Names that a search understands beside those of columns and attributes. */
const SPOKEN = ["service.name", "service", "host.name"];

function fieldsIn(node: SearchNode): readonly SearchField[] {
  switch (node.kind) {
    case "and":
    case "or":
      return node.parts.flatMap(fieldsIn);
    case "not":
      return fieldsIn(node.part);
    case "term":
      return node.field === undefined ? [] : [node.field];
    default:
      return [];
  }
}
