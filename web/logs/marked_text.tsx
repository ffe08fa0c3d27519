/** A text that was sent by anybody, marked where it was found. */

import type { JSX } from "preact";
import { shownParts } from "../view/shown_text.tsx";
import type { Mark } from "./marks.ts";

export function MarkedText({ text, marks = [] }: {
  readonly text: string;
  readonly marks?: readonly Mark[];
}): JSX.Element {
  const parts: (string | JSX.Element)[] = [];
  let at = 0;
  for (const { start, end } of marks) {
    parts.push(...shownParts(text.slice(at, start)));
    parts.push(<mark>{shownParts(text.slice(start, end))}</mark>);
    at = end;
  }
  parts.push(...shownParts(text.slice(at)));
  return <>{parts}</>;
}
