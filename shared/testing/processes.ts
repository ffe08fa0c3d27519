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

async function statOf(pid: string): Promise<{ readonly parent: number } | undefined> {
  try {
    const text = await Deno.readTextFile(`/proc/${pid}/stat`);
    const [state, parent] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return state === "Z" ? undefined : { parent: Number(parent) };
  } catch {
    return undefined; // It has ended.
  }
}
