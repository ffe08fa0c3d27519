/** Processor time of this process by the priority of its threads, as Linux tells it. */

const TICKS_PER_SEC = 100;
/** Fields of `/proc/…/stat` behind the name, which may hold blanks. */
const USER_TICKS = 11;
const NICENESS = 16;

/** Seconds that the threads of this niceness which still live have taken. */
export async function threadSecs(niceness: number): Promise<number> {
  let ticks = 0;
  for await (const { name } of Deno.readDir("/proc/self/task")) {
    // A thread may end meanwhile.
    const stat = await Deno.readTextFile(`/proc/self/task/${name}/stat`).catch(() => "");
    const fields = stat.slice(stat.lastIndexOf(")") + 2).split(" ");
    if (Number(fields[NICENESS]) === niceness) ticks += Number(fields[USER_TICKS]);
  }
  return ticks / TICKS_PER_SEC;
}
