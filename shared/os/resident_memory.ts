/** Memory of this process that is in the machine's memory now. Needs no permission. */

/** Bytes of memory that the kernel counts for this process now. */
export function residentBytes(): number {
  return Deno.memoryUsage().rss;
}
