/**
 * One `Export` call: metadata as the request's head, one message as its body. A caller who may not
 * write is refused before the message is read.
 */

import { freeBytes } from "../../shared/base/bytes.ts";
import { OperatingError } from "../../shared/base/errors.ts";
import type { ByteHold } from "../../shared/base/byte_budget.ts";
import type { Late } from "../../shared/base/with_deadline.ts";
import { asOperatingError } from "../../shared/http/error_response.ts";
import type { Http2Answer, Http2Call } from "../../shared/http2/stream.ts";
import type { RequestFields } from "../admission.ts";
import { commitModeOf } from "../commit_mode.ts";
import { LIMITS } from "../flags.ts";
import { idempotencyOf, keyOfBody } from "../idempotency.ts";
import { decodeBody } from "../otlp/decode_thread.ts";
import type { OtlpDeps, OtlpSignal } from "../otlp/otlp_route.ts";
import { chargeRows, type ReceivedRows, takeRows } from "../take_rows.ts";
import { readMessage } from "./call_message.ts";
import { ACCEPTED, failedCall, partlyAccepted, STATUS_NAMES, statusCodeOf } from "./call_status.ts";

/** Answers a call and counts it once. Never rejects. */
export async function answerExport(
  call: Http2Call,
  signal: OtlpSignal,
  deps: OtlpDeps,
): Promise<Http2Answer> {
  const endpoint = `grpc_${signal.endpoint}` as const;
  const { metrics, clock } = deps;
  const startMs = clock.monotonicMs();
  const count = (code: number) => {
    metrics.grpcCalls.add(1, { endpoint, code: STATUS_NAMES[code] ?? "UNKNOWN" });
    metrics.requestSecs.observe((clock.monotonicMs() - startMs) / 1_000, { endpoint });
  };
  try {
    const refused = await takeRows(
      endpoint,
      (hold, late) => receive(call, { signal, hold, late, deps }),
      deps,
    );
    count(0);
    return refused === undefined ? ACCEPTED : partlyAccepted(refused);
  } catch (thrown) {
    const error = asOperatingError(thrown);
    count(statusCodeOf(error));
    return failedCall(error);
  }
}

interface ReceiveOptions {
  readonly signal: OtlpSignal;
  readonly hold: ByteHold;
  readonly late: Late;
  readonly deps: OtlpDeps;
}

async function receive(call: Http2Call, options: ReceiveOptions): Promise<ReceivedRows> {
  const { signal, hold, late, deps } = options;
  const head: RequestFields = { get: (name) => call.headers.get(name) ?? null };
  const tenant = await deps.admission.admit(head, () => call.peer);
  hold.belongTo(tenant);
  const mode = commitModeOf("", head.get("x-svc-commit"), deps);
  const key = idempotencyOf(head, deps.clock.nowMs());
  const lane = signal.laneOf(deps.lanes, head, tenant);
  hold.grow(LIMITS.requestBytes);
  const sent = await unlessLate(
    readMessage(call, { ...deps.bodyCap, hold }),
    late,
  );
  const { batch, body: message } = await decodeBody(signal.decodeProtobuf, {
    form: `${signal.endpoint} protobuf`,
    body: sent,
    nowNs: deps.clock.nowNs(),
    thread: deps.decodeThread,
    answersFirst: deps.answersFirst,
  });
  chargeRows(batch, { hold, bodyBytes: message.byteLength });
  deps.metrics.bodyBytes.at({ endpoint: `grpc_${signal.endpoint}` }).add(message.byteLength);
  const keyed = keyOfBody(key, message);
  freeBytes(message);
  return { batch, lane, mode, key: keyed };
}

/** Gives up on what arrives too slowly, so that what it holds is given back. */
async function unlessLate<T>(work: Promise<T>, { signal: late }: Late): Promise<T> {
  const { promise, reject } = Promise.withResolvers<never>();
  const end = () => reject(late.reason);
  late.addEventListener("abort", end);
  try {
    return await Promise.race([work, promise]);
  } finally {
    late.removeEventListener("abort", end);
    work.catch(() => {});
  }
}

/** The error for a call of a method that is not ours. */
export function unknownMethod(path: string): OperatingError {
  return new OperatingError(
    "unimplemented",
    `this server has no method ${path}: it takes Export of LogsService and TraceService`,
    { reason: "unknown_method" },
  );
}
