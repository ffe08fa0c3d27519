/**
 * Processor time of any process of this machine, to the nanosecond: the kernel keeps a clock for
 * each (clock_getcpuclockid(3)), threads that have ended included. `/proc/<pid>/stat` counts in
 * hundredths of a second, which is longer than many answers take. Linux with glibc alone.
 */

const CLOCK_OF_PROCESS = 2;
const answer = new BigInt64Array(2);
let open: ReturnType<typeof openLibrary> | undefined;

/** Seconds of user and system time, undefined when there is no such process. */
export function processorSecsOf(pid: number): number | undefined {
  open ??= openLibrary();
  if (open.symbols.clock_gettime((~pid << 3) | CLOCK_OF_PROCESS, answer) !== 0) return undefined;
  const [secs = 0n, ns = 0n] = answer;
  return Number(secs) + Number(ns) / 1e9;
}

function openLibrary() {
  return Deno.dlopen("libc.so.6", {
    clock_gettime: { parameters: ["i32", "buffer"], result: "i32" },
  });
}
