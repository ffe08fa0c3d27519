/**
 * Threads of a process as Linux tells of them, and what processor time they take by their priority.
 */

const TICKS_PER_SEC = 100;
/** Fields of `/proc/…/stat` behind the name, which may hold blanks. */
const STATE = 0;
const USER_TICKS = 11;
const NICENESS = 16;

export interface ThreadStat {
  readonly id: string;
  readonly name: string;
  /** A letter: `R` runs, `S` sleeps, `D` waits for a disk. */
  readonly state: string;
  readonly niceness: number;
  /** Processor time in hundredths of a second, without the kernel's for it. */
  readonly userTicks: number;
}

/**
 * The threads that live, by default those of this process. Errors: where there is no such process,
 * or no `/proc`.
 */
export async function* threads(pid: number | "self" = "self"): AsyncGenerator<ThreadStat> {
  for await (const { name: id } of Deno.readDir(`/proc/${pid}/task`)) {
    // A thread may end meanwhile.
    const stat = await Deno.readTextFile(`/proc/${pid}/task/${id}/stat`).catch(() => "");
    if (stat === "") continue;
    const nameEnd = stat.lastIndexOf(")");
    const fields = stat.slice(nameEnd + 2).split(" ");
    yield {
      id,
      name: stat.slice(stat.indexOf("(") + 1, nameEnd),
      state: fields[STATE] ?? "",
      niceness: Number(fields[NICENESS]),
      userTicks: Number(fields[USER_TICKS]),
    };
  }
}

/** Seconds that those threads of `pid` which have this niceness and still live have taken. */
export async function threadSecs(pid: number, niceness: number): Promise<number> {
  let ticks = 0;
  for await (const thread of threads(pid)) {
    if (thread.niceness === niceness) ticks += thread.userTicks;
  }
  return ticks / TICKS_PER_SEC;
}
