/** `GET /api/v1/tail`: the rows that a search finds, as they come. See docs/api/query.md#tail. */

import { OperatingError } from "../../shared/base/errors.ts";
import { quoteName } from "../../shared/engine/duckdb/statement_text.ts";
import { decodePosition } from "../../shared/engine/follow/follow_position.ts";
import { asOperatingError } from "../../shared/http/error_response.ts";
import { searchCondition } from "../../shared/search/search_condition.ts";
import { whereSql } from "../fields/field_request.ts";
import { type FieldService, PartCall } from "../fields/part_call.ts";
import type { QueryCaller } from "../query_caller.ts";
import type { TailDesk } from "./tail_desk.ts";
import { tailRequest } from "./tail_request.ts";
import { TailSession } from "./tail_session.ts";

/** What the route of tails is given. */
export interface TailService extends FieldService {
  readonly tails: TailDesk;
}

/** `no-transform` keeps proxies from holding events back to compress them. */
const HEADERS = {
  "content-type": "text/event-stream",
  "cache-control": "no-store, no-transform",
  "x-accel-buffering": "no",
} as const;

/**
 * Errors: `invalid_argument` (`bad_parameter`, `search_syntax`, `bad_position`, `unknown_table`);
 * `rate_limited` (`tails_in_use`); those of a statement of `/sql`.
 */
export async function answerTail(
  request: Request,
  service: TailService,
  caller: QueryCaller,
): Promise<Response> {
  const asked = tailRequest(new URL(request.url).searchParams);
  const { engine, clock, metrics, tails } = service;
  if (engine.follow === undefined) {
    throw new OperatingError("unavailable", "Cannot follow: this engine follows nothing");
  }
  const table = await new PartCall(service, request, { caller, endpoint: "tail" })
    .table(asked.table);
  const condition = searchCondition(asked.search, table);
  if (request.method === "HEAD") return new Response(null, { headers: HEADERS });
  using opening = new DisposableStack();
  const place = opening.use(tails.open(caller.tenant));
  const { namespace, tenant } = caller;
  const follower = opening.use(engine.follow({ namespace, tenant, table: table.name }));
  const last = request.headers.get("last-event-id");
  const position = last === null || last === ""
    ? await follower.end()
    : decodePosition(last, table.name);
  const leaving = new AbortController();
  const where = whereSql({ minNs: undefined, maxNs: undefined }, condition);
  const from = `FROM ${quoteName(table.name)}${where}`;
  const record = tailRecord(service, request, caller);
  const session = new TailSession({
    ...{ follower, position, clock, metrics },
    columns: table.columns.map(({ name }) => name),
    statements: {
      ...{ service, caller },
      rowsSql: `SELECT * ${from}`,
      countSql: `SELECT count(*) ${from}`,
      signal: leaving.signal,
    },
    rowsPerSecMax: asked.rowsPerSecMax,
    stopping: place.signal,
    expiresMs: caller.expiresMs,
    onSent: record.sent,
  });
  const held = opening.move();
  metrics.tails.at({}).add(1);
  return new Response(
    tailBody(session, {
      stallMs: service.stallMsMax,
      end: (failure) => {
        leaving.abort(new OperatingError("cancelled", "The tail is over"));
        held.dispose();
        metrics.tails.at({}).add(-1);
        record.end(failure);
      },
    }),
    { headers: HEADERS },
  );
}

/** The audit has one row of a tail, once it is over. */
function tailRecord(
  { clock, observer }: TailService,
  request: Request,
  caller: QueryCaller,
): {
  readonly sent: (rows: number) => void;
  readonly end: (failure: unknown) => void;
} {
  const [startedMs, begunMs] = [clock.nowMs(), clock.monotonicMs()];
  const { pathname, search } = new URL(request.url);
  let rowsReturned = 0;
  return {
    sent: (rows) => rowsReturned += rows,
    end: (failure) =>
      observer.completed({
        ...{ startedMs, caller, rowsReturned },
        durationMs: clock.monotonicMs() - begunMs,
        endpoint: "tail",
        query: `GET ${pathname}${search}`,
        priority: "interactive",
        status: failure === undefined ? 200 : asOperatingError(failure).httpStatus,
        truncated: false,
        ...(failure === undefined ? {} : { error: asOperatingError(failure).message }),
      }),
  };
}

/**
 * The events as they are taken. A reader that takes none for `stallMs` is given up: its place is
 * another's.
 */
function tailBody(
  session: TailSession,
  { stallMs, end }: {
    readonly stallMs: number;
    readonly end: (failure: unknown) => void;
  },
): ReadableStream<Uint8Array<ArrayBuffer>> {
  const events = session.events();
  let stalling: ReturnType<typeof setTimeout> | undefined;
  let isOver = false;
  const over = (failure?: unknown) => {
    clearTimeout(stalling);
    if (isOver) return;
    isOver = true;
    end(failure);
  };
  return new ReadableStream({
    async pull(controller) {
      clearTimeout(stalling);
      if (isOver) return controller.close();
      try {
        const next = await events.next();
        if (next.done === true) {
          over();
          return controller.close();
        }
        controller.enqueue(next.value);
        stalling = setTimeout(() => over(stalled(stallMs)), stallMs);
      } catch (error) {
        over(error);
        controller.error(error);
      }
    },
    async cancel() {
      over();
      await events.return(undefined);
    },
  }, { highWaterMark: 0 });
}

function stalled(stallMs: number): OperatingError {
  return new OperatingError(
    "cancelled",
    `Cannot go on with the tail: nothing of it was taken for ${stallMs / 1_000} s; connect again ` +
      "with the last event's id",
    { reason: "stalled_reader" },
  );
}
