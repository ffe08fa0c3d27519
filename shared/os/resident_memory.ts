/** Memory of this process that is in the machine's memory now. Needs no permission. */

export function residentBytes(): number {
  return Deno.memoryUsage().rss;
}
