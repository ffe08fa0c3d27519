/**
 * The yardstick for object stores. It answers GET with a byte range of a file below one folder, and
 * HEAD with its length, each request after a wait as of a network. Answers have what a client of S3
 * asks of them, so a bucket is a folder here, and its listings are empty. No checks, no permissions
 * of its own beyond its process's.
 *
 * Usage: `range_server.ts <folder> <wait in ms> <bytes a second, 0 for as many as there can be>`;
 * prints its port on stdout. `PUT /?rate=<bytes a second>` changes the rate. Ends with its process.
 */

const [folder = "", wait = "0", rate = "0"] = Deno.args;
const waitMs = Number(wait);
let bytesPerMs = Number(rate) / 1_000;
/** No file changes, so one tag does for all. */
const ETAG = '"range-server"';
const NO_SUCH_KEY = "<Error><Code>NoSuchKey</Code><Message>There is no such file</Message></Error>";
const NOTHING_LISTED =
  "<ListBucketResult><Name>bench</Name><IsTruncated>false</IsTruncated></ListBucketResult>";
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
  if (request.method === "PUT") {
    bytesPerMs = Number(new URL(request.url).searchParams.get("rate")) / 1_000;
    return new Response();
  }
  await new Promise((resolve) => setTimeout(resolve, waitMs));
  const { pathname, searchParams } = new URL(request.url);
  if (searchParams.has("list-type")) return xml(NOTHING_LISTED, 200);
  const path = `${folder}${decodeURIComponent(pathname)}`;
  try {
    if (request.method !== "HEAD") return await answer(path, request.headers.get("range") ?? "");
    const { size, mtime } = await Deno.stat(path);
    const length = String(size);
    return new Response(null, {
      headers: {
        ...{ etag: ETAG, "content-length": length, "x-length": length },
        "last-modified": (mtime ?? new Date(0)).toUTCString(),
      },
    });
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound)) throw error;
    return xml(request.method === "HEAD" ? null : NO_SUCH_KEY, 404);
  }
});

function xml(body: string | null, status: number): Response {
  return new Response(body, { status, headers: { "content-type": "application/xml" } });
}

async function answer(path: string, asked: string): Promise<Response> {
  const range = /^bytes=(\d+)-(\d+)$/.exec(asked);
  const start = Number(range?.[1] ?? 0);
  const end = range === null ? Infinity : Number(range[2]) + 1;
  const bytes = await rangeOf(path, start, end);
  await untilCarried(bytes.byteLength);
  return new Response(bytes, { status: range === null ? 200 : 206, headers: { etag: ETAG } });
}
