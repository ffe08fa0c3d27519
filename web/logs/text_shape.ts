/** How a long value is laid out for reading; what is copied stays what was sent. */

/** `json`: with each member on its own line; `lines`: a stack trace whose `\n` were written out. */
export type TextShape = "plain" | "json" | "lines";

export interface ShapedText {
  readonly shape: TextShape;
  readonly text: string;
}

/** Texts beyond this are shown as they are: laying them out would take the page's time. */
const SHAPED_CHARS_MAX = 4_000_000;
const WRITTEN_OUT = /(?:\\r)?\\n((?:\\t| )*)/g;
/** Lines of a stack trace, as Java, Python, Go and JavaScript write them. */
const STACK_LINE = /\\n(?:\\t| )*(?:at |File |Caused by|goroutine |\/|\.\.\. \d+ more)/;

/** Returns the text as a person reads it best. */
export function shapedText(text: string): ShapedText {
  if (text.length > SHAPED_CHARS_MAX) return { shape: "plain", text };
  if (/^\s*[[{]/.test(text)) {
    const json = laidOut(text);
    if (json !== undefined) return { shape: "json", text: json };
  }
  if (STACK_LINE.test(text)) {
    const lines = text.replaceAll(
      WRITTEN_OUT,
      (_, indent: string) => `\n${indent.replaceAll("\\t", "    ")}`,
    );
    return { shape: "lines", text: lines };
  }
  return { shape: "plain", text };
}

/** JSON with two spaces a depth. Numbers and texts stay as they are written. */
function laidOut(text: string): string | undefined {
  try {
    JSON.parse(text);
  } catch {
    return undefined;
  }
  const parts: string[] = [];
  let depth = 0;
  const newLine = () => parts.push("\n", "  ".repeat(depth));
  const tokens = text.matchAll(/"(?:[^"\\]|\\.)*"|[[\]{}:,]|[^\s"[\]{}:,]+/gs);
  let previous = "";
  for (const [token] of tokens) {
    const isEnd = token === "}" || token === "]";
    if (isEnd) depth -= 1;
    if (isEnd ? previous !== "{" && previous !== "[" : previous === "{" || previous === "[") {
      newLine();
    }
    parts.push(token);
    if (token === "{" || token === "[") depth += 1;
    if (token === ",") newLine();
    if (token === ":") parts.push(" ");
    previous = token;
  }
  return parts.join("");
}
