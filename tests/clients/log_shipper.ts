/**
 * A log daemon as a process that ships lines of a file to a bulk route: for tests only. Whichever
 * it is, the scenario is the same.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { freePort } from "../../shared/testing/free_ports.ts";
import { FullServer } from "./full_server.ts";
import { metricReaches } from "./metric_wait.ts";
import { RunningIngest, type StoredRow } from "./running_ingest.ts";

export interface ShipperPlaces {
  /** The daemon's own folder. */
  readonly dir: string;
  /** File whose lines are shipped. */
  readonly input: string;
  /** Where the bulk route's prefix is, whether or not a server is there. */
  readonly url: string;
}

export interface Shipper {
  /**
   * What it is refused with once it has shipped something: nobody listens (`away`), or 503
   * (`busy`).
   */
  readonly refusal: "away" | "busy";
  /** Writes what the daemon needs into its folder and tells how to run it in the foreground. */
  readonly command: (places: ShipperPlaces) => Promise<Deno.Command>;
}

const LINES = 60;

const STORED = 'svc_ingest_bulk_items_total{outcome="stored"}';
const BUSY = 'svc_ingest_requests_total{endpoint="bulk",status="503"}';

/**
 * Ships lines while nothing listens, then to a server, then through a refusal; the rows stored.
 * Asserts that those from before the server's start have a time from before it.
 */
export async function shipThroughRefusals(shipper: Shipper): Promise<readonly StoredRow[]> {
  const dir = await Deno.makeTempDir({ prefix: "svc-shipper-" });
  const address = `127.0.0.1:${freePort()}`;
  const input = join(dir, "input.log");
  await appendLines(input, 0);
  const url = `http://${address}/api/v1/_compat`;
  const process = (await shipper.command({ dir, input, url })).spawn();
  try {
    const output = new DaemonOutput(process.stderr);
    await output.failures(1);
    const stored: StoredRow[] = [];
    const startedMs = Date.now();
    {
      await using ingest = await RunningIngest.start(["--bind", address]);
      await metricReaches(ingest, STORED, LINES);
      for (const { timestampNs } of await ingest.rows()) {
        assert.ok(
          timestampNs < BigInt(startedMs) * 1_000_000n,
          "a row has the time of its arrival",
        );
      }
      if (shipper.refusal === "busy") {
        await shipWhileBusy(ingest, input);
        await metricReaches(ingest, STORED, 2 * LINES);
      }
      stored.push(...await ingest.rows());
    }
    if (shipper.refusal === "busy") return stored;
    const before = output.failureCount;
    await appendLines(input, LINES);
    await output.failures(before + 1);
    await using ingest = await RunningIngest.start(["--bind", address]);
    await metricReaches(ingest, STORED, LINES);
    return [...stored, ...await ingest.rows()];
  } finally {
    process.kill("SIGKILL");
    await process.status;
    await Deno.remove(dir, { recursive: true });
  }
}

async function shipWhileBusy(ingest: RunningIngest, input: string): Promise<void> {
  using _full = await FullServer.of(ingest);
  await appendLines(input, LINES);
  await metricReaches(ingest, BUSY, 1);
}

/** Asserts that each line was stored, and once. */
export function assertEachLineOnce(rows: readonly StoredRow[]): void {
  const numbers = rows.map((row) => Number(/line (\d+)$/.exec(row.columns.raw ?? "")?.[1]));
  const expected = Array.from({ length: 2 * LINES }, (_, i) => i);
  assert.deepEqual(numbers.sort((a, b) => a - b), expected);
}

/** Appends lines, of which the second has a byte that is no UTF-8. */
async function appendLines(file: string, first: number): Promise<void> {
  const lines = Array.from({ length: LINES }, (_, i) => `line ${first + i}\n`);
  const [start = "", ...others] = lines;
  const bytes = new TextEncoder().encode(`${start}? ${others.join("")}`);
  bytes[start.length] = 0xff;
  await Deno.writeFile(file, bytes, { append: true });
}

/** What a daemon says; taken all the time, so that it never waits for that. */
class DaemonOutput {
  #text = "";
  #isOver = false;

  constructor(stderr: ReadableStream<Uint8Array>) {
    this.#read(stderr).finally(() => this.#isOver = true).catch(() => {});
  }

  /** How often it said that it could not connect. */
  get failureCount(): number {
    return this.#text.split(/Couldn.?'t connect/).length - 1;
  }

  /** Returns once there were `count` failures. */
  async failures(count: number): Promise<void> {
    while (this.failureCount < count) {
      if (this.#isOver) throw new Error(`the daemon ended: ${this.#text}`);
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  }

  async #read(stderr: ReadableStream<Uint8Array>): Promise<void> {
    for await (const chunk of stderr.pipeThrough(new TextDecoderStream())) this.#text += chunk;
  }
}
