/**
 * Long requests, decoded on a thread of their own. All senders share one event loop, and a body of
 * 16 MiB would hold it for 0.1 s when it is full of usual records. It would hold it for longer when
 * it is made of what is small and many.
 *
 * A short body is decoded where it is: handing it over costs more. A short body may still make long
 * rows, such as that of a resource with thousands of attributes. It is given up then and decoded on
 * the thread from its beginning. The thread starts with the first request that needs it and takes
 * one at a time. Without permission for it all is done here.
 */

import { type ErrorCode, isOperatingError, OperatingError } from "../../shared/base/errors.ts";
import { type ColumnBatch, freeColumns } from "../../shared/columns/batch.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { TRACES_SCHEMA } from "../../shared/schema/traces.ts";
import { TaskThread, type ThreadMemory, ThreadUnavailable } from "../../shared/os/task_thread.ts";
import type { AnswersFirst } from "../answers_first.ts";
import type { DecodeOptions } from "./request_decoder.ts";
import { SHORT } from "./request_limits.ts";

/** Signal and encoding of a request. */
export type OtlpForm = `${"logs" | "traces"} ${"protobuf" | "json"}`;

export interface DecodeTask {
  readonly form: OtlpForm;
  readonly body: Uint8Array<ArrayBuffer>;
  readonly nowNs: bigint;
}

/** The body comes back: what it is needed for besides is done by the caller. */
export type DecodeReply =
  | DecodedRows & { readonly body: Uint8Array }
  | { readonly body: Uint8Array; readonly refusal: Refusal };

type DecodedRows = Pick<ColumnBatch, "rows" | "columns" | "told" | "traces">;

interface Refusal {
  readonly code: ErrorCode;
  readonly message: string;
  readonly reason: string | undefined;
}

/** Where long requests are decoded, one at a time. Starts with the first one. */
export class DecodeThread implements Disposable {
  readonly #memory: ThreadMemory | undefined;
  #tasks: TaskThread<DecodeTask, DecodeReply> | undefined;
  #started: Promise<boolean> | undefined;

  constructor(memory?: ThreadMemory) {
    this.#memory = memory;
  }

  /**
   * Undefined where there is no thread: then `body` is still the caller's. Errors: those of the
   * decoder.
   */
  async decode(task: Omit<DecodeTask, "body">, body: Uint8Array): Promise<Decoded | undefined> {
    if (!await (this.#started ??= this.#start())) return undefined;
    const whole = wholeBuffer(body);
    const reply = await this.#thread().run({ ...task, body: whole }, [whole.buffer]);
    if ("refusal" in reply) {
      const { code, message, reason } = reply.refusal;
      throw new OperatingError(code, message, reason === undefined ? {} : { reason });
    }
    return { batch: batchOf(task.form, reply), body: reply.body };
  }

  [Symbol.dispose](): void {
    this.#tasks?.[Symbol.dispose]();
  }

  /** Whether it runs; what is handed to one that cannot start would be lost. */
  async #start(): Promise<boolean> {
    try {
      await this.#thread().run({ form: "logs protobuf", body: new Uint8Array(0), nowNs: 0n });
      return true;
    } catch (error) {
      if (error instanceof ThreadUnavailable) return false;
      throw error;
    }
  }

  #thread(): TaskThread<DecodeTask, DecodeReply> {
    return this.#tasks ??= new TaskThread(new URL("./decode_worker.ts", import.meta.url), {
      what: "decodes long requests",
      category: ["svc", "ingest"],
      memory: this.#memory,
    });
  }
}

export interface Decoded {
  readonly batch: ColumnBatch;
  /** What was given, which is empty itself when it went to the thread. */
  readonly body: Uint8Array;
}

export interface DecodeRequest {
  readonly form: OtlpForm;
  readonly body: Uint8Array;
  readonly nowNs: bigint;
  /** Undefined: there is none. */
  readonly thread: DecodeThread | undefined;
  /** What holds the event loop waits for its turn there. */
  readonly answersFirst?: Pick<AnswersFirst, "turn"> | undefined;
}

/** What `decode` makes of the body, here or on the thread. Errors: those of `decode`. */
export async function decodeBody(
  decode: (body: Uint8Array, options: DecodeOptions) => ColumnBatch,
  { form, body, nowNs, thread, answersFirst }: DecodeRequest,
): Promise<Decoded> {
  if (thread !== undefined && body.byteLength <= SHORT.bodyBytesMax) {
    const turn = answersFirst?.turn(body.byteLength);
    if (turn !== undefined) await turn;
    try {
      return { batch: decode(body, { nowNs, isShort: true }), body };
    } catch (error) {
      // A body that is too large by other limits, too, is refused by the thread.
      if (!isOperatingError(error, "too_large")) throw error;
    }
  }
  return await thread?.decode({ form, nowNs }, body) ?? { batch: decode(body, { nowNs }), body };
}

/** `bytes`, or a copy where others are in the same memory. */
function wholeBuffer(bytes: Uint8Array): Uint8Array<ArrayBuffer> {
  const { buffer, byteLength } = bytes;
  return buffer instanceof ArrayBuffer && buffer.byteLength === byteLength
    ? new Uint8Array(buffer)
    : new Uint8Array(bytes);
}

/** Its memory is freed by `release`: nobody writes into it again. */
function batchOf(
  form: OtlpForm,
  { rows, columns, told, traces }: DecodedRows,
): ColumnBatch {
  const schema = form.startsWith("logs") ? EVENTS_SCHEMA : TRACES_SCHEMA;
  return { schema, rows, columns, told, traces, release: () => freeColumns(columns) };
}
