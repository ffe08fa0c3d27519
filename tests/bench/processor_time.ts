/** Processor time of a process: what a machine's other work distorts less than a rate. */

/** User and system time of all its threads, by the kernel's count in hundredths of a second. */
export function processorMs(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}
