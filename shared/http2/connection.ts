/**
 * The server's end of one HTTP/2 connection: RFC 9113, for whole answers to requests of any size.
 *
 * Why it exists: the runtime's own server for HTTP/2 cannot send trailers, which gRPC is made of,
 * and its `node:http2` ends the process by a failed assertion when a peer resets a call and goes
 * away (denoland/deno issue 36788). Not covered: push, priorities, upgrades from HTTP/1.1.
 *
 * Invariants: what a peer may make us hold is bounded by `limits.ts`; a peer that breaks the rules
 * loses its connection, never more; every call ends with an answer or with `gone`.
 */

import { getLogger } from "@logtape/logtape";
import { viewOf } from "../base/bytes.ts";
import { OperatingError } from "../base/errors.ts";
import {
  ConnectionError,
  contentOf,
  ErrorCode,
  Flag,
  frame,
  type FrameHead,
  FrameType,
  NoHttp2,
  PAYLOAD_BYTES_MAX,
  readUint31,
  Setting,
  settingsFrame,
  uint32s,
  WINDOW_BYTES_DEFAULT,
  WINDOW_BYTES_MAX,
} from "./frames.ts";
import { FrameReader } from "./frame_reader.ts";
import { type HeaderBlock, HeaderBlocks } from "./header_blocks.ts";
import { encodeFields } from "./hpack.ts";
import type { Field } from "./hpack_tables.ts";
import { HTTP2_LIMITS } from "./limits.ts";
import { type ByteConnection, Outbox } from "./outbox.ts";
import { type Http2Answer, type Http2Call, Stream } from "./stream.ts";
import { answerToStranger } from "./stranger.ts";

/** Answers a call; must not reject. */
export type Http2Handler = (call: Http2Call) => Promise<Http2Answer>;

export interface ConnectionOptions {
  readonly peer: string;
  readonly handler: Http2Handler;
  /** Monotonic, for the limits of time. */
  readonly nowMs: () => number;
}

export class Http2Connection {
  readonly #bytes: ByteConnection;
  readonly #options: ConnectionOptions;
  readonly #outbox: Outbox;
  readonly #reader: FrameReader;
  readonly #blocks = new HeaderBlocks();
  readonly #streams = new Map<number, Stream>();
  readonly #begunMs: number;
  #closed = false;
  #draining = false;
  #lastStream = 0;
  #receiveWindow: number = HTTP2_LIMITS.connectionWindowBytes;
  #uncredited = 0;
  #sendWindow: number = WINDOW_BYTES_DEFAULT;
  #streamSendWindow: number = WINDOW_BYTES_DEFAULT;
  #idleFrames = 0;
  #heardMs: number;
  #busyMs: number;
  #pingedMs: number | undefined;

  constructor(bytes: ByteConnection, options: ConnectionOptions) {
    this.#bytes = bytes;
    this.#options = options;
    this.#reader = new FrameReader(bytes, () => this.#greet());
    this.#outbox = new Outbox(bytes, () => this.close());
    this.#begunMs = this.#heardMs = this.#busyMs = options.nowMs();
  }

  /** Serves until the connection ends, however it does. Never rejects. */
  async run(): Promise<void> {
    try {
      while (!this.#closed && await this.#reader.read(this.#take)) {
        this.#heardMs = this.#options.nowMs();
      }
    } catch (error) {
      if (error instanceof NoHttp2) {
        await this.#answerStranger(error.firstBytes);
      } else if (error instanceof ConnectionError) {
        getLogger(["svc", "http"]).debug("HTTP/2 connection of {peer} ends: {message}", {
          peer: this.#options.peer,
          message: error.message,
        });
        this.#goAway(error.code);
        await this.#outbox.flushed();
      } else if (!isLost(error)) {
        getLogger(["svc", "http"]).error("HTTP/2 connection failed by a bug: {error}", { error });
        this.#goAway(ErrorCode.INTERNAL_ERROR);
        await this.#outbox.flushed();
      }
    } finally {
      this.close();
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
    if (this.#draining || this.#closed) return;
    this.#draining = true;
    this.#goAway(ErrorCode.NO_ERROR);
    this.#endWhenDrained();
  }

  /** Ends at once; calls in flight see `gone`. */
  close(): void {
    if (this.#closed) return;
    this.#closed = true;
    for (const stream of this.#streams.values()) stream.cancel(gone("its connection ended"));
    this.#streams.clear();
    this.#bytes.close();
  }

  /** Applies the limits of time; to be called every `sweepMs`. */
  sweep(): void {
    const nowMs = this.#options.nowMs();
    this.#idleFrames = 0;
    if (this.#streams.size > 0) this.#busyMs = nowMs;
    if (!this.#reader.greeted && nowMs - this.#begunMs > HTTP2_LIMITS.prefaceMsMax) {
      return this.close();
    }
    if (nowMs - this.#busyMs > HTTP2_LIMITS.idleMsMax) this.drain();
    const silentMs = nowMs - this.#heardMs;
    if (silentMs < HTTP2_LIMITS.pingAfterMs) this.#pingedMs = undefined;
    else if (this.#pingedMs === undefined) {
      this.#pingedMs = nowMs;
      this.#outbox.push(frame(FrameType.PING, new Uint8Array(8)));
    } else if (nowMs - this.#pingedMs > HTTP2_LIMITS.pingAnswerMsMax) this.close();
  }

  readonly #take = (head: FrameHead, payload: Uint8Array): void => {
    if (this.#closed) return;
    this.#blocks.check(head);
    switch (head.type) {
      case FrameType.DATA:
        return this.#data(head, payload);
      case FrameType.CONTINUATION:
        this.#idle();
        return this.#headers(this.#blocks.take(head, payload));
      case FrameType.HEADERS:
        return this.#headers(this.#blocks.take(head, payload));
      case FrameType.SETTINGS:
        return this.#settings(head, payload);
      case FrameType.WINDOW_UPDATE:
        return this.#windowUpdate(head, payload);
      case FrameType.PING:
        this.#idle();
        requireSize(payload, 8);
        if ((head.flags & Flag.ACK) === 0) {
          this.#outbox.push(frame(FrameType.PING, payload, { flags: Flag.ACK }));
        }
        return;
      case FrameType.RST_STREAM:
        this.#idle();
        requireSize(payload, 4);
        this.#streams.get(head.stream)?.cancel(gone("its sender reset it"));
        return this.#forget(head.stream);
      case FrameType.GOAWAY:
        return this.drain();
      case FrameType.PUSH_PROMISE:
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "a client pushes");
      default:
        return this.#idle();
    }
  };

  /** Counts a frame that carries no part of a call. */
  #idle(): void {
    this.#idleFrames += 1;
    if (this.#idleFrames > HTTP2_LIMITS.idleFramesMax) {
      throw new ConnectionError(ErrorCode.ENHANCE_YOUR_CALM, "too many frames without a call");
    }
  }

  #data(head: FrameHead, payload: Uint8Array): void {
    const bytes = payload.byteLength;
    if (bytes === 0) this.#idle();
    const stream = this.#streams.get(head.stream);
    if (stream === undefined && (head.stream === 0 || head.stream > this.#lastStream)) {
      throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "data of no call");
    }
    this.#receiveWindow -= bytes;
    if (stream !== undefined) stream.receiveWindow -= bytes;
    if (this.#receiveWindow < 0 || (stream?.receiveWindow ?? 0) < 0) {
      throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "data beyond the window");
    }
    // Of a call that was answered: the sender has not seen that yet.
    if (stream === undefined) return this.#creditConnection(bytes);
    if (stream.ended) throw new ConnectionError(ErrorCode.STREAM_CLOSED, "data behind its end");
    stream.push(contentOf(head, payload), bytes);
    if ((head.flags & Flag.END_STREAM) !== 0) stream.end();
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
  #headers(block: HeaderBlock | undefined): void {
    if (block === undefined) return;
    const { stream: id, ends, fields } = block;
    const known = this.#streams.get(id);
    if (known !== undefined) {
      if (!ends || known.ended) {
        throw new ConnectionError(ErrorCode.PROTOCOL_ERROR, "a second header block of a call");
      }
      return known.end();
    }
    // Trailers of a call that was answered or reset.
    if (id <= this.#lastStream) return this.#idle();
    this.#lastStream = id;
    if (this.#draining || this.#streams.size >= HTTP2_LIMITS.streamsMax) {
      this.#idle();
      return this.#reset(id, ErrorCode.REFUSED_STREAM);
    }
    const stream = new Stream({
      id,
      fields,
      peer: this.#options.peer,
      sendWindow: this.#streamSendWindow,
      credit: (stream, bytes) => this.#creditStream(stream, bytes),
    });
    this.#streams.set(id, stream);
    // A call that is over before the next sweep would not be seen there.
    this.#busyMs = this.#options.nowMs();
    if (ends) stream.end();
    this.#handle(stream);
  }

  async #handle(stream: Stream): Promise<void> {
    try {
      stream.answer = await this.#options.handler(stream);
      this.#answer(stream);
    } catch (error) {
      getLogger(["svc", "http"]).error("HTTP/2 handler threw: {error}", { error });
      this.#reset(stream.id, ErrorCode.INTERNAL_ERROR);
      this.#forget(stream.id);
    }
  }

  /** Sends the answer of a stream if the windows have room for its body. */
  #answer(stream: Stream): void {
    const { id, answer } = stream;
    if (answer === undefined || this.#streams.get(id) !== stream) return;
    const { fields, body, trailers } = answer;
    const bytes = body?.byteLength ?? 0;
    if (bytes > Math.min(this.#sendWindow, stream.sendWindow)) return;
    this.#sendWindow -= bytes;
    this.#sendFields(id, fields, body === undefined && trailers === undefined);
    for (let at = 0; at < bytes; at += PAYLOAD_BYTES_MAX) {
      const part = body?.subarray(at, at + PAYLOAD_BYTES_MAX) ?? new Uint8Array(0);
      const last = trailers === undefined && at + PAYLOAD_BYTES_MAX >= bytes;
      const flags = last ? Flag.END_STREAM : 0;
      this.#outbox.push(frame(FrameType.DATA, part, { flags, stream: id }));
    }
    if (trailers !== undefined) this.#sendFields(id, trailers, true);
    // RFC 9113, section 8.1: the rest of the request is not needed.
    if (!stream.ended) this.#reset(id, ErrorCode.NO_ERROR);
    this.#forget(id);
  }

  #sendFields(stream: number, fields: readonly Field[], last: boolean): void {
    const block = encodeFields(fields);
    for (let at = 0; at === 0 || at < block.byteLength; at += PAYLOAD_BYTES_MAX) {
      const end = at + PAYLOAD_BYTES_MAX;
      const flags = (at === 0 && last ? Flag.END_STREAM : 0) |
        (end >= block.byteLength ? Flag.END_HEADERS : 0);
      const type = at === 0 ? FrameType.HEADERS : FrameType.CONTINUATION;
      this.#outbox.push(frame(type, block.subarray(at, end), { flags, stream }));
    }
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
    if (!this.#draining || this.#streams.size > 0) return;
    await this.#outbox.flushed();
    this.close();
  }

  #goAway(code: number): void {
    if (!this.#closed) this.#outbox.push(frame(FrameType.GOAWAY, uint32s(this.#lastStream, code)));
  }

  #settings({ flags }: FrameHead, payload: Uint8Array): void {
    this.#idle();
    if ((flags & Flag.ACK) !== 0) return;
    if (payload.byteLength % 6 !== 0) {
      throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "settings are cut off");
    }
    const view = viewOf(payload);
    for (let at = 0; at < payload.byteLength; at += 6) {
      if (view.getUint16(at) === Setting.INITIAL_WINDOW_SIZE) {
        this.#resizeWindows(view.getUint32(at + 2));
      }
    }
    this.#outbox.push(frame(FrameType.SETTINGS, new Uint8Array(0), { flags: Flag.ACK }));
  }

  #resizeWindows(bytes: number): void {
    if (bytes > WINDOW_BYTES_MAX) {
      throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "a window is too large");
    }
    const change = bytes - this.#streamSendWindow;
    this.#streamSendWindow = bytes;
    for (const stream of this.#streams.values()) stream.sendWindow += change;
    this.#sendBlocked();
  }

  #windowUpdate({ stream: id }: FrameHead, payload: Uint8Array): void {
    requireSize(payload, 4);
    const bytes = readUint31(payload, 0);
    const stream = this.#streams.get(id);
    if (id === 0) this.#sendWindow += bytes;
    else if (stream !== undefined) stream.sendWindow += bytes;
    else return this.#idle();
    if (bytes === 0 || Math.max(this.#sendWindow, stream?.sendWindow ?? 0) > WINDOW_BYTES_MAX) {
      throw new ConnectionError(ErrorCode.FLOW_CONTROL_ERROR, "a window is too large or not grown");
    }
    this.#sendBlocked();
  }

  #sendBlocked(): void {
    for (const stream of [...this.#streams.values()]) this.#answer(stream);
  }
}

function requireSize(payload: Uint8Array, bytes: number): void {
  if (payload.byteLength === bytes) return;
  throw new ConnectionError(ErrorCode.FRAME_SIZE_ERROR, "a frame has not its size");
}

function gone(why: string): OperatingError {
  return new OperatingError("cancelled", `the call is over: ${why}`);
}

/** Whether a read failed because the connection is no more. */
function isLost(error: unknown): boolean {
  const { errors } = Deno;
  return [
    ...[errors.BadResource, errors.ConnectionReset, errors.ConnectionAborted, errors.Interrupted],
    ...[errors.BrokenPipe, errors.UnexpectedEof, errors.InvalidData, errors.TimedOut],
    errors.NotConnected,
  ].some((kind) => error instanceof kind);
}
