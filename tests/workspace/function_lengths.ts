/**
 * How long functions are. Reads code as `deno fmt` writes it: a function ends at the first line
 * that closes a brace at the indentation at which the function began.
 */

export interface FunctionLength {
  readonly name: string;
  /** From 1. */
  readonly line: number;
  readonly lines: number;
  /** The line that opens its body, from 1. */
  readonly bodyLine: number;
}

const NAME = String.raw`(?<name>#?[\w$]+)`;
const BEGINNINGS = [
  // function name(…), export async function* name<T>(…)
  new RegExp(
    String.raw`^(?<indent> *)(?:export )?(?:default )?(?:async )?function\*? ${NAME}\s*[<(]`,
  ),
  // const name = (…) => {, member: async (…) => {
  new RegExp(
    String.raw`^(?<indent> *)(?:export )?(?:const )?${NAME}(?:: [^=]+)? ?[=:] (?:async )?\(`,
  ),
  // methods: async name(…) {, get name() {, static #name<T>(…) {
  new RegExp(
    String
      .raw`^(?<indent> +)(?:(?:static|async|override|private|protected|get|set) )*\*?${NAME}(?:<[^(]*>)?\(`,
  ),
];
const NO_NAMES = new Set(["if", "for", "while", "switch", "catch", "return", "await", "super"]);

/** Functions of `source` that have a body of several lines, in their order; nested ones as well. */
export function functionLengths(source: string): FunctionLength[] {
  const lines = source.split("\n");
  return lines.flatMap((text, at) => {
    const { indent, name } = beginning(text) ?? {};
    if (indent === undefined || name === undefined) return [];
    const body = bodyOf(lines, { at, indent });
    if (body === undefined) return [];
    return [{ name, line: at + 1, lines: body.end - at + 1, bodyLine: body.start + 1 }];
  });
}

function beginning(text: string): { indent?: string; name?: string } | undefined {
  for (const pattern of BEGINNINGS) {
    const groups = pattern.exec(text)?.groups;
    if (groups !== undefined && !NO_NAMES.has(groups["name"] ?? "")) return groups;
  }
  return undefined;
}

/** The lines of the braces, from 0; undefined for what has no body of several lines. */
function bodyOf(
  lines: readonly string[],
  { at, indent }: { readonly at: number; readonly indent: string },
): { readonly start: number; readonly end: number } | undefined {
  let start: number | undefined;
  for (let line = at; line < lines.length; line += 1) {
    const text = lines[line] ?? "";
    const depth = text.length - text.trimStart().length;
    if (text === "" || depth > indent.length) continue;
    if (depth < indent.length) return undefined;
    if (start !== undefined && /^ *\}[;,)]*$/.test(text)) return { start, end: line };
    // A signature over several lines goes on with these alone.
    if (line > at && start === undefined && !/^ *[)}>]/.test(text)) return undefined;
    if (/(?:\)|=>|[\w\]>}"])\s*\{$/.test(text)) start ??= line;
    if (start === undefined && /[;,]$/.test(text)) return undefined;
  }
  return undefined;
}
