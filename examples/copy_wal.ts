// deno-lint-ignore-file no-console -- it tells its user what it does

/**
 * Copies the rows of a WAL into NDJSON files, each row exactly once however often the program is
 * killed: `copy_wal.ts WAL OUT [--once]`. README.md of this folder says why, and how to start it.
 *
 * A segment becomes one file of the same name. The file gets its name when it is complete and on
 * disk; only then the cursor moves. A segment that is delivered again has its file already.
 */

import { type ColumnBatch, openWalConsumer, rowsOf, type WalConsumer } from "svc/wal";

const LANE = { tenant: "default", index: "events" };
const POLL_MS = 500;

const [walPath, outPath, ...flags] = Deno.args;
if (
  walPath === undefined || outPath === undefined ||
  flags.some((flag) => flag !== "--once")
) {
  console.error("usage: copy_wal.ts WAL OUT [--once]");
  Deno.exit(2);
}
const consumer = await openWalConsumer(walPath, {
  consumerId: "copy_wal",
  stateDir: outPath,
  lane: LANE,
});
for (;;) {
  const copied = await copyNew(
    consumer,
    `${outPath}/${LANE.tenant}/${LANE.index}`,
  );
  if (copied === 0 && flags.includes("--once")) break;
  if (copied === 0) {
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Copies what is new; the number of segments that were. */
async function copyNew(consumer: WalConsumer, folder: string): Promise<number> {
  const segments = await consumer.poll();
  for (const { name } of segments) {
    const path = `${folder}/${name}.ndjson`;
    if (!await exists(path)) await writeWhole(path, consumer.batches(name));
    await consumer.commit(name);
    console.log(name);
  }
  return segments.length;
}

/** Writes the file so that it is there with all rows, also after a power failure, or not at all. */
async function writeWhole(
  path: string,
  batches: AsyncIterable<ColumnBatch>,
): Promise<void> {
  const unfinished = `${path}.tmp`; // What a killed process left of it is overwritten.
  await Deno.writeTextFile(unfinished, ReadableStream.from(linesOf(batches)));
  await sync(unfinished);
  await Deno.rename(unfinished, path);
  await sync(path.slice(0, path.lastIndexOf("/")));
}

/** 64-bit integers become decimal strings, because numbers of JSON are doubles to most readers. */
async function* linesOf(
  batches: AsyncIterable<ColumnBatch>,
): AsyncGenerator<string> {
  const exact = (_: string, value: unknown) => typeof value === "bigint" ? String(value) : value;
  for await (const batch of batches) {
    yield rowsOf(batch).map((row) => `${JSON.stringify(row, exact)}\n`).join(
      "",
    );
  }
}

/** Waits until a file's bytes, or the names in a folder, are on disk. */
async function sync(path: string): Promise<void> {
  using opened = await Deno.open(path);
  await opened.sync();
}

async function exists(path: string): Promise<boolean> {
  try {
    await Deno.stat(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
