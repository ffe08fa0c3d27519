/** The three roles over an hour of demo data, as `deno task dev` runs them. */

import { Stack } from "../apps/stack.ts";
import { type DemoOptions, sendDemo } from "./demo_data.ts";

export interface DemoStack extends AsyncDisposable {
  readonly stack: Stack;
}

/** Starts them in a folder of their own; returns once the rows are durable. */
export async function startDemoStack(
  options: Omit<DemoOptions, "ingestUrl">,
): Promise<DemoStack> {
  const dataDir = await Deno.makeTempDir({ prefix: "svc-demo-" });
  await using held = new AsyncDisposableStack();
  held.defer(() => Deno.remove(dataDir, { recursive: true }));
  const stack = held.use(
    await Stack.start({
      dataDir,
      queryArgs: ["--query-wal-buffer-dir", `${dataDir}/wal`],
    }),
  );
  await sendDemo({ ingestUrl: stack.ingestUrl, ...options });
  const all = held.move();
  return { stack, [Symbol.asyncDispose]: () => all.disposeAsync() };
}
