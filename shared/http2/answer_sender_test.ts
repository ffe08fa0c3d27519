/** Windows and the answers that wait for them: what a frame costs, counted. */

import assert from "node:assert/strict";
import { ANSWER } from "../testing/http2_peer.ts";
import { AnswerSender } from "./answer_sender.ts";
import { ConnectionError, WINDOW_BYTES_MAX } from "./frames.ts";
import { Outbox } from "./outbox.ts";
import { type Http2Answer, Stream } from "./stream.ts";

const BODY: Http2Answer = { ...ANSWER, body: new Uint8Array(5) };

/** A sender whose streams have no window, and what it wrote. */
function closedWindows() {
  const written: Uint8Array[] = [];
  const outbox = new Outbox({
    read: () => Promise.resolve(null),
    write: (bytes) => {
      written.push(bytes);
      return Promise.resolve(bytes.byteLength);
    },
    close: () => {},
  }, (error) => assert.fail(String(error)));
  const sender = new AnswerSender(outbox, () => 0);
  sender.setInitialWindow(0);
  return { sender, outbox, written };
}

/** A stream that counts how often its window is looked at. */
class WatchedStream extends Stream {
  looks = 0;
  #grown = 0;

  constructor(id: number) {
    super({ id, fields: [], peer: "192.0.2.1", credit: () => {} });
    Object.defineProperty(this, "windowGrown", {
      get: () => {
        this.looks += 1;
        return this.#grown;
      },
      set: (bytes: number) => this.#grown = bytes,
    });
  }
}

Deno.test({
  name: "AnswerSender looks at the answers that wait once for all frames of a read",
  fn: () => {
    const { sender } = closedWindows();
    const streams = Array.from({ length: 128 }, (_, i) => new WatchedStream(2 * i + 1));
    for (const stream of streams) assert.ok(sender.send(stream, BODY) !== undefined);
    const looks = () => streams.reduce((sum, stream) => sum + stream.looks, 0);
    const before = looks();
    for (let frame = 0; frame < 5_000; frame++) {
      sender.grow(1);
      sender.setInitialWindow(frame % 4);
    }
    assert.equal(looks() - before, 0);
    sender.sendWaiting();
    sender.sendWaiting();
    assert.equal(looks() - before, streams.length);
  },
});

Deno.test({
  name: "AnswerSender sends in the order in which answers came, as far as there is room",
  fn: async () => {
    const { sender, outbox, written } = closedWindows();
    const streams = [1, 3, 5].map((id) => new WatchedStream(id));
    const over: number[] = [];
    for (const stream of streams) sender.send(stream, BODY)?.then(() => over.push(stream.id));
    const [first, second, third] = streams as [WatchedStream, WatchedStream, WatchedStream];
    sender.grow(5, third);
    sender.grow(4, second);
    sender.sendWaiting();
    await outbox.flushed();
    assert.deepEqual(over, [5]);
    sender.giveUp(first);
    sender.setInitialWindow(1);
    sender.sendWaiting();
    await outbox.flushed();
    assert.deepEqual(over, [5, 1, 3]);
    assert.equal(written.length, 2, "nothing of what was given up");
    assert.equal(sender.stuckMs(1_000), 0);
  },
});

Deno.test({
  name: "AnswerSender ends the connection for a window that is too large or not grown",
  fn: () => {
    const { sender } = closedWindows();
    const stream = new WatchedStream(1);
    assert.throws(() => sender.setInitialWindow(WINDOW_BYTES_MAX + 1), ConnectionError);
    assert.throws(() => sender.grow(0, stream), ConnectionError);
    assert.throws(() => sender.grow(WINDOW_BYTES_MAX), ConnectionError);
    sender.grow(WINDOW_BYTES_MAX, stream);
    sender.setInitialWindow(1);
    assert.throws(() => sender.grow(1, stream), ConnectionError);
  },
});
