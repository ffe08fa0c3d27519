/** What processes there are, for tests: Linux alone. */

/** Ids of the living processes that `pid` started and whose arguments hold `text`; default: all. */
export async function processesBelow(pid: number, text = ""): Promise<number[]> {
  const found: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name) || (await statOf(name))?.parent !== pid) continue;
    const words = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    if (words.includes(text)) found.push(Number(name));
  }
  return found;
}

/** Bytes of memory that `pid` and all processes below it take. */
export async function residentBytesOf(pid: number): Promise<number> {
  let bytes = 0;
  try {
    const status = await Deno.readTextFile(`/proc/${pid}/status`);
    bytes = 1024 * Number(/^VmRSS:\s*(\d+) kB/m.exec(status)?.[1] ?? 0);
  } catch {
    // It has ended.
  }
  for (const child of await processesBelow(pid)) bytes += await residentBytesOf(child);
  return bytes;
}

/** Processor time that `pid` and all processes below it have taken, in milliseconds. */
export async function processorMsOf(pid: number): Promise<number> {
  const ticks = (await statOf(String(pid)))?.ticks ?? 0;
  let ms = ticks * TICK_MS;
  for (const child of await processesBelow(pid)) ms += await processorMsOf(child);
  return ms;
}

/** `USER_HZ`, which is the same on every Linux that Deno runs on. */
const TICK_MS = 10;

interface ProcessStat {
  readonly parent: number;
  /** Its own, and those of children that it has waited for. */
  readonly ticks: number;
}

async function statOf(pid: string): Promise<ProcessStat | undefined> {
  try {
    const text = await Deno.readTextFile(`/proc/${pid}/stat`);
    const fields = text.slice(text.lastIndexOf(")") + 2).split(" ");
    const ticks = fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
    return fields[0] === "Z" ? undefined : { parent: Number(fields[1]), ticks };
  } catch {
    return undefined; // It has ended.
  }
}
