/** A text that was sent by anybody, with nothing that hides in it. */

import type { JSX } from "preact";

/**
 * Control characters, and those that turn or hide text. Each is shown by its name; it stays in the
 * text, so that what is copied is what was sent.
 */
const HIDDEN = new RegExp(
  String.raw`\r(?!\n|$)|[\0-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F]|` +
    String.raw`[\u061C\u200B\u200E\u200F\u202A-\u202E\u2060-\u2069\uFEFF]`,
  "u",
);
const SPLIT = new RegExp(`(${HIDDEN.source})`, "u");

export function ShownText({ text }: { readonly text: string }): JSX.Element {
  return <>{shownParts(text)}</>;
}

export function shownParts(text: string): readonly (string | JSX.Element)[] {
  if (!HIDDEN.test(text)) return [text];
  return text.split(SPLIT).map((part, at) =>
    at % 2 === 1 ? <HiddenCharacter key={at} char={part} /> : part
  );
}

const NAMES: ReadonlyMap<string, string> = new Map([
  ["\x1b", "ESC"],
  ["\r", "CR"],
  ["\0", "NUL"],
]);

function HiddenCharacter({ char }: { readonly char: string }): JSX.Element {
  const code = `U+${(char.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
  return (
    <span class="hidden-char" title={code} data-name={NAMES.get(char) ?? code}>
      <bdi>{char}</bdi>
    </span>
  );
}
