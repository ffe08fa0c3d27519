/** What the search bar offers while one types: names of fields, and their values. */

import { effect, signal } from "@preact/signals";
import { SEVERITIES } from "../../shared/search/severities.ts";
import { completionAt, type SearchCompletion } from "../../shared/search/search_completion.ts";
import { allFields, valuesOf } from "./field_state.ts";
import { fieldTerm } from "./field_term.ts";
import { typed } from "./log_address.ts";
import { type Asked, asked } from "./log_state.ts";
import { refreshed } from "./refreshed.ts";

export interface Offer {
  readonly text: string;
  /** What stands beside it, such as how many rows have it. */
  readonly note: string;
  /** What is written instead of `place`. */
  readonly written: string;
}

export interface Offers {
  readonly place: SearchCompletion;
  readonly list: readonly Offer[];
}

const OFFERS_MAX = 12;
/** A value is asked for once typing rests. */
const REST_MS = 80;

export const offers = signal<Offers | undefined>(undefined);
/** The offer that Enter takes; undefined: Enter searches. */
export const activeOffer = signal<number | undefined>(undefined);

/** Looks for what could be meant at the cursor. */
export async function complete(text: string, at: number): Promise<void> {
  const signal = refreshed("completion");
  const place = completionAt(text, at);
  if (place === undefined || isDone(text, at)) return closeOffers();
  try {
    const now = await firstAsked(signal);
    let list: readonly Offer[];
    if (place.kind === "name") {
      list = nameOffers(await allFields(now), place.typed);
    } else {
      await new Promise((resolve) => setTimeout(resolve, REST_MS));
      signal.throwIfAborted();
      list = await valueOffers(place, signal);
    }
    if (signal.aborted || typed.peek() !== text) return;
    activeOffer.value = undefined;
    offers.value = list.length === 0 ? undefined : { place, list };
  } catch {
    // A search goes without completion; what is wrong is told when it runs.
    if (!signal.aborted) closeOffers();
  }
}

/** What is searched. A page that was just opened asks for its table's columns first. */
function firstAsked(signal: AbortSignal): Promise<Asked> {
  return new Promise((resolve, reject) => {
    const end = effect(() => {
      if (asked.value !== undefined) resolve(asked.value);
    });
    signal.addEventListener("abort", () => {
      end();
      reject(signal.reason);
    }, { once: true });
  });
}

export function closeOffers(): void {
  refreshed("completion");
  offers.value = undefined;
  activeOffer.value = undefined;
}

/** Writes an offer into the search; returns where the cursor goes. */
export function takeOffer({ place }: Offers, { written }: Offer): number {
  const { start, end } = place.span;
  const hasColon = place.kind === "name" && place.hasColon;
  const before = typed.value.slice(0, start) + (hasColon ? written.slice(0, -1) : written);
  typed.value = before + typed.value.slice(end);
  closeOffers();
  return before.length + (hasColon ? 1 : 0);
}

/** Behind a word and a space nothing is offered: Enter searches. */
function isDone(text: string, at: number): boolean {
  return text.trim() === "" || /\s$/.test(text.slice(0, at));
}

/** Names that every table understands. */
const COMMON = ["level", "service.name"];

function nameOffers(
  fields: readonly { readonly name: string; readonly type: string }[],
  start: string,
): readonly Offer[] {
  const wanted = start.toLowerCase();
  const known = fields.filter(({ name }) => name !== "attributes" && name !== "timestamp_ns");
  const names = new Map([
    ...COMMON.map((name) => [name, ""] as const),
    ...known.map(({ name, type }) => [name, type] as const),
  ]);
  return [...names].filter(([name]) => name.toLowerCase().includes(wanted))
    .sort(([a], [b]) => Number(!startsSo(a, wanted)) - Number(!startsSo(b, wanted)))
    .slice(0, OFFERS_MAX)
    .map(([name, type]) => ({ text: name, note: type, written: `${nameWritten(name)}:` }));
}

function startsSo(name: string, wanted: string): boolean {
  return name.toLowerCase().startsWith(wanted);
}

/** A name as a search writes it, with quotes where it needs these. */
function nameWritten(name: string): string {
  return fieldTerm(name, "x").slice(0, -":x".length);
}

async function valueOffers(
  place: SearchCompletion & { readonly kind: "value" },
  signal: AbortSignal,
): Promise<readonly Offer[]> {
  const now = asked.peek();
  if (now === undefined) return [];
  const levels = levelOffers(place);
  if (levels.length > 0) return levels;
  const { field, typed: prefix } = place;
  const { values } = await valuesOf(field, { now, prefix, signal, isCompletion: true });
  return values.filter(({ value }) => value !== prefix && value !== "").slice(0, OFFERS_MAX)
    .map(({ value, rows }) => ({
      text: value,
      note: rows.toLocaleString(),
      written: fieldTerm("f", value).slice("f:".length),
    }));
}

/** Levels have an order and few names: they are offered without asking. */
function levelOffers(
  { field, typed: start }: { readonly field: string; readonly typed: string },
): readonly Offer[] {
  if (field !== "level" && field !== "severity") return [];
  return Object.keys(SEVERITIES).filter((name) =>
    name.startsWith(start.toLowerCase()) && name !== start
  )
    .map((name) => ({ text: name, note: "", written: name }));
}
