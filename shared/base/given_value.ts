/** How a refusal of a parsed body names the value that is wrong. */

/** The value that `path` leads to in `body`; undefined when there is none. */
export function givenValue(body: unknown, path: readonly PropertyKey[]): unknown {
  return path.reduce<unknown>(
    (value, member) =>
      typeof value === "object" && value !== null
        ? (value as Record<PropertyKey, unknown>)[member]
        : undefined,
    body,
  );
}

/** Characters of a value that a message shows. */
const SHOWN_MAX = 60;

/** `, which is "no"`, or `, which is not given`. */
export function whichIs(value: unknown): string {
  if (value === undefined) return ", which is not given";
  const text = JSON.stringify(value);
  return `, which is ${text.length > SHOWN_MAX ? `${text.slice(0, SHOWN_MAX)}…` : text}`;
}

/** The rule of a parser's message, without its "Invalid input: ". */
export function ruleOf(message: string | undefined): string {
  return message?.replace(/^Invalid (?:input|option): /, "") ?? "it has the wrong shape";
}
