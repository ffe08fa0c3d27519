/**
 * Time of this machine's processors: what was used, and what the host of a virtual machine gave to
 * others while this one had work to do.
 */

const STAT = "/proc/stat";
/**
 * Times of all processors, from `user` on; those that follow are parts of these. Source:
 * proc_stat(5).
 */
const TIMES = 8;
/** `steal` among them. */
const STEAL = 7;
/** `idle` and `iowait` among them. */
const IDLE = [3, 4];

/**
 * What `work` returned, and the share of all processors' time that was stolen meanwhile: 0 where
 * the system does not tell.
 */
export async function withStolenShare<T>(
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly stolenShare: number }> {
  const before = readStat();
  const value = await work();
  return { value, stolenShare: stolenShareOf(before, readStat()) };
}

/** What `work` returned, and the share of all processors' time in which one of them ran. */
export async function withProcessorShares<T>(
  work: () => Promise<T>,
): Promise<{ readonly value: T; readonly busyShare: number }> {
  const before = readStat();
  const value = await work();
  return { value, busyShare: 1 - shareOf(IDLE, { before, after: readStat() }) };
}

/** The share between two texts of `/proc/stat`. */
export function stolenShareOf(before: string, after: string): number {
  return shareOf([STEAL], { before, after });
}

function shareOf(
  places: readonly number[],
  { before, after }: { readonly before: string; readonly after: string },
): number {
  const earlier = timesOf(before);
  const spent = timesOf(after).map((time, i) => time - (earlier[i] ?? 0));
  const total = spent.reduce((sum, time) => sum + time, 0);
  return total > 0 ? places.reduce((sum, place) => sum + (spent[place] ?? 0), 0) / total : 0;
}

/** Its first line is `cpu`, then times in hundredths of a second. */
function timesOf(stat: string): number[] {
  const [line = ""] = stat.split("\n", 1);
  return line.trim().split(/\s+/).slice(1, 1 + TIMES).map(Number);
}

function readStat(): string {
  try {
    return Deno.readTextFileSync(STAT);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return "";
    throw error;
  }
}
