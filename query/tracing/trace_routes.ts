/**
 * `/api/v1/tracing/{index}/api/…`: both of Jaeger's APIs as one table of routes, each with its
 * API's form of an error.
 *
 * A request is judged first (index, parameters, the search limit), then admitted, then answered.
 * The answer is buffered until nothing can fail any more.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import { utf8 } from "../../shared/base/bytes.ts";
import { othersTurn } from "../../shared/base/others_turn.ts";
import type { ByteHold } from "../../shared/base/byte_budget.ts";
import { asOperatingError } from "../../shared/http/error_response.ts";
import { growAnswer, heldAnswer } from "../sql/held_answer.ts";
import type { QueryCaller } from "../query_caller.ts";
import type { SqlService } from "../sql/sql_service.ts";
import type { TraceHandler } from "./handler.ts";
import type { NameCache } from "./name_lists.ts";
import { refuseNul } from "./query_parameters.ts";
import { v1Error, v3Error } from "./trace_answers.ts";
import { TraceCall } from "./trace_call.ts";
import { V1_HANDLERS } from "./v1_handlers.ts";
import { V3_HANDLERS } from "./v3_handlers.ts";

/** What trace routes need beside what SQL needs. */
export interface TraceService extends SqlService {
  readonly traceNames: NameCache;
}

/** Who asks, and the names in the path: `index`, and `service` or `id`. */
export interface TraceAddress {
  readonly caller: QueryCaller;
  readonly names: Readonly<Record<string, string>>;
}

/** One route, bound to its API's form of answers. */
export interface TraceRoute {
  readonly path: string;
  /** Answers a request. Never rejects: an error is an answer in the API's form. */
  answer(request: Request, service: TraceService, address: TraceAddress): Promise<Response>;
  /** An error from before the route, in the API's form. */
  failed(thrown: unknown): Response;
}

const PREFIX = "/api/v1/tracing/:index/api";
const INDEX_NAME = /^[a-z0-9][a-z0-9._-]{0,127}$/;
/** Characters that are encoded as one part of an answer. */
const PART_LENGTH_MIN = 65_536;
/** Parts after which others get a turn of the event loop: some 10 ms. */
const PARTS_PER_TURN = 8;

export const TRACE_ROUTES: readonly TraceRoute[] = [
  ...V1_HANDLERS.map((handler) => route(handler, v1Error)),
  ...V3_HANDLERS.map((handler) => route(handler, v3Error)),
];

function route(handler: TraceHandler, failed: (thrown: unknown) => Response): TraceRoute {
  return {
    path: PREFIX + handler.path,
    answer: (request, service, address) =>
      answerTraces(request, service, { ...address, handler }).catch(failed),
    failed,
  };
}

async function answerTraces(
  request: Request,
  service: TraceService,
  { caller, names, handler }: TraceAddress & { readonly handler: TraceHandler },
): Promise<Response> {
  const url = new URL(request.url);
  const index = names["index"] ?? "";
  await using call = new TraceCall(service, {
    caller,
    endpoint: handler.endpoint,
    index,
    asked: `${request.method} ${url.pathname}${url.search}`,
  });
  using _stopping = call.stopWith(request);
  const hold = service.answers.hold(caller.tenant);
  try {
    refuseIndexName(index);
    const { searchParams: params } = url;
    for (const [name, value] of [...params, ...Object.entries(names)]) refuseNul({ name, value });
    const answer = handler.plan({ call, params, names, traceNames: service.traceNames });
    await call.admit();
    const { pieces, spans } = await answer();
    const parts: Uint8Array<ArrayBuffer>[] = [];
    for (const part of encoded(pieces)) {
      growAnswer(hold, part.byteLength);
      parts.push(part);
      // Writing a large trace takes a while, and others want answers meanwhile.
      if (parts.length % PARTS_PER_TURN === 0) await othersTurn();
      call.throwIfStopped();
    }
    call.end({ spans });
    return answerOf(request, parts, hold);
  } catch (thrown) {
    hold[Symbol.dispose]();
    const failure = asOperatingError(call.failureOf(thrown));
    call.end({ failure });
    throw failure;
  }
}

function answerOf(
  { method }: Request,
  parts: readonly Uint8Array<ArrayBuffer>[],
  hold: ByteHold,
): Response {
  if (method !== "HEAD") return heldAnswer(parts, hold);
  hold[Symbol.dispose]();
  const length = parts.reduce((sum, part) => sum + part.byteLength, 0);
  return new Response(null, {
    headers: { "content-type": "application/json", "content-length": String(length) },
  });
}

/** A table has no other names, so a text that cannot be one need not be looked for. */
function refuseIndexName(index: string): void {
  if (INDEX_NAME.test(index)) return;
  throw new OperatingError(
    "invalid_argument",
    `Cannot look up traces in ${JSON.stringify(index.slice(0, 200))}: an index's name matches ` +
      INDEX_NAME.source,
    { reason: "bad_index_name" },
  );
}

function* encoded(pieces: Iterable<string>): Generator<Uint8Array<ArrayBuffer>> {
  let text = "";
  for (const piece of pieces) {
    text += piece;
    if (text.length < PART_LENGTH_MIN) continue;
    yield utf8(text);
    text = "";
  }
  if (text !== "") yield utf8(text);
}
