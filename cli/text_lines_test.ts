import assert from "node:assert/strict";
import fc from "fast-check";
import { utf8 } from "../shared/base/bytes.ts";
import { textLines } from "./text_lines.ts";

function streamOf(...chunks: Uint8Array<ArrayBuffer>[]): ReadableStream<Uint8Array<ArrayBuffer>> {
  return ReadableStream.from(chunks);
}

const CASES: { text: string; lines: string[] }[] = [
  { text: "", lines: [] },
  { text: "a", lines: ["a"] },
  { text: "a\n", lines: ["a"] },
  { text: "a\r\nb\n\nc", lines: ["a", "b", "", "c"] },
  { text: "\n", lines: [""] },
  { text: "größe\n日本\n", lines: ["größe", "日本"] },
];

for (const { text, lines } of CASES) {
  Deno.test({
    name: `textLines splits ${JSON.stringify(text)} wherever its chunks are cut`,
    fn: async () => {
      const bytes = utf8(text);
      for (let cut = 0; cut <= bytes.length; cut++) {
        const stream = streamOf(bytes.slice(0, cut), bytes.slice(cut));
        assert.deepEqual(await Array.fromAsync(textLines(stream)), lines);
      }
    },
  });
}

Deno.test({
  name: "textLines gives back any lines that were joined",
  fn: () =>
    fc.assert(fc.asyncProperty(
      fc.array(fc.string({ unit: "grapheme" }).filter((line) => !/[\r\n\ufeff]/.test(line))),
      fc.integer({ min: 1, max: 7 }),
      async (lines, size) => {
        const bytes = utf8(lines.map((line) => `${line}\n`).join(""));
        const chunks: Uint8Array<ArrayBuffer>[] = [];
        for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.slice(at, at + size));
        assert.deepEqual(await Array.fromAsync(textLines(streamOf(...chunks))), lines);
      },
    )),
});

Deno.test({
  name: "textLines refuses what is no UTF-8 only when strict, and names the line",
  fn: async () => {
    const bytes = () => streamOf(utf8("a\nb\n"), new Uint8Array([0x63, 0xff, 0x0a]));
    assert.deepEqual(await Array.fromAsync(textLines(bytes())), ["a", "b", "c\ufffd"]);
    await assert.rejects(
      Array.fromAsync(textLines(bytes(), { strict: true })),
      /as UTF-8 at or after line 3/,
    );
    const cut = streamOf(utf8("a\n"), new Uint8Array([0xe6]));
    await assert.rejects(Array.fromAsync(textLines(cut, { strict: true })), /line 2/);
  },
});

Deno.test({
  name: "textLines refuses a line past its limit, also one that never ends",
  fn: async () => {
    const limit = { lineCharsMax: 3 };
    const lines = await Array.fromAsync(textLines(streamOf(utf8("abc\nabc")), limit));
    assert.deepEqual(lines, ["abc", "abc"]);
    for (const text of ["a\nabcd\n", "a\nabcd"]) {
      await assert.rejects(
        Array.fromAsync(textLines(streamOf(utf8(text)), limit)),
        /line 2: it is longer than 3/,
      );
    }
  },
});
