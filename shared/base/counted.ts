/** `1 row`, `2,000 rows`: a count and its noun, for people. */
export function counted(count: number, noun: string): string {
  // A number's own method looks up the language's rules anew, which takes 0.2 ms.
  return `${NUMBERS.format(count)} ${noun}${count === 1 ? "" : "s"}`;
}

const NUMBERS = new Intl.NumberFormat("en-US");
