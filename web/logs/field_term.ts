/** A term of the search language for a field that has a value. */

const PLAIN_NAME = /^(?!\d+$)[^\s"():\/\\*-][^\s"():\\]*$/u;
const PLAIN_VALUE = /^[\p{L}\p{N}_.-]+$/u;

/** Returns `name:value`, with quotes where one of them needs these. */
export function fieldTerm(name: string, value: string): string {
  const isPlain = PLAIN_VALUE.test(value) && !/^(?:AND|OR|NOT)$/.test(value);
  return `${PLAIN_NAME.test(name) ? name : quoted(name)}:${isPlain ? value : quoted(value)}`;
}

function quoted(text: string): string {
  return `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
