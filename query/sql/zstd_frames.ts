/** A stream in zstd, whose frames may follow each other: each is whole by itself. */

import { promisify } from "node:util";
import { constants, zstdCompress } from "node:zlib";
import { concatBytes, utf8 } from "../../shared/base/bytes.ts";

const compress = promisify(zstdCompress);
/** Between servers of one network: quicker than the link, at a third of the bytes. */
const LEVEL = 1;
/** Bytes of a frame, about; what is last may be less. */
const FRAME_BYTES = 262_144;

/** What is no bytes and no text goes through as it is, behind what came before. */
export async function* zstdFrames<T extends object>(
  lines: AsyncGenerator<string | Uint8Array<ArrayBuffer> | T, undefined>,
): AsyncGenerator<Uint8Array<ArrayBuffer> | T, undefined> {
  let held: Uint8Array[] = [];
  let bytes = 0;
  const frame = async () => {
    const whole = concatBytes(held);
    held = [];
    bytes = 0;
    const params = { [constants.ZSTD_c_compressionLevel]: LEVEL };
    return Uint8Array.from(await compress(whole, { params }));
  };
  try {
    for await (const line of lines) {
      if (typeof line !== "string" && !(line instanceof Uint8Array)) {
        if (bytes > 0) yield await frame();
        yield line;
        continue;
      }
      const part = typeof line === "string" ? utf8(line) : line;
      held.push(part);
      bytes += part.byteLength;
      if (bytes >= FRAME_BYTES) yield await frame();
    }
    if (bytes > 0) yield await frame();
  } finally {
    await lines.return(undefined);
  }
}
