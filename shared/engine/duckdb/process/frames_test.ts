import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { concatBytes, utf8 } from "../../../base/bytes.ts";
import { FrameSocket } from "./frames.ts";

interface Received {
  readonly header: unknown;
  readonly body: Uint8Array<ArrayBuffer>;
}

/** A socket that keeps what is written, and is given what comes. */
class FakeSocket extends EventEmitter {
  readonly written: Uint8Array[] = [];
  isDestroyed = false;
  isWriting = false;

  /** Each write takes a moment; there must be one at a time. */
  write(bytes: Uint8Array, done: () => void): void {
    ok(!this.isWriting);
    this.isWriting = true;
    this.written.push(bytes);
    queueMicrotask(() => {
      this.isWriting = false;
      done();
    });
  }

  destroy(): void {
    this.isDestroyed = true;
  }
}

function open() {
  const socket = new FakeSocket();
  const frames: Received[] = [];
  const ends: string[] = [];
  const over = new FrameSocket(socket as unknown as Socket, {
    onFrame: (header, body) => frames.push({ header, body }),
    onEnd: () => ends.push("end"),
  });
  return { socket, frames, ends, over };
}

/** Lets all that waits for nothing else run. */
function turn(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, 0));
}

async function written(
  send: (socket: FrameSocket) => void,
): Promise<{ readonly bytes: Uint8Array; readonly writes: number }> {
  const { socket, over } = open();
  send(over);
  await turn();
  return { bytes: concatBytes(socket.written), writes: socket.written.length };
}

const LONG = new Uint8Array(200_000).map((_, at) => at);

function sendThree(over: FrameSocket): void {
  over.send({ id: 1, text: "ü" }, utf8("body"), utf8(" of two"));
  over.send({ id: 2 });
  over.send({ id: 3 }, LONG);
}

Deno.test({
  name: "FrameSocket reads what one wrote, in whatever pieces it comes",
  fn: async () => {
    const { bytes } = await written(sendThree);
    for (const size of [1, 7, 4_096, bytes.length]) {
      const { socket, frames, ends } = open();
      for (let at = 0; at < bytes.length; at += size) {
        socket.emit("data", bytes.subarray(at, at + size));
      }
      deepStrictEqual(frames.map(({ header }) => header), [
        { id: 1, text: "ü" },
        { id: 2 },
        { id: 3 },
      ]);
      deepStrictEqual(frames.map(({ body }) => body), [
        utf8("body of two"),
        new Uint8Array(0),
        LONG,
      ]);
      // Each body is its receiver's own, and what it is read by begins where its memory does.
      ok(frames.every(({ body }) => body.byteOffset === 0));
      strictEqual(ends.length, 0);
    }
  },
});

Deno.test({
  name: "FrameSocket.send what is sent in one turn leaves in one write, long bodies in their own",
  fn: async () => {
    strictEqual((await written((over) => [1, 2, 3].forEach((id) => over.send({ id })))).writes, 1);
    strictEqual((await written(sendThree)).writes, 2);
  },
});

Deno.test({
  name: "FrameSocket.hold keeps what is sent until it is released",
  fn: async () => {
    const { socket, over } = open();
    over.hold();
    over.send({ id: 1 });
    await turn();
    strictEqual(socket.written.length, 0);
    over.send({ id: 2 });
    over.release();
    await turn();
    strictEqual(socket.written.length, 1);
  },
});

const NO_FRAMES: Readonly<Record<string, Uint8Array>> = {
  "an empty header": new Uint8Array(8),
  "a header beyond all bounds": new Uint8Array(8).fill(255),
  "a header that is no JSON": Uint8Array.of(1, 0, 0, 0, 0, 0, 0, 0, 0x7b),
};

for (const [what, bytes] of Object.entries(NO_FRAMES)) {
  Deno.test({
    name: `FrameSocket ends with ${what}`,
    fn: () => {
      const { socket, frames, ends } = open();
      socket.emit("data", bytes);
      socket.emit("data", bytes);
      deepStrictEqual(frames, []);
      deepStrictEqual(ends, ["end"]);
      ok(socket.isDestroyed);
    },
  });
}

Deno.test({
  name: "FrameSocket tells once that the other side is gone, and sends nothing then",
  fn: async () => {
    const { socket, ends, over } = open();
    socket.emit("end");
    socket.emit("close");
    deepStrictEqual(ends, ["end"]);
    over.send({ id: 1 });
    await turn();
    strictEqual(socket.written.length, 0);
  },
});
