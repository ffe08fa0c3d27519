/** A search for traces: as the address has it, and as the server is asked. */

import {
  type Instants,
  parseRange,
  RANGE_DEFAULT,
  rangeText,
  type TimeRange,
} from "../logs/time_range.ts";
import { isDuration, parseTags, TagsError } from "./search_texts.ts";

/** What the form holds; empty texts are no conditions. */
export interface TraceSearch {
  readonly service: string;
  readonly operation: string;
  /** `error=true http.route="/a b"` */
  readonly tags: string;
  readonly minDuration: string;
  readonly maxDuration: string;
  readonly range: TimeRange;
  readonly limit: number;
}

export const LIMITS: readonly number[] = [50, 200, 1_000];
export const NO_SEARCH: TraceSearch = {
  service: "",
  operation: "",
  tags: "",
  minDuration: "",
  maxDuration: "",
  range: RANGE_DEFAULT,
  limit: 200,
};

const TEXTS = ["service", "operation", "tags", "minDuration", "maxDuration"] as const;

/** Reads the search of an address. */
export function readSearch(asked: URLSearchParams): TraceSearch {
  const limit = Number(asked.get("limit"));
  return {
    ...NO_SEARCH,
    ...Object.fromEntries(TEXTS.map((name) => [name, asked.get(name) ?? ""])),
    range: parseRange(asked.get("range") ?? "") ?? RANGE_DEFAULT,
    limit: LIMITS.includes(limit) ? limit : NO_SEARCH.limit,
  };
}

/** Writes what `readSearch` reads. */
export function writeSearch(search: TraceSearch): URLSearchParams {
  const asked = new URLSearchParams();
  for (const name of TEXTS) if (search[name] !== "") asked.set(name, search[name]);
  asked.set("range", rangeText(search.range));
  if (search.limit !== NO_SEARCH.limit) asked.set("limit", String(search.limit));
  return asked;
}

/** What is wrong with a part of the form. */
export interface SearchFault {
  readonly field: "tags" | "minDuration" | "maxDuration";
  readonly message: string;
}

/** Judges what the server would refuse, at its place. */
export function faultOf({ tags, minDuration, maxDuration }: TraceSearch): SearchFault | undefined {
  try {
    parseTags(tags);
  } catch (error) {
    if (error instanceof TagsError) return { field: "tags", message: error.message };
    throw error;
  }
  for (const [field, text] of Object.entries({ minDuration, maxDuration })) {
    if (isDuration(text)) continue;
    return {
      field: field as "minDuration" | "maxDuration",
      message: `Write a duration as 200ms, 1.5s or 1m30s: cannot read ${text}`,
    };
  }
  return undefined;
}

/** The parameters of `/api/v3/trace-summaries`. */
export function summaryParameters(
  { service, operation, tags, minDuration, maxDuration, limit }: TraceSearch,
  { from, to }: Instants,
): URLSearchParams {
  const given = {
    "query.serviceName": service,
    "query.operationName": operation,
    "query.durationMin": minDuration,
    "query.durationMax": maxDuration,
  };
  const asked = new URLSearchParams(Object.entries(given).filter(([, text]) => text !== ""));
  const wanted = parseTags(tags);
  if (wanted.size > 0) asked.set("query.attributes", JSON.stringify(Object.fromEntries(wanted)));
  asked.set("query.startTimeMin", new Date(from).toISOString());
  asked.set("query.startTimeMax", new Date(to).toISOString());
  asked.set("query.searchDepth", String(limit));
  return asked;
}
