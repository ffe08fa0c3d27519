/**
 * The yardstick for object stores. It answers GET with a byte range of a file below one folder, and
 * HEAD with its length in `x-length`, each request after a wait as of a network. No checks, no
 * formats, no permissions of its own beyond its process's.
 *
 * Usage: `range_server.ts <folder> <wait in ms> <bytes a second, 0 for as many as there can be>`;
 * prints its port on stdout. Ends with its process.
 */

const [folder = "", wait = "0", rate = "0"] = Deno.args;
const waitMs = Number(wait);
const bytesPerMs = Number(rate) / 1_000;
/** When the link has carried all that was asked for: answers go over it one after the other. */
let linkFreeMs = 0;

async function untilCarried(byteLength: number): Promise<void> {
  if (bytesPerMs === 0) return;
  const nowMs = performance.now();
  linkFreeMs = Math.max(linkFreeMs, nowMs) + byteLength / bytesPerMs;
  await new Promise((resolve) => setTimeout(resolve, linkFreeMs - nowMs));
}

async function rangeOf(path: string, start: number, end: number): Promise<Uint8Array<ArrayBuffer>> {
  using file = await Deno.open(path, { read: true });
  await file.seek(start, Deno.SeekMode.Start);
  const bytes = new Uint8Array(Math.max(0, Math.min(end, (await file.stat()).size) - start));
  for (let filled = 0; filled < bytes.byteLength;) {
    const count = await file.read(bytes.subarray(filled));
    if (count === null) return bytes.slice(0, filled);
    filled += count;
  }
  return bytes;
}

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => Deno.stdout.writeSync(new TextEncoder().encode(`${port}\n`)),
}, async (request) => {
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  const path = `${folder}${decodeURIComponent(new URL(request.url).pathname)}`;
  try {
    if (request.method !== "HEAD") return await answer(path, request.headers.get("range") ?? "");
    return new Response(null, { headers: { "x-length": String((await Deno.stat(path)).size) } });
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return new Response(null, { status: 404 });
    throw error;
  }
});

async function answer(path: string, asked: string): Promise<Response> {
  const range = /^bytes=(\d+)-(\d+)$/.exec(asked);
  const start = Number(range?.[1] ?? 0);
  const end = range === null ? Infinity : Number(range[2]) + 1;
  const bytes = await rangeOf(path, start, end);
  await untilCarried(bytes.byteLength);
  return new Response(bytes, { status: range === null ? 200 : 206 });
}
