/**
 * The server's end of one HTTP/2 connection: RFC 9113, for whole answers to requests of any size.
 *
 * Why it exists: the runtime's own server for HTTP/2 cannot send trailers, which gRPC needs. Its
 * `node:http2` ends the process by a failed assertion when a peer resets a call and goes away
 * (denoland/deno issue 36788). Not covered: push, priorities, upgrades from HTTP/1.1.
 *
 * Invariants: what a peer may make us hold is bounded by `limits.ts`. A peer that breaks the rules
 * loses its connection, never more. Every call ends with a response or with `gone`.
 */

import { getLogger } from "@logtape/logtape";
import { concatBytes, utf8, viewOf } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";
import { othersTurn } from "../base/others_turn.ts";
import { AnswerSender } from "./answer_sender.ts";
import {
  ConnectionError,
  contentOf,
  Flag,
  frame,
  type FrameHead,
  FrameType,
  Http2ErrorCode,
  NoHttp2,
  readUint31,
  Setting,
  settingsFrame,
  uint32s,
  WINDOW_BYTES_DEFAULT,
} from "./frames.ts";
import { type BudgetOptions, FrameBudget } from "./frame_budget.ts";
import { RESET_WASTE, strayWaste, wasteOf, workOf } from "./frame_cost.ts";
import { FrameReader } from "./frame_reader.ts";
import { type HeaderBlock, HeaderBlocks } from "./header_blocks.ts";
import { HTTP2_LIMITS } from "./limits.ts";
import { isLost } from "../http1/lost_connection.ts";
import { type Http2Bytes, Outbox } from "./outbox.ts";
import { type Http2Answer, type Http2Call, Stream } from "./stream.ts";
import { answerToStranger } from "./stranger.ts";

/** Answers a call; must not reject. */
export type Http2Handler = (call: Http2Call) => Promise<Http2Answer>;

export interface Http2ConnectionOptions extends BudgetOptions {
  readonly peer: string;
  readonly handler: Http2Handler;
}

/** Calls of a lost connection that are cancelled in one turn of the event loop. */
const CANCELLED_AT_A_TIME = 8;

export class Http2Connection {
  readonly #bytes: Http2Bytes;
  readonly #options: Http2ConnectionOptions;
  readonly #outbox: Outbox;
  readonly #reader: FrameReader;
  readonly #blocks = new HeaderBlocks();
  readonly #streams = new Map<number, Stream>();
  readonly #begunMs: number;
  #closed = false;
  #cancelled: Promise<void> | undefined;
  readonly #over = Promise.withResolvers<void>();
  #ending = false;
  /** Who asked for an end once the calls in flight are answered. */
  #draining: "here" | "peer" | undefined;
  #lastStream = 0;
  #receiveWindow: number = HTTP2_LIMITS.connectionWindowBytes;
  #uncredited = 0;
  readonly #answers: AnswerSender;
  /** Handlers at work and answers that wait: of calls that were reset as well. */
  #calls = 0;
  readonly #budget: FrameBudget;
  #heardMs: number;
  #busyMs: number;
  #pingedMs: number | undefined;

  constructor(bytes: Http2Bytes, options: Http2ConnectionOptions) {
    this.#bytes = bytes;
    this.#options = options;
    this.#reader = new FrameReader(bytes, () => this.#greet());
    this.#outbox = new Outbox(bytes, () => this.close());
    this.#answers = new AnswerSender(this.#outbox, options.nowMs);
    this.#budget = new FrameBudget(options);
    this.#begunMs = this.#heardMs = this.#busyMs = options.nowMs();
  }

  /** Serves until the connection ends, however it does. Never rejects. */
  async run(): Promise<void> {
    try {
      while (!this.#closed && await this.#reader.read(this.#take)) {
        this.#heardMs = this.#options.nowMs();
        this.#budget.fill(this.#heardMs);
        this.#answers.sendWaiting();
      }
    } catch (error) {
      if (error instanceof NoHttp2) {
        await this.#answerStranger(error.firstBytes);
      } else if (error instanceof ConnectionError) {
        getLogger(["svc", "http"]).debug("HTTP/2 connection of {peer} ends: {message}", {
          peer: this.#options.peer,
          message: error.message,
        });
        await this.#goAwayAtOnce(error.code, error.message);
      } else if (!isLost(error)) {
        getLogger(["svc", "http"]).error("HTTP/2 connection failed by a bug: {error}", { error });
        await this.#goAwayAtOnce(Http2ErrorCode.INTERNAL_ERROR);
      }
    } finally {
      if (this.#mustKeepPlace()) await this.#keepPlace();
      this.close();
      await this.#cancelled;
    }
  }

  /** Once the peer has begun as HTTP/2 does: to another it would be noise. */
  #greet(): void {
    this.#outbox.push(settingsFrame([
      [Setting.MAX_CONCURRENT_STREAMS, HTTP2_LIMITS.streamsMax],
      [Setting.INITIAL_WINDOW_SIZE, HTTP2_LIMITS.streamWindowBytes],
      [Setting.MAX_HEADER_LIST_SIZE, HTTP2_LIMITS.headerBytesMax],
    ]));
    this.#credit(0, HTTP2_LIMITS.connectionWindowBytes - WINDOW_BYTES_DEFAULT);
  }

  async #answerStranger(firstBytes: Uint8Array): Promise<void> {
    const answer = answerToStranger(firstBytes);
    getLogger(["svc", "http"]).info("connection of {peer} to the HTTP/2 port: {what}", {
      peer: this.#options.peer,
      what: answer.what,
    });
    if (answer.bytes === undefined) return;
    this.#outbox.push(answer.bytes);
    await this.#outbox.flushed();
  }

  /** Takes no more calls and ends once those in flight are answered. */
  drain(): void {
    if (this.#draining === "here") return;
    const isFirst = this.#draining === undefined;
    this.#draining = "here";
    this.#endOrderly(isFirst);
  }

  #endOrderly(isFirst: boolean): void {
    if (isFirst) this.#goAway(Http2ErrorCode.NO_ERROR);
    this.#endWhenDrained();
  }

  /** Ends at once; calls in flight see `gone`. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    this.#bytes.close();
    this.#endCalls();
    this.#over.resolve();
  }

  /** Not once the server stops: it accepts no other connection then. */
  #mustKeepPlace(): boolean {
    return this.#draining !== "here" && (this.#ending || this.#budget.isWasteful);
  }

  /**
   * A peer that broke the rules, or hung up just before it would have, is no longer read and keeps
   * its place until the next sweep. So the bounds of connections bound how often it can do so in a
   * second.
   */
  async #keepPlace(): Promise<void> {
    this.#ending = true;
    this.#endCalls();
    await this.#over.promise;
  }

  /** Takes no frame any more; calls in flight see `gone`. */
  #endCalls(): void {
    this.#reader.stop();
    const streams = [...this.#streams.values()];
    this.#streams.clear();
    this.#cancelled ??= this.#cancel(streams);
  }

  /** What handlers do when their call is gone is work, too. */
  async #cancel(streams: readonly Stream[]): Promise<void> {
    for (const [at, stream] of streams.entries()) {
      if (at > 0 && at % CANCELLED_AT_A_TIME === 0) await othersTurn();
      stream.cancel(gone("its connection ended"));
      this.#answers.giveUp(stream);
    }
  }

  /** Applies the limits of time; to be called every `sweepMs`. */
  sweep(): void {
    const nowMs = this.#options.nowMs();
    if (this.#streams.size > 0) this.#busyMs = nowMs;
    const isMute = !this.#reader.greeted && nowMs - this.#begunMs > HTTP2_LIMITS.prefaceMsMax;
    const isStuck = this.#answers.stuckMs(nowMs) > HTTP2_LIMITS.answerMsMax;
    if (isMute || isStuck || this.#ending) return this.close();
    if (nowMs - this.#busyMs > HTTP2_LIMITS.idleMsMax) this.drain();
    const silentMs = nowMs - this.#heardMs;
    if (silentMs < HTTP2_LIMITS.pingAfterMs) this.#pingedMs = undefined;
    else if (this.#pingedMs === undefined) {
      this.#pingedMs = nowMs;
      this.#outbox.push(frame(FrameType.PING, new Uint8Array(8)));
    } else if (nowMs - this.#pingedMs > HTTP2_LIMITS.pingAnswerMsMax) this.close();
  }

  readonly #take = (head: FrameHead, payload: Uint8Array): Promise<void> | undefined => {
    this.#blocks.check(head);
    this.#budget.waste(wasteOf(head, payload));
    this.#dispatch(head, payload);
    const othersFirst = this.#budget.work(workOf(head));
    if (othersFirst !== undefined) this.#answers.sendWaiting();
    return othersFirst;
  };

  #dispatch(head: FrameHead, payload: Uint8Array): void {
    switch (head.type) {
      case FrameType.DATA:
        return this.#data(head, payload);
      case FrameType.CONTINUATION:
      case FrameType.HEADERS:
        return this.#headers(head, this.#blocks.take(head, payload));
      case FrameType.SETTINGS:
        return this.#settings(head, payload);
      case FrameType.WINDOW_UPDATE:
        return this.#windowUpdate(head, payload);
      case FrameType.PING:
        requireSize(payload, 8);
        if ((head.flags & Flag.ACK) === 0) {
          this.#outbox.push(frame(FrameType.PING, payload, { flags: Flag.ACK }));
        }
        return;
      case FrameType.RST_STREAM:
        requireSize(payload, 4);
        return this.#wasReset(head);
      case FrameType.GOAWAY:
        return this.#peerGoesAway();
      case FrameType.PUSH_PROMISE:
        throw new ConnectionError(Http2ErrorCode.PROTOCOL_ERROR, "a client pushes");
    }
  }

  #data(head: FrameHead, payload: Uint8Array): void {
    const bytes = payload.byteLength;
    const stream = this.#streams.get(head.stream);
    if (stream === undefined) this.#stray(head);
    this.#receiveWindow -= bytes;
    if (stream !== undefined) stream.receiveWindow -= bytes;
    if (this.#receiveWindow < 0 || (stream?.receiveWindow ?? 0) < 0) {
      throw new ConnectionError(Http2ErrorCode.FLOW_CONTROL_ERROR, "data beyond the window");
    }
    // The call was answered, and the sender has not seen that yet.
    if (stream === undefined) return this.#creditConnection(bytes);
    if (stream.ended) {
      throw new ConnectionError(Http2ErrorCode.STREAM_CLOSED, "data behind its end");
    }
    stream.push(contentOf(head, payload), bytes);
    if ((head.flags & Flag.END_STREAM) !== 0) stream.end();
  }

  /** A frame of a call that is over. Errors: `ConnectionError` for one of a call that never was. */
  #stray(head: FrameHead): void {
    if (head.stream % 2 === 0 || head.stream > this.#lastStream) {
      throw new ConnectionError(Http2ErrorCode.PROTOCOL_ERROR, "a frame of no call");
    }
    this.#budget.waste(strayWaste(head));
  }

  /** Tells the peer of room in the window of a stream, or of the connection: 0. */
  #credit(stream: number, bytes: number): void {
    this.#outbox.push(frame(FrameType.WINDOW_UPDATE, uint32s(bytes), { stream }));
  }

  #creditConnection(bytes: number): void {
    this.#uncredited += bytes;
    if (this.#closed || this.#uncredited < HTTP2_LIMITS.connectionWindowBytes / 2) return;
    this.#credit(0, this.#uncredited);
    this.#receiveWindow += this.#uncredited;
    this.#uncredited = 0;
  }

  #creditStream(stream: Stream, bytes: number): void {
    this.#creditConnection(bytes);
    stream.uncredited += bytes;
    if (stream.ended || stream.uncredited < HTTP2_LIMITS.streamWindowBytes / 2) return;
    this.#credit(stream.id, stream.uncredited);
    stream.receiveWindow += stream.uncredited;
    stream.uncredited = 0;
  }

  /** A whole header block: a new call, or trailers. */
  #headers(head: FrameHead, block: HeaderBlock | undefined): void {
    if (block === undefined) return;
    const { stream: id, ends, fields } = block;
    const known = this.#streams.get(id);
    if (known !== undefined) {
      if (!ends || known.ended) {
        throw new ConnectionError(Http2ErrorCode.PROTOCOL_ERROR, "a second header block of a call");
      }
      return known.end();
    }
    // Trailers of a call that was answered or reset.
    if (id <= this.#lastStream) return this.#stray(head);
    this.#lastStream = id;
    if (this.#draining !== undefined || this.#calls >= HTTP2_LIMITS.streamsMax) {
      return this.#refuse(id, Http2ErrorCode.REFUSED_STREAM);
    }
    const stream = new Stream({
      id,
      fields,
      peer: this.#options.peer,
      credit: (stream, bytes) => this.#creditStream(stream, bytes),
    });
    if (!isRequest(stream)) return this.#refuse(id, Http2ErrorCode.PROTOCOL_ERROR);
    this.#streams.set(id, stream);
    // A call that is over before the next sweep would not be seen there.
    this.#busyMs = this.#options.nowMs();
    if (ends) stream.end();
    this.#handle(stream);
  }

  async #handle(stream: Stream): Promise<void> {
    this.#calls += 1;
    try {
      const answer = await this.#options.handler(stream);
      if (this.#streams.get(stream.id) !== stream) return;
      const waiting = this.#answers.send(stream, answer);
      if (waiting !== undefined) await waiting;
      this.#answered(stream);
    } catch (error) {
      getLogger(["svc", "http"]).error("HTTP/2 handler threw: {error}", { error });
      this.#reset(stream.id, Http2ErrorCode.INTERNAL_ERROR);
      this.#forget(stream.id);
    } finally {
      this.#calls -= 1;
    }
  }

  #answered(stream: Stream): void {
    if (this.#streams.get(stream.id) !== stream) return;
    this.#budget.answered();
    // RFC 9113, section 8.1: the rest of the request is not needed.
    if (!stream.ended) this.#reset(stream.id, Http2ErrorCode.NO_ERROR);
    this.#forget(stream.id);
  }

  /** The peer reset a call. Its handler goes on until it sees that, and counts as long. */
  #wasReset(head: FrameHead): void {
    const { stream: id } = head;
    const stream = this.#streams.get(id);
    if (stream === undefined) return this.#stray(head);
    stream.cancel(gone("its sender reset it"));
    this.#answers.giveUp(stream);
    this.#forget(id);
    this.#budget.waste(RESET_WASTE);
  }

  /** Takes no call of a peer that asks for too many, or for none. */
  #refuse(stream: number, code: number): void {
    this.#reset(stream, code);
    this.#budget.waste(RESET_WASTE);
  }

  #reset(stream: number, code: number): void {
    if (!this.#closed) this.#outbox.push(frame(FrameType.RST_STREAM, uint32s(code), { stream }));
  }

  #forget(id: number): void {
    this.#creditConnection(this.#streams.get(id)?.unread ?? 0);
    this.#streams.delete(id);
    this.#endWhenDrained();
  }

  async #endWhenDrained(): Promise<void> {
    if (this.#draining === undefined || this.#streams.size > 0) return;
    await this.#outbox.flushed();
    if (!this.#mustKeepPlace()) return this.close();
    await this.#keepPlace();
  }

  #peerGoesAway(): void {
    if (this.#draining !== undefined) return;
    this.#draining = "peer";
    this.#endOrderly(true);
  }

  #goAway(code: number, why = ""): void {
    if (this.#closed) return;
    const payload = concatBytes([uint32s(this.#lastStream, code), utf8(why)]);
    this.#outbox.push(frame(FrameType.GOAWAY, payload));
  }

  /** Says why the connection ends, to a peer that reads: the next sweep waits no longer. */
  async #goAwayAtOnce(code: number, why?: string): Promise<void> {
    this.#goAway(code, why);
    this.#ending = true;
    await this.#outbox.flushed();
  }

  #settings({ flags }: FrameHead, payload: Uint8Array): void {
    if ((flags & Flag.ACK) !== 0) return;
    if (payload.byteLength % 6 !== 0) {
      throw new ConnectionError(Http2ErrorCode.FRAME_SIZE_ERROR, "settings are cut off");
    }
    const view = viewOf(payload);
    let initialWindow: number | undefined;
    for (let at = 0; at < payload.byteLength; at += 6) {
      if (view.getUint16(at) === Setting.INITIAL_WINDOW_SIZE) {
        initialWindow = view.getUint32(at + 2);
      }
    }
    if (initialWindow !== undefined) this.#answers.setInitialWindow(initialWindow);
    this.#outbox.push(frame(FrameType.SETTINGS, new Uint8Array(0), { flags: Flag.ACK }));
  }

  #windowUpdate(head: FrameHead, payload: Uint8Array): void {
    requireSize(payload, 4);
    const stream = this.#streams.get(head.stream);
    if (head.stream !== 0 && stream === undefined) return this.#stray(head);
    this.#answers.grow(readUint31(payload, 0), stream);
  }
}

/**
 * Whether the fields are those of a request: RFC 9113, section 8.3.1, as far as handlers rely on
 * it.
 */
function isRequest({ headers }: Stream): boolean {
  return headers.has(":method") && headers.has(":path");
}

function requireSize(payload: Uint8Array, bytes: number): void {
  if (payload.byteLength === bytes) return;
  throw new ConnectionError(Http2ErrorCode.FRAME_SIZE_ERROR, "a frame has not its size");
}

function gone(why: string): OperatingError {
  return new OperatingError("cancelled", `the call is over: ${why}`);
}
