/**
 * An HTTP/1.1 server without bounds of its own, as a program: for tests of what the listener does
 * when the system's bounds are reached. Prints its port; `/` answers how often accepting failed.
 */

import type { ListenerMeter } from "../http/connection_metrics.ts";
import { serve } from "../http/serve.ts";

let failures = 0;
const meter: ListenerMeter = {
  gaugeConnections() {},
  refused() {},
  evicted() {},
  acceptFailed: () => void (failures += 1),
  requestRefused() {},
};
const server = serve({
  hostname: "127.0.0.1",
  port: 0,
  meter,
  handler: () => new Response(String(failures)),
});
// Every role does this at its start: this runtime needs descriptors for the first listener, and
// ends without.
Deno.addSignalListener("SIGTERM", () => Deno.exit(0));
Deno.stdout.writeSync(new TextEncoder().encode(`${server.address.port}\n`));
