/** The thread's side of `threadDriver`: a SQL engine that takes its calls from a port. `yielding_worker.ts` starts it. */

import { assert, present } from "../base/assert.ts";
import { messageOf } from "../base/errors.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import {
  type EngineConnection,
  type EngineDatabase,
  EngineFault,
  type TextChunk,
} from "./driver.ts";
import type { CallReply, CallRequest, DriverCalls, RowsMessage } from "./driver_messages.ts";
import { nativeDriver } from "./native_driver.ts";

interface Lent {
  readonly connection: EngineConnection;
  /** Of the statement that runs. */
  rows?: AsyncIterator<TextChunk>;
}

const files = new DenoFileSystem();
const lent = new Map<number, Lent>();
let database: EngineDatabase | undefined;
let lentLast = 0;

const CALLS: DriverCalls = {
  async open(options) {
    database = await nativeDriver({ readFile: (path) => files.readFile(path) }).open(options);
  },
  async connect() {
    const connection = await present(database).connect(new AbortController().signal);
    lent.set(lentLast += 1, { connection });
    return lentLast;
  },
  serialize: (at, sql) => held(at).connection.serialize(sql),
  deserialize: (at, tree) => held(at).connection.deserialize(tree),
  texts: (at, sql) => held(at).connection.texts(sql),
  describe: (at, sql, relations) => held(at).connection.describe(sql, relations),
  explain: (at, sql) => held(at).connection.explain(sql),
  begin(at, statement) {
    const seat = held(at);
    assert(seat.rows === undefined, "one statement runs at a time");
    seat.rows = seat.connection.rows(statement)[Symbol.asyncIterator]();
    return Promise.resolve();
  },
  async next(at) {
    const seat = held(at);
    const { value } = await present(seat.rows).next();
    const progress = seat.connection.progress();
    if (value !== undefined) {
      return { texts: { bytes: value.bytes(), ends: value.ends() }, progress };
    }
    delete seat.rows;
    return { progress };
  },
  end: (at) => endRows(lent.get(at)),
  progress: (at) => Promise.resolve(held(at).connection.progress()),
  profile: (at) => held(at).connection.profile(),
  interrupt(at) {
    lent.get(at)?.connection.interrupt();
    return Promise.resolve();
  },
  async release(at) {
    const seat = held(at);
    lent.delete(at);
    await seat.connection.release();
    await endRows(seat);
  },
  close: () => present(database).close(),
};

/** Throws once it has been given back: the server may do that while a call is under way. */
function held(at: number): Lent {
  const seat = lent.get(at);
  if (seat === undefined) throw new EngineFault("interrupted", "the connection was given back");
  return seat;
}

async function endRows(seat: Lent | undefined): Promise<void> {
  const rows = seat?.rows;
  delete seat?.rows;
  await rows?.return?.();
}

const scope = globalThis as unknown as {
  onmessage: ((event: MessageEvent<MessagePort>) => void) | null;
};

scope.onmessage = ({ data: port }) => {
  port.onmessage = ({ data }: MessageEvent<CallRequest>) => void answer(port, data);
};

async function answer(port: MessagePort, { id, name, args }: CallRequest): Promise<void> {
  const reply = (reply: CallReply, buffers: ArrayBuffer[] = []) => port.postMessage(reply, buffers);
  try {
    const call = CALLS[name] as (...args: readonly unknown[]) => Promise<unknown>;
    const value = await call(...args);
    reply({ id, value }, name === "next" ? buffersOf(value as RowsMessage) : []);
  } catch (error) {
    const kind = error instanceof EngineFault ? { kind: error.kind } : {};
    reply({ id, failure: { message: messageOf(error), ...kind } });
  }
}

function buffersOf({ texts }: RowsMessage): ArrayBuffer[] {
  return texts === undefined ? [] : [texts.bytes.buffer, texts.ends.buffer];
}
