/**
 * A run lives in namespaces of its own: of mounts, processes and the network. Whatever ends it,
 * the kernel then ends its processes and takes its mounts, and its loop devices with them. Its
 * folder is a tmpfs that only it sees.
 *
 *     this process ── unshare ── sh (process 1, which reaps) ── the run
 *
 * The run's standard input is a pipe of this process. It ends when the pipe does, so also when this
 * process was killed.
 */

import { run } from "./commands.ts";

/** Tells the run that it is inside, and where its folder is. */
export const INSIDE = "--inside";

/** Starts this program again inside; its exit code. Ctrl-C is the run's to handle. */
export async function runInside(main: string, args: readonly string[]): Promise<number> {
  const folder = await Deno.makeTempDir({ prefix: "svc-faults-" });
  const config = new URL("../deno.json", import.meta.url).pathname;
  const deno = [Deno.execPath(), "run", "-A", "--no-check", "--quiet", "--config", config, main];
  const waits = () => {};
  Deno.addSignalListener("SIGINT", waits);
  try {
    const child = new Deno.Command("unshare", {
      args: [
        ...["--mount", "--propagation", "private", "--pid", "--fork", "--mount-proc", "--net"],
        // The shell does not become the program: process 1 must reap what roles leave behind.
        ...["--kill-child", "sh", "-c", 'ip link set lo up && "$@"; exit $?', "sh"],
        ...deno,
        ...[INSIDE, folder, ...args],
      ],
      stdin: "piped",
    }).spawn();
    const end = () => child.stdin.close().catch(() => {});
    Deno.addSignalListener("SIGTERM", end);
    const { code } = await child.status;
    Deno.removeSignalListener("SIGTERM", end);
    return code;
  } finally {
    Deno.removeSignalListener("SIGINT", waits);
    await Deno.remove(folder, { recursive: true });
  }
}

/** Inside: gives the run its folder, and ends it with the process that started it. */
export async function settleInside(folder: string): Promise<void> {
  await run("mount", "-t", "tmpfs", "svc-faults", folder);
  (async () => {
    for await (const _ of Deno.stdin.readable);
    // The namespace, and all that is in it, ends with this process.
    Deno.exit(130);
  })();
}
