/** Starts the program that sends rows and waits for its report. */

import { join } from "node:path";
import { OperatingError } from "../../../shared/base/errors.ts";
import type { Form } from "./encodings.ts";
import type { ShapeName } from "./shape.ts";

export interface SendOrder {
  readonly shape: ShapeName;
  /** A folder of log lines; made-up ones where it is absent. */
  readonly lines?: string;
  readonly form: Form;
  /** On 127.0.0.1; 0: rows are made and not sent. */
  readonly port: number;
  readonly path: string;
  readonly connections: number;
  /** Rows of a request, a multiple of `RESOURCE_ROWS` that divides the shape's `templateRows`. */
  readonly batch: number;
  readonly first: number;
  /** A multiple of `batch`. */
  readonly rows: number;
  /** Rows of the whole set, which decide the times and which rows are rare. */
  readonly total: number;
  /** No request begins after so many seconds: fewer rows are sent then, without a gap. */
  readonly stopSecs?: number;
  /** It fails when it takes longer. */
  readonly secsMax: number;
}

export interface SendReport {
  /** Acknowledged. */
  readonly rows: number;
  readonly secs: number;
  /** Processor time of the sender itself while it sent. */
  readonly senderCpuSecs: number;
  readonly bytesPerRow: number;
  /** Requests that a server refused for the moment and that were sent again. */
  readonly retried: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

const PROGRAM = join(import.meta.dirname ?? ".", "send_rows.ts");
const CONFIG = join(import.meta.dirname ?? ".", "../../deno.json");
/** For the requests to be encoded before the first is sent. */
const PREPARE_SECS = 60;

/** Errors: `unavailable` when the sender failed or was not done in time. */
export async function sendRows(order: SendOrder): Promise<SendReport> {
  const command = new Deno.Command(Deno.execPath(), {
    args: [
      ...["run", "--quiet", "--no-prompt", "--config", CONFIG],
      ...["--allow-read", "--allow-net=127.0.0.1", "--allow-env", PROGRAM, JSON.stringify(order)],
    ],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
    signal: AbortSignal.timeout((order.secsMax + PREPARE_SECS) * 1_000),
  });
  const { success, stdout, stderr } = await command.output();
  if (success) return JSON.parse(new TextDecoder().decode(stdout));
  const reason = new TextDecoder().decode(stderr).trim().split("\n", 1)[0] || "it was ended";
  throw new OperatingError("unavailable", `Cannot send ${order.rows} rows: ${reason}`);
}
