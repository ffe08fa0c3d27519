import { deepStrictEqual, rejects, strictEqual } from "node:assert/strict";
import { EventEmitter } from "node:events";
import type { Socket } from "node:net";
import { SILENT_MS_END, SILENT_MS_MAX } from "../../limits.ts";
import type { DriverOptions } from "../driver.ts";
import type { CallAnswer, Request } from "./calls.ts";
import { EngineClient } from "./engine_client.ts";
import { FrameSocket } from "./frames.ts";
import { ProcessConnection } from "./process_connection.ts";

const OPTIONS: DriverOptions = {
  readableDirs: [],
  scratchDir: "",
  memoryBytesMax: 100,
  spillBytesMax: 0,
  threads: 1,
  connections: 2,
  setup: [],
};
/** With this much beyond the pool it is interrupted past 200 bytes, and ended past 300. */
const HEADROOM_BYTES = 100;
const FINE = 200;
const TOO_LARGE = 201;
const TO_END = 301;
/** Within this time a process is looked at once at least, on a machine that is not too busy. */
const CHECKED_MS = 300;
const TRIES_MAX = 20;

/** One end of a socket: what is written to it comes out of the other one. */
class SocketEnd extends EventEmitter {
  other: SocketEnd | undefined;

  write(bytes: Uint8Array, done: () => void): void {
    queueMicrotask(done);
    this.other?.emit("data", bytes);
  }

  destroy(): void {}
}

/** A process that opens once `opens` says so, and else does what the test has it do. */
async function open(opens: () => Promise<void> = () => Promise.resolve()) {
  const [here, there] = [new SocketEnd(), new SocketEnd()];
  [here.other, there.other] = [there, here];
  const requests: Request[] = [];
  const frames = new FrameSocket(there as unknown as Socket, {
    onFrame: (header) => {
      const request = header as Request;
      requests.push(request);
      if (request.name !== "open") return;
      void opens().then(() => frames.send({ id: request.id } satisfies CallAnswer));
    },
    onEnd: () => {},
  });
  const ended = Promise.withResolvers<string>();
  const client = await EngineClient.open(OPTIONS, {
    niceness: 0,
    headroomBytes: HEADROOM_BYTES,
    openMsMax: 5_000,
    signal: new AbortController().signal,
    spawn: () =>
      Promise.resolve({
        socket: here as unknown as Socket,
        pid: 0,
        ended: ended.promise,
        kill: () => ended.resolve("it was ended"),
      }),
    onLine: () => {},
    onTooLarge: () => {},
  });
  return {
    client,
    connect: (at: number) =>
      new ProcessConnection(client, { at, label: () => "", giveBack: () => {} }),
    /** The last request for a connection is answered. */
    answer: async (value: unknown) => {
      await Promise.resolve();
      frames.send({ id: requests.findLast(({ id }) => id > 0)?.id ?? 0, value });
    },
    beat: async (residentBytes: number) => {
      frames.send({ id: 0, beat: { residentBytes, cpuMs: 0 } });
      await Promise.resolve();
    },
  };
}

Deno.test({
  name:
    "EngineClient what ran when memory ended its process is memory, also where it was interrupted long before",
  fn: async () => {
    const { client, connect, answer, beat } = await open();
    const [one, other] = [connect(0), connect(1)];
    const interrupted = rejects(one.texts("SELECT 1"), { kind: "memory" });
    await beat(TOO_LARGE);
    await answer([]);
    await interrupted;
    await beat(FINE);
    const answered = one.texts("SELECT 2");
    await answer([["2"]]);
    deepStrictEqual(await answered, [["2"]]);
    const culprit = rejects(other.texts("SELECT 3"), { kind: "memory" });
    await beat(TO_END);
    await culprit;
    strictEqual(await client.ended, "memory");
    await rejects(one.texts("SELECT 4"), { kind: "lost" });
  },
});

Deno.test({
  name: "EngineClient silence ends a process that is open, and none that still opens",
  fn: async () => {
    using time = fastTime();
    const { client, connect } = await open(() => time.pass(SILENT_MS_END + SILENT_MS_MAX));
    strictEqual(client.isOver, false);
    const asked = rejects(connect(0).texts("SELECT 1"), { kind: "lost", message: /told nothing/ });
    // Where no look came between two steps, they count as a pause of this process.
    for (let tries = 0; !client.isOver && tries < TRIES_MAX; tries += 1) {
      await time.pass(SILENT_MS_END + SILENT_MS_MAX);
    }
    await asked;
    strictEqual(await client.ended, "silent");
  },
});

/** `performance.now` of which as much passes as is asked for, in steps that are no pause. */
function fastTime() {
  const now = performance.now.bind(performance);
  let ahead = 0;
  performance.now = () => now() + ahead;
  return {
    pass: async (ms: number) => {
      for (const until = ahead + ms; ahead < until; ahead += SILENT_MS_MAX - 500) {
        await new Promise((resolve) => setTimeout(resolve, CHECKED_MS));
      }
    },
    [Symbol.dispose]: () => void (performance.now = now),
  };
}
