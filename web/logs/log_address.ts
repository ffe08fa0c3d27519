/** What a link to the page Logs carries: all that is needed to show the same elsewhere. */

import { batch, signal } from "@preact/signals";
import { noteQuery } from "../frame/router.ts";
import {
  type Instants,
  parseRange,
  RANGE_DEFAULT,
  rangeText,
  type TimeRange,
} from "./time_range.ts";
import type { Zone } from "./time_zone.ts";

export type View = "rows" | "patterns";

/** The table that logs go to when a client names none. */
const TABLE_DEFAULT = "events";
const COLUMNS_MAX = 20;

/** What is being typed. */
export const typed = signal("");
/** What was searched last. */
export const searched = signal("");
export const table = signal(TABLE_DEFAULT);
export const range = signal<TimeRange>(RANGE_DEFAULT);
export const view = signal<View>("rows");
/** Fields that have a column of their own, by their names. */
export const columns = signal<readonly string[]>([]);
/** The key of the row that is open. */
export const openRow = signal<string | undefined>(undefined);
/** Whether long lines are wrapped. */
export const wraps = signal(false);
export const zone = signal<Zone>("local");
/** Whether new rows come by themselves. */
export const isLive = signal(false);

/** Takes everything over from an address. */
export function readSignals(asked: URLSearchParams): void {
  batch(() => {
    typed.value = asked.get("q") ?? "";
    table.value = asked.get("table") ?? TABLE_DEFAULT;
    range.value = parseRange(asked.get("range") ?? "") ?? RANGE_DEFAULT;
    view.value = asked.get("view") === "patterns" ? "patterns" : "rows";
    columns.value = asked.getAll("column").slice(0, COLUMNS_MAX);
    openRow.value = asked.get("row") ?? undefined;
    wraps.value = asked.get("wrap") === "1";
    zone.value = asked.get("zone") === "utc" ? "utc" : "local";
    isLive.value = asked.get("live") === "1";
  });
}

/** Writes everything into the address; by `isNew` as an entry of the history. */
export function writeAddress({ isNew }: { readonly isNew: boolean }): void {
  noteQuery(addressQuery(range.value), { isNew });
}

/** The link to what is shown; `instants`: with these instead of a span before now. */
export function linkTo(instants: Instants | undefined): string {
  const link = new URL(location.href);
  const shown: TimeRange = instants === undefined ? range.value : { kind: "between", ...instants };
  link.search = String(addressQuery(shown, { isLive: instants === undefined && isLive.value }));
  return link.href;
}

function addressQuery(
  shown: TimeRange,
  { isLive: withLive = isLive.value } = {},
): URLSearchParams {
  const asked = new URLSearchParams();
  if (searched.value !== "") asked.set("q", searched.value);
  if (table.value !== TABLE_DEFAULT) asked.set("table", table.value);
  asked.set("range", rangeText(shown));
  if (view.value !== "rows") asked.set("view", view.value);
  for (const name of columns.value) asked.append("column", name);
  if (openRow.value !== undefined) asked.set("row", openRow.value);
  if (wraps.value) asked.set("wrap", "1");
  if (zone.value === "utc") asked.set("zone", "utc");
  if (withLive) asked.set("live", "1");
  return asked;
}

/** Opens a row, or closes it. */
export function toggleRow(key: string): void {
  openRow.value = openRow.value === key ? undefined : key;
  writeAddress({ isNew: false });
}

/** Adds a column, or takes it away. */
export function toggleColumn(name: string): void {
  columns.value = columns.value.includes(name)
    ? columns.value.filter((one) => one !== name)
    : [...columns.value, name].slice(-COLUMNS_MAX);
  writeAddress({ isNew: false });
}

export function toggleWrap(): void {
  wraps.value = !wraps.value;
  writeAddress({ isNew: false });
}

export function setZone(next: Zone): void {
  zone.value = next;
  writeAddress({ isNew: false });
}
