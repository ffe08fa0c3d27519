/** Processor time of a process: what a machine's other work distorts less than a rate. */

/** User and system time of all its threads, by the kernel's count in hundredths of a second. */
export function processorMs(pid: number): number {
  const stat = Deno.readTextFileSync(`/proc/${pid}/stat`);
  const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
  return (Number(fields[11]) + Number(fields[12])) * 10;
}

/** `processorMs` of the process and of all below it that still run. */
export function processorMsOfTree(pid: number): number {
  let sum = processorMs(pid);
  for (const { name: thread } of Deno.readDirSync(`/proc/${pid}/task`)) {
    const children = Deno.readTextFileSync(`/proc/${pid}/task/${thread}/children`);
    for (const child of children.split(" ").filter((text) => text !== "")) {
      sum += processorMsOfTree(Number(child));
    }
  }
  return sum;
}
