/** A value of a field: formatted where that helps, and a large one in a viewer of its own. */

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { bytesText } from "../view/bytes_text.ts";
import { CopyButton } from "../view/copy_button.tsx";
import type { RowField } from "./log_rows.ts";
import { type Marker, marksIn } from "./marks.ts";
import { MarkedText } from "./marked_text.tsx";
import { shapedText } from "./text_shape.ts";

/** More than this opens in the viewer. */
const INLINE_CHARS_MAX = 4_000;
/** The viewer lays out pieces of a text that come into view. */
const PIECE_CHARS = 16_384;

const viewed = signal<RowField | undefined>(undefined);

export function ValueView({ field, markers }: {
  readonly field: RowField;
  readonly markers: readonly Marker[];
}): JSX.Element {
  const { text } = field;
  const isLarge = text.length > INLINE_CHARS_MAX;
  const shown = isLarge ? text.slice(0, INLINE_CHARS_MAX) : shapedText(text).text;
  return (
    <>
      <MarkedText text={shown} marks={marksIn(shown, markers)} />
      {isLarge && (
        <button type="button" class="open-value" onClick={() => viewed.value = field}>
          … open all {bytesText(text.length)}
        </button>
      )}
    </>
  );
}

/** The viewer of large values: one for the page. */
export function ValueDialog(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isRaw = useRef(signal(false)).current;
  const field = viewed.value;
  useEffect(() => {
    isRaw.value = false;
    if (field !== undefined) dialog.current?.showModal();
    else dialog.current?.close();
  }, [field]);
  const shaped = field === undefined ? undefined : shapedText(field.text);
  const text = isRaw.value ? field?.text : shaped?.text;
  return (
    <dialog
      ref={dialog}
      class="value-dialog"
      aria-labelledby="value-title"
      onClose={() => viewed.value = undefined}
    >
      {field !== undefined && (
        <>
          <header>
            <h2 id="value-title">{field.name}</h2>
            <span class="quiet">{field.text.length.toLocaleString()} characters</span>
            {shaped?.shape !== "plain" && (
              <label>
                <input
                  type="checkbox"
                  checked={isRaw.value}
                  onChange={(event) => isRaw.value = event.currentTarget.checked}
                />{" "}
                as it was sent
              </label>
            )}
            <CopyButton text={() => field.text}>copy</CopyButton>
            <button type="button" onClick={() => dialog.current?.close()}>Close</button>
          </header>
          <pre tabIndex={0} aria-label={`Value of ${field.name}`}>
            {piecesOf(text ?? "").map((piece, at) => (
              <span key={at} class="piece"><MarkedText text={piece} /></span>
            ))}
          </pre>
        </>
      )}
    </dialog>
  );
}

/** Cuts at an end of line where there is one; a pair of surrogates stays together. */
function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  for (let at = 0; at < text.length;) {
    const newline = text.lastIndexOf("\n", at + PIECE_CHARS);
    let end = newline >= at ? newline + 1 : at + PIECE_CHARS;
    if (end < text.length && /[\uDC00-\uDFFF]/.test(text[end] ?? "")) end += 1;
    pieces.push(text.slice(at, end));
    at = end;
  }
  return pieces;
}
