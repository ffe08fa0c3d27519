/**
 * The yardstick for ingest: reads each body whole, appends it to one file, answers 200 once a
 * shared fdatasync covers it. No decoding, no checks, no formats. Nothing that makes bodies durable
 * over HTTP can do less.
 *
 * Usage: `bare_server.ts <file>`; prints its port on stdout. Ends with its process.
 */

const [path = ""] = Deno.args;
const file = await Deno.open(path, { createNew: true, write: true });

interface Waiting {
  readonly body: Uint8Array;
  readonly done: () => void;
}

let waiting: Waiting[] = [];
let syncing = false;

function append(body: Uint8Array): Promise<void> {
  const { promise, resolve } = Promise.withResolvers<void>();
  waiting.push({ body, done: resolve });
  if (!syncing) drain();
  return promise;
}

/** Group commit: while one fdatasync runs, the next group gathers. */
async function drain(): Promise<void> {
  syncing = true;
  while (waiting.length > 0) {
    const group = waiting;
    waiting = [];
    for (const { body } of group) writeAll(body);
    await file.syncData();
    for (const { done } of group) done();
  }
  syncing = false;
}

function writeAll(bytes: Uint8Array): void {
  for (let at = 0; at < bytes.byteLength;) at += file.writeSync(bytes.subarray(at));
}

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => Deno.stdout.writeSync(new TextEncoder().encode(`${port}\n`)),
}, async (request) => {
  await append(await request.bytes());
  return new Response(null, { status: 200, headers: { "content-type": "application/x-protobuf" } });
});
