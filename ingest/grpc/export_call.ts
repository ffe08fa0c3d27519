/**
 * One `Export` call: metadata as the request's head, one message as its body.
 *
 * The method is unary on the wire and registered as client-streaming, which is the same there: so the
 * handler runs when the metadata is here, and a caller who may not write is refused before the
 * message is read.
 */

import { Buffer } from "node:buffer";
import {
  type handleClientStreamingCall,
  type Metadata,
  type sendUnaryData,
  type ServerReadableStream,
  status,
} from "@grpc/grpc-js";
import { OperatingError } from "../../shared/base/errors.ts";
import type { ByteHold } from "../../shared/http/byte_budget.ts";
import { asOperatingError } from "../../shared/http/error_response.ts";
import type { RequestHead } from "../admission.ts";
import { commitModeOf } from "../commit_mode.ts";
import { LIMITS } from "../flags.ts";
import type { OtlpDeps, OtlpSignal } from "../otlp_route.ts";
import { type ReceivedRows, takeRows } from "../take_rows.ts";
import { onArrivingBytes } from "./arriving_bytes.ts";
import { failedCall } from "./call_status.ts";

export interface ExportDeps extends OtlpDeps {
  /** Ends the wait for messages that have not arrived. */
  readonly stopping: AbortSignal;
}

type ExportCall = ServerReadableStream<Buffer, Buffer>;

/** Full success: an `Export…ServiceResponse` with nothing set, which has no bytes. */
const ACCEPTED = Buffer.alloc(0);

/** The method's handler. Every call is answered and counted once. */
export function createExport(
  signal: OtlpSignal,
  deps: ExportDeps,
): handleClientStreamingCall<Buffer, Buffer> {
  const endpoint = `grpc_${signal.endpoint}` as const;
  const count = (call: ExportCall, code: status) => {
    const answered = call.cancelled ? status.CANCELLED : code;
    deps.metrics.grpcCalls.add(1, { endpoint, code: status[answered] });
  };
  const answer = async (call: ExportCall, respond: sendUnaryData<Buffer>) => {
    try {
      await takeRows(
        endpoint,
        (hold, late) => receive(call, { signal, hold, ends: [late, deps.stopping], deps }),
        deps,
      );
      count(call, status.OK);
      respond(null, ACCEPTED);
    } catch (thrown) {
      const failed = failedCall(asOperatingError(thrown));
      count(call, failed.code);
      respond(failed);
    }
  };
  return (call, respond) => void answer(call, respond);
}

interface ReceiveOptions extends MessageOptions {
  readonly signal: OtlpSignal;
  readonly deps: ExportDeps;
}

async function receive(call: ExportCall, options: ReceiveOptions): Promise<ReceivedRows> {
  const { signal, hold, deps } = options;
  const head = headOf(call.metadata);
  const tenant = await deps.admission.admit(head, () => hostOf(call.getPeer()));
  const mode = commitModeOf("", head.get("x-svc-commit"));
  const lane = signal.laneOf(deps.lanes, head, tenant);
  hold.grow(LIMITS.requestBytes);
  const message = await onlyMessageOf(call, options);
  const batch = signal.decodeProtobuf(message, { nowNs: deps.clock.nowNs() });
  deps.metrics.bodyBytes.at({ endpoint: `grpc_${signal.endpoint}` }).add(message.byteLength);
  return { batch, lane, mode };
}

/** Metadata as HTTP would give it: several values of one key are one text. */
function headOf(metadata: Metadata): RequestHead {
  return {
    get(name) {
      const values = metadata.get(name);
      return values.length === 0 ? null : values.join(", ");
    },
  };
}

/** `127.0.0.1` of `127.0.0.1:4317`, `::1` of `::1:4317`. */
function hostOf(peer: string): string {
  const colon = peer.lastIndexOf(":");
  return colon < 0 ? peer : peer.slice(0, colon);
}

interface MessageOptions {
  readonly hold: ByteHold;
  /** Each ends the wait, with its reason as the error. */
  readonly ends: readonly AbortSignal[];
}

/**
 * The call's message, charged to `hold` as it arrives and again when it was compressed. Errors:
 * `cancelled`, `invalid_argument` for none or several, `unavailable` without room, the reason of
 * an end.
 */
async function onlyMessageOf(call: ExportCall, options: MessageOptions): Promise<Uint8Array> {
  const { hold, ends } = options;
  const { promise, resolve, reject } = Promise.withResolvers<Uint8Array>();
  let message: Uint8Array | undefined;
  let arrived = 0;
  let waiting = true;
  const charge = (byteLength: number) => {
    try {
      hold.grow(byteLength);
    } catch (error) {
      reject(error);
    }
  };
  onArrivingBytes(call, (byteLength) => {
    arrived += byteLength;
    if (waiting) charge(byteLength);
  });
  call.on("data", ({ buffer, byteOffset, byteLength }: Buffer) => {
    if (!waiting) return;
    if (message !== undefined) return reject(notOne("more than one message"));
    message = new Uint8Array(buffer, byteOffset, byteLength);
    if (byteLength + PREFIX_BYTES !== arrived) charge(byteLength);
  });
  call.once("end", () => message === undefined ? reject(notOne("no message")) : resolve(message));
  call.once("cancelled", () => reject(cancelled()));
  if (call.cancelled) reject(cancelled());
  const end = () => reject(ends.find((signal) => signal.aborted)?.reason);
  for (const signal of ends) signal.addEventListener("abort", end);
  if (ends.some((signal) => signal.aborted)) end();
  try {
    return await promise;
  } finally {
    waiting = false;
    for (const signal of ends) signal.removeEventListener("abort", end);
  }
}

/** What precedes a message on the wire: a flag and its length. */
const PREFIX_BYTES = 5;

function notOne(found: string): OperatingError {
  return new OperatingError(
    "invalid_argument",
    `cannot take a call of Export with ${found}: send one`,
    { reason: "not_one_message" },
  );
}

/** Ended by the sender, by its deadline, or by the gRPC library: it then has had its status. */
function cancelled(): OperatingError {
  return new OperatingError("cancelled", "the call ended before its message was read");
}
