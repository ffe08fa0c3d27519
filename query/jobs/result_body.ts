/**
 * A stored result as the body of a response. A result in the warehouse is brought one file at a
 * time, as fast as the client takes it. Only the file that is being sent is held.
 */

import { utf8 } from "../../shared/base/bytes.ts";
import type { StoredResult } from "../../shared/catalog/job_store.ts";
import type { ByteHold } from "../../shared/base/byte_budget.ts";
import { SEND_MS_MAX } from "../limits.ts";
import { growAnswer } from "../sql/held_answer.ts";
import { ROW_JOINT } from "./result_parts.ts";

/** Where files of a result come from, and what their bytes are charged to until they are sent. */
export interface ResultSource {
  /** Rows of one file, joined. */
  readonly part: (part: number) => Promise<Uint8Array<ArrayBuffer>>;
  readonly hold: ByteHold;
}

type Bytes = Uint8Array<ArrayBuffer>;

/**
 * Makes the body. Errors: those of the first file, so that the response has its status. A later
 * error breaks the response off.
 */
export async function resultBody(result: StoredResult, source: ResultSource): Promise<BodyInit> {
  const { head, tail, rows, parts } = result;
  if (parts === 0) return `${head}${rows ?? ""}${tail}`;
  const { hold } = source;
  try {
    const first = await heldPart(source, 0);
    return asTaken(piecesOf(result, { first, source }), hold);
  } catch (error) {
    hold[Symbol.dispose]();
    throw error;
  }
}

interface BroughtResult {
  readonly first: Bytes;
  readonly source: ResultSource;
}

async function* piecesOf(
  { head, tail, parts }: StoredResult,
  { first, source }: BroughtResult,
): AsyncGenerator<Bytes, undefined> {
  const { hold } = source;
  yield utf8(head);
  yield first;
  hold.shrink(first.byteLength);
  for (let part = 1; part < parts; part += 1) {
    yield utf8(ROW_JOINT);
    const rows = await heldPart(source, part);
    yield rows;
    hold.shrink(rows.byteLength);
  }
  yield utf8(tail);
}

async function heldPart({ part, hold }: ResultSource, at: number): Promise<Bytes> {
  const rows = await part(at);
  growAnswer(hold, rows.byteLength);
  return rows;
}

/** The body is pulled, never pushed; `hold` is given back at the end, however that comes about. */
function asTaken(pieces: AsyncGenerator<Bytes, undefined>, hold: ByteHold): ReadableStream<Bytes> {
  let timer: ReturnType<typeof setTimeout> | undefined;
  const release = () => {
    clearTimeout(timer);
    hold[Symbol.dispose]();
  };
  return new ReadableStream({
    async pull(controller) {
      clearTimeout(timer);
      try {
        const next = await pieces.next();
        if (!next.done) {
          timer = setTimeout(() => {
            release();
            controller.error(
              new Error(`the client took nothing of its answer in ${SEND_MS_MAX} ms`),
            );
          }, SEND_MS_MAX);
          return controller.enqueue(next.value);
        }
      } catch (error) {
        release();
        throw error;
      }
      release();
      controller.close();
    },
    async cancel() {
      release();
      await pieces.return(undefined);
    },
  }, { highWaterMark: 0 });
}
