/** The terms of a search as a list to add to, and to take from. */

import { parseSearch } from "../../shared/search/parse_search.ts";
import { SearchError } from "../../shared/search/search_error.ts";

/** Returns the search with `term` besides, or without it where it is one of the terms. */
export function withTerm(search: string, term: string): string {
  const terms = search.trim();
  if (terms === "") return term;
  if (terms === term) return "";
  const span = spanOf(terms, term);
  if (span !== undefined) return `${terms.slice(0, span.start)}${terms.slice(span.end)}`.trim();
  // AND binds closer than OR: all that was asked stays asked.
  return `${isOr(terms) ? `(${terms})` : terms} ${term}`;
}

/** The place of the term among those that must all hold, with the space behind or before it. */
function spanOf(terms: string, term: string): { start: number; end: number } | undefined {
  const node = parsed(terms);
  const parts = node?.kind === "and" ? node.parts : [];
  const found = parts.find(({ span }) => terms.slice(span.start, span.end) === term)?.span;
  if (found === undefined) return undefined;
  const behind = /^\s+(?:AND\s+)?/.exec(terms.slice(found.end))?.[0].length ?? 0;
  const before = /(?:\s+AND)?\s+$/.exec(terms.slice(0, found.start))?.[0].length ?? 0;
  return behind > 0
    ? { start: found.start, end: found.end + behind }
    : { start: found.start - before, end: found.end };
}

function isOr(terms: string): boolean {
  return parsed(terms)?.kind === "or" && !/^\([^()]*\)$/.test(terms);
}

/** Undefined: what is typed is no search yet. */
function parsed(terms: string) {
  try {
    return parseSearch(terms);
  } catch (error) {
    if (error instanceof SearchError) return undefined;
    throw error;
  }
}
