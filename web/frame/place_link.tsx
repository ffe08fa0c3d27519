/** A link to a place of the page: followed without a load, and opened in another tab as any link. */

import type { ComponentChildren, JSX } from "preact";
import { addressOf, goTo } from "./router.ts";

/** `path` is one segment below `/ui/`. */
export function PlaceLink({ path, query = "", children, ...attributes }: {
  readonly path: string;
  readonly query?: URLSearchParams | string;
  readonly children: ComponentChildren;
  readonly class?: string;
  readonly "aria-current"?: "page" | undefined;
  readonly "data-failed"?: boolean;
}): JSX.Element {
  return (
    <a
      {...attributes}
      href={addressOf({ path, query: String(query) })}
      onClick={(event) => {
        if (event.ctrlKey || event.metaKey || event.shiftKey) return;
        event.preventDefault();
        goTo(path, query);
      }}
    >
      {children}
    </a>
  );
}
