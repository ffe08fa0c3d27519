/**
 * Server-Sent Events that carry the tab's token, which `EventSource` cannot: the same format, and
 * the same `Last-Event-ID` after a broken connection.
 * Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */

import { EventParser, type ServerEvent } from "../../shared/http/event_parser.ts";
import { pause } from "./pause.ts";
import { refusal, request } from "./request.ts";

export interface EventStreamOptions {
  readonly signal: AbortSignal;
  /** The server goes on behind this event. */
  readonly lastId?: string;
  readonly onEvent: (event: ServerEvent) => void;
  /** Whether events arrive; false from the end of a connection until the next one begins. */
  readonly onConnected?: (isConnected: boolean) => void;
}

/** The server says something each 15 s. A link that breaks without a word is noticed by that. */
const SILENT_MS_MAX = 45_000;
const RECONNECT_MS_MIN = 250;
const RECONNECT_MS_MAX = 5_000;

/**
 * Reads events of `path` below `/api/v1/` until the signal ends it, over as many connections as
 * that takes. Errors: `RequestError` when the server refuses; the signal's reason.
 */
export async function readEvents(path: string, options: EventStreamOptions): Promise<never> {
  const { signal, onEvent, onConnected } = options;
  const parser = new EventParser(options.lastId);
  let waitMs = RECONNECT_MS_MIN;
  for (;;) {
    const { lastId } = parser;
    const response = await request(path, {
      signal,
      headers: {
        accept: "text/event-stream",
        ...(lastId === undefined ? {} : { "last-event-id": lastId }),
      },
    });
    if (!response.ok) throw refusal(await response.text(), response.status);
    onConnected?.(true);
    await readBody(response, parser, (event) => {
      waitMs = RECONNECT_MS_MIN;
      onEvent(event);
    });
    signal.throwIfAborted();
    onConnected?.(false);
    await pause(parser.retryMs ?? waitMs, signal);
    waitMs = Math.min(2 * waitMs, RECONNECT_MS_MAX);
  }
}

/** Returns at the end of the connection, however it ends. Errors: those of `onEvent`. */
async function readBody(
  { body }: Response,
  parser: EventParser,
  onEvent: (event: ServerEvent) => void,
): Promise<void> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  parser.begin();
  const leave = () => void reader?.cancel().catch(() => {});
  let silence: ReturnType<typeof setTimeout> | undefined;
  try {
    for (;;) {
      silence = setTimeout(leave, SILENT_MS_MAX);
      const piece = await reader?.read().catch(() => undefined);
      clearTimeout(silence);
      if (piece?.value === undefined) return;
      for (const event of parser.push(decoder.decode(piece.value, { stream: true }))) {
        onEvent(event);
      }
    }
  } finally {
    leave();
  }
}
