/** The frame around each page: the bar, the dialogs that any page may open, and the page. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { CallerMenu } from "./caller_menu.tsx";
import { KeyHelp, openHelp, useKeys } from "./keys.tsx";
import { type PageEntry, PAGES } from "./pages.ts";
import { PlaceLink } from "./place_link.tsx";
import { place } from "./router.ts";
import { nextTheme, theme } from "./theme.ts";
import { ServerBanner } from "./server_banner.tsx";
import { SignInDialog } from "./sign_in_dialog.tsx";

const shown = signal<{ readonly entry: PageEntry; readonly Page: () => JSX.Element } | undefined>(
  undefined,
);

export function Frame(): JSX.Element {
  const { path } = place.value;
  const entry = PAGES.find((page) => page.path === path) ?? PAGES[0];
  useEffect(() => {
    if (entry === undefined) return;
    document.title = `${entry.title} · svc`;
    entry.load().then((Page) => {
      if (place.peek().path === path) shown.value = { entry, Page };
    });
  }, [entry]);
  useKeys([{ key: "?", does: "shows the keys", run: openHelp }]);
  const page = shown.value;
  return (
    <>
      <header class="frame">
        <a class="name" href="./">svc</a>
        <h1 class="unseen">{entry?.title}</h1>
        <nav aria-label="Pages">
          {PAGES.map((one) => <PageLink key={one.path} page={one} isShown={one === entry} />)}
        </nav>
        <span class="side">
          <CallerMenu />
          <button type="button" title={`Theme: ${theme.value}`} onClick={nextTheme}>
            ◐ <span class="wide">{theme.value}</span>
          </button>
          <button type="button" title="Keys" onClick={openHelp}>
            ? <span class="wide">keys</span>
          </button>
        </span>
      </header>
      {page !== undefined && (
        <div data-page={page.entry.path || "logs"}>
          <page.Page key={page.entry.path} />
        </div>
      )}
      <KeyHelp />
      <SignInDialog />
      <ServerBanner />
    </>
  );
}

function PageLink({ page: { path, title }, isShown }: {
  readonly page: PageEntry;
  readonly isShown: boolean;
}): JSX.Element {
  return (
    <PlaceLink path={path} aria-current={isShown ? "page" : undefined}>
      {title}
    </PlaceLink>
  );
}
