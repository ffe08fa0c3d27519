import type { Transform } from "node:stream";

/**
 * What a stream of `node:zlib` has inside. It is not documented, but other libraries use it for the
 * same reason (minizlib). A decoder is made once and used again, where each call of `node:zlib`
 * makes one.
 */
export interface ZlibDecoder {
  /** Held, since the stream's end closes the handle. */
  readonly stream: unknown;
  readonly handle: {
    reset(): void;
    writeSync(
      flush: number,
      ...from: [Uint8Array, number, number, Uint8Array, number, number, Uint32Array]
    ): void;
  };
  /** Bytes of the output and of the input that are left after a write. */
  readonly state: Uint32Array;
}

/** Null: the stream looks otherwise, so all is unpacked plainly. */
export function zlibDecoder(stream: Pick<Transform, "on">): ZlibDecoder | null {
  // Whoever finds too few bytes unpacks them plainly, which tells what is wrong.
  stream.on("error", () => {});
  const handle: unknown = Reflect.get(stream, "_handle");
  const state: unknown = Reflect.get(stream, "_writeState");
  return isHandle(handle) && state instanceof Uint32Array ? { stream, handle, state } : null;
}

function isHandle(handle: unknown): handle is ZlibDecoder["handle"] {
  return typeof handle === "object" && handle !== null &&
    ["reset", "writeSync"].every((name) => typeof Reflect.get(handle, name) === "function");
}
