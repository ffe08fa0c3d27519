/** `1 row`, `2,000 rows`: a count and its noun, for people. */
export function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}
