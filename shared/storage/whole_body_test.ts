import { deepStrictEqual, ok, rejects } from "node:assert/strict";
import { wholeBody } from "./whole_body.ts";

const BYTES = Uint8Array.from({ length: 100_000 }, (_, at) => at % 251);

/** An answer that sends `BYTES` in pieces of so many, and announces `length`. */
function answer(piece: number, length?: number) {
  const stream = new ReadableStream<Uint8Array<ArrayBuffer>>({
    type: "bytes",
    start(controller) {
      for (let at = 0; at < BYTES.length; at += piece) {
        controller.enqueue(BYTES.slice(at, at + piece));
      }
      controller.close();
    },
  });
  return { body: stream, headers: announcing(length) };
}

function announcing(length: number | undefined): Headers {
  return new Headers(length === undefined ? {} : { "content-length": String(length) });
}

for (const piece of [1_000, 7_777, BYTES.length]) {
  for (const length of [undefined, BYTES.length]) {
    Deno.test(`wholeBody() has every byte of pieces of ${piece}, announced: ${length}`, async () => {
      let heard = 0;
      const bytes = await wholeBody(answer(piece, length), () => heard += 1);
      deepStrictEqual(bytes, BYTES);
      deepStrictEqual(bytes.buffer.byteLength, BYTES.length);
      ok(heard > 1);
    });
  }
}

Deno.test("wholeBody() refuses less and more than was announced", async () => {
  await rejects(
    wholeBody(answer(1_000, BYTES.length + 1), () => {}),
    /ended after 100000 of 100001 bytes/,
  );
  await rejects(wholeBody(answer(1_000, BYTES.length - 1), () => {}), /more than 99999 bytes/);
});

Deno.test("wholeBody() of an answer without a body is empty, unless it announced some", async () => {
  const answered = (length?: number) =>
    wholeBody({ body: null, headers: announcing(length) }, () => {});
  deepStrictEqual(await answered(), new Uint8Array());
  deepStrictEqual(await answered(0), new Uint8Array());
  await rejects(answered(3), /ended after 0 of 3 bytes/);
});
