/** The frame around each page: the bar, the dialogs that any page may open, and the page. */

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { CallerMenu } from "./caller_menu.tsx";
import { KeyHelp, openHelp, useKeys } from "./keys.tsx";
import { PageBody } from "./page_body.tsx";
import { type PageEntry, PAGES } from "./pages.ts";
import { PlaceLink } from "./place_link.tsx";
import { place } from "./router.ts";
import { nextTheme, theme } from "./theme.ts";
import { ServerBanner } from "./server_banner.tsx";
import { SignInDialog } from "./sign_in_dialog.tsx";

export function Frame(): JSX.Element {
  const { path } = place.value;
  const entry = PAGES.find((page) => page.path === path) ?? PAGES[0];
  const links = useRef<HTMLElement>(null);
  useEffect(() => {
    if (entry === undefined) return;
    document.title = `${entry.title} · svc`;
    // A narrow screen has no room for all of them, and less once the caller is known.
    const resized = new ResizeObserver(([{ target: bar } = {}]) => {
      const link = bar?.querySelector("[aria-current]")?.getBoundingClientRect();
      if (bar === undefined || link === undefined) return;
      const { left, right } = bar.getBoundingClientRect();
      bar.scrollLeft += Math.min(0, link.left - left) + Math.max(0, link.right - right);
    });
    if (links.current !== null) resized.observe(links.current);
    return () => resized.disconnect();
  }, [entry]);
  useKeys([{ key: "?", does: "shows the keys", run: openHelp }]);
  return (
    <>
      <header class="frame">
        <a class="name" href="./">svc</a>
        <h1 class="unseen">{entry?.title}</h1>
        <nav aria-label="Pages" ref={links}>
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
      {entry !== undefined && <PageBody entry={entry} />}
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
