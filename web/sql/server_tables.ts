/** The tables of the server with their columns and attributes, for completion and the side. */

import { signal } from "@preact/signals";
import { describingSql } from "../../shared/search/described_table.ts";
import { RequestError, requestJson } from "../api/request.ts";
import { runStatement } from "./sql_requests.ts";

export interface NamedType {
  readonly name: string;
  readonly type: string;
}

export interface ServerTable {
  readonly name: string;
  /** Undefined until they are asked for. */
  readonly columns: readonly NamedType[] | undefined;
  /** Names of attributes, the most frequent first. */
  readonly attributes: readonly NamedType[];
}

/** The service's own tables; managed indexes come beside them. */
const OWN_TABLES = ["events", "traces", "query_audit"] as const;
/** Attributes of rows that came within it are offered. */
const RECENT_MS = 7 * 86_400_000;

export const serverTables = signal<readonly ServerTable[]>(OWN_TABLES.map(emptyTable));

function emptyTable(name: string): ServerTable {
  return { name, columns: undefined, attributes: [] };
}

/** Asks which tables there are, and what the first one has. Errors stay silent: typing goes on. */
export async function listServerTables(signal: AbortSignal): Promise<void> {
  try {
    const indexes = await requestJson("indexes", { signal });
    const ids = Array.isArray(indexes) ? indexes.map(({ index_id }) => String(index_id)) : [];
    const names = [...OWN_TABLES, ...ids.filter((id) => !OWN_TABLES.some((own) => own === id))];
    const known = new Map(serverTables.value.map((table) => [table.name, table]));
    serverTables.value = names.map((name) => known.get(name) ?? emptyTable(name));
    await Promise.all(names.slice(0, 2).map((name) => describeTable(name, signal)));
  } catch (error) {
    ignoreFailure(error, signal);
  }
}

const asked = new Set<string>();

/** Asks for columns and attributes of a table, once. */
export async function describeTable(name: string, signal: AbortSignal): Promise<void> {
  if (asked.has(name) || !serverTables.value.some((table) => table.name === name)) return;
  asked.add(name);
  try {
    const { columns, rows: [row = []] } = await runStatement(describingSql(name), {
      rowsMax: 1,
      signal,
    });
    change(name, { columns: columns.map((column, at) => ({ name: column, type: `${row[at]}` })) });
    change(name, { attributes: await attributesOf(name, signal) });
  } catch (error) {
    if (serverTables.value.every((table) => table.name !== name || table.columns === undefined)) {
      asked.delete(name);
    }
    ignoreFailure(error, signal);
  }
}

async function attributesOf(table: string, signal: AbortSignal): Promise<readonly NamedType[]> {
  const now = Date.now();
  const query = new URLSearchParams({
    table,
    from: new Date(now - RECENT_MS).toISOString(),
    to: new Date(now).toISOString(),
  });
  const { fields } = await requestJson(`fields?${query}`, { signal }) as {
    readonly fields: readonly (NamedType & { readonly kind: string; readonly rows: number })[];
  };
  return fields.filter(({ kind }) => kind === "attribute")
    .toSorted((a, b) => b.rows - a.rows)
    .map(({ name, type }) => ({ name, type }));
}

function change(name: string, next: Partial<ServerTable>): void {
  serverTables.value = serverTables.value.map((table) =>
    table.name === name ? { ...table, ...next } : table
  );
}

/** Completion that is missing stops nobody. */
function ignoreFailure(error: unknown, signal: AbortSignal): void {
  if (!signal.aborted && !(error instanceof RequestError)) throw error;
}
