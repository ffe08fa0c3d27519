/** The page that the address names, once its code is there. */

import { signal, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { loadPart } from "../api/load_part.ts";
import { serverState } from "../api/server_state.ts";
import type { PageEntry } from "./pages.ts";

/** Until then the page before it stays. */
const LATE_MS = 300;

/**
 * In the tab's storage while a reload may help: the server may have a newer page, and Firefox never
 * asks again for a script that it failed to load. A second failure is told.
 */
const RELOADED = "svc.reloaded";

const shown = signal<{ readonly entry: PageEntry; readonly Page: () => JSX.Element } | undefined>(
  undefined,
);

export function PageBody({ entry }: { readonly entry: PageEntry }): JSX.Element | null {
  const isLate = useSignal(false);
  const failure = useSignal<string | undefined>(undefined);
  const attempts = useSignal(0);
  useEffect(() => {
    const leaving = new AbortController();
    isLate.value = false;
    failure.value = undefined;
    const timer = setTimeout(() => isLate.value = true, LATE_MS);
    loadPart(entry.load, leaving.signal).then((Page) => {
      sessionStorage.removeItem(RELOADED);
      if (!leaving.signal.aborted) shown.value = { entry, Page };
    }).catch((error: Error) => {
      if (leaving.signal.aborted) return;
      if (serverState.peek() === "here" && sessionStorage.getItem(RELOADED) === null) {
        sessionStorage.setItem(RELOADED, entry.path);
        return location.reload();
      }
      failure.value = error.message;
    });
    return () => {
      clearTimeout(timer);
      leaving.abort();
    };
  }, [entry, attempts.value]);
  const page = shown.value;
  const isThere = page?.entry === entry;
  if (!isThere && failure.value !== undefined) {
    return (
      <main class="empty">
        <p class="failed" role="alert">{failure.value}</p>
        <p>
          <button type="button" onClick={() => attempts.value += 1}>Try again</button>{" "}
          <button type="button" onClick={() => location.reload()}>Reload the page</button>
        </p>
      </main>
    );
  }
  if (page === undefined || (!isThere && isLate.value)) {
    return isLate.value ? <main class="empty" aria-busy="true">Loading {entry.title}…</main> : null;
  }
  return (
    <div data-page={page.entry.path || "logs"}>
      <page.Page key={page.entry.path} />
    </div>
  );
}
