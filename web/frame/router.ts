/**
 * Which page is shown, and with what query. The address is the one truth: each page has one path
 * below `/ui/`, and everything that it shows stands in its query, so a copied link shows the same.
 */

import { signal } from "@preact/signals";
import { useLayoutEffect } from "preact/hooks";

/** `path` is one segment below `/ui/`, empty for the first page. `query` begins with no `?`. */
export interface Place {
  readonly path: string;
  readonly query: string;
}

/** The place that is shown. Pages change it by `goTo` and `noteQuery`. */
export const place = signal<Place>(readPlace());

/** Shows another page, or the same with another query, and makes an entry of the history. */
export function goTo(path: string, query: URLSearchParams | string = ""): void {
  history.pushState(null, "", addressOf({ path, query: String(query) }));
  place.value = readPlace();
}

/**
 * Writes what the page shows into the address, by `isNew` as an entry of the history. The page
 * knows already, so `usePlace` is not called.
 */
export function noteQuery(query: URLSearchParams, { isNew = true } = {}): void {
  const { path } = place.peek();
  const address = addressOf({ path, query: String(query) });
  if (address === addressOf(place.peek())) return;
  if (isNew) history.pushState(null, "", address);
  else history.replaceState(null, "", address);
  noted = readPlace();
  place.value = noted;
}

let noted: Place | undefined;

/**
 * Calls `read` when the page is entered, and when its query changes from outside: by back, by
 * forward, by a link.
 */
export function usePlace(path: string, read: (query: URLSearchParams) => void): void {
  // Before the page can be seen: what somebody types into it would be overwritten.
  useLayoutEffect(() =>
    place.subscribe((next) => {
      if (next === noted || next.path !== path) return;
      read(new URLSearchParams(next.query));
    }), []);
}

/** Shows the first page, with the same query, where the address is that of none of `paths`. */
export function leadToPage(paths: readonly string[]): void {
  const { path, query } = place.peek();
  if (paths.includes(path)) return;
  history.replaceState(null, "", addressOf({ path: "", query }));
  place.value = readPlace();
}

/** The address of a place, for a link: relative, so that a proxy may put a path before it. */
export function addressOf({ path, query }: Place): string {
  return `./${path}${query === "" ? "" : `?${query}`}`;
}

function readPlace(): Place {
  return {
    path: location.pathname.slice(location.pathname.lastIndexOf("/") + 1),
    query: location.search.slice(1),
  };
}

addEventListener("popstate", () => {
  place.value = readPlace();
});
