import assert from "node:assert/strict";
import { isUtf8 } from "node:buffer";
import { setImmediate } from "node:timers";
import fc from "fast-check";
import { forEachLine, LINE_BYTES_MAX } from "./body_lines.ts";
import { arriving, cutInPieces } from "../../tests/doubles/bulk_pieces.ts";

type Line = [text: string | null, line: number];

async function linesOf(...pieces: Uint8Array[]): Promise<Line[]> {
  const lines: Line[] = [];
  await forEachLine(
    arriving(pieces),
    (text, line) => lines.push([typeof text === "string" ? text : null, line]),
  );
  return lines;
}

/** Byte by byte, each line by itself. */
function plainLinesOf(body: Uint8Array): Line[] {
  const lines: number[][] = [[]];
  for (const byte of body) {
    if (byte === 10) lines.push([]);
    else lines.at(-1)?.push(byte);
  }
  return lines.flatMap((bytes, i): Line[] => {
    const line = Uint8Array.from(bytes);
    if (!isUtf8(line)) return [[null, i + 1]];
    const text = new TextDecoder("utf-8", { ignoreBOM: true }).decode(line);
    return /^[ \t\r]*$/.test(text) ? [] : [[text, i + 1]];
  });
}

const utf8 = (text: string) => new TextEncoder().encode(text);

const CASES: readonly { body: string; lines: readonly Line[] }[] = [
  { body: "", lines: [] },
  { body: "a", lines: [["a", 1]] },
  { body: "a\nb\n", lines: [["a", 1], ["b", 2]] },
  { body: "a\r\n\r\n \t\nb", lines: [["a\r", 1], ["b", 4]] },
  { body: "\n\n\n", lines: [] },
  { body: "é\u2028x\n", lines: [["é\u2028x", 1]] },
];

for (const { body, lines } of CASES) {
  Deno.test({
    name: `forEachLine of ${JSON.stringify(body)}`,
    fn: async () => assert.deepEqual(await linesOf(utf8(body)), lines),
  });
}

const part = fc.oneof(
  fc.string({ unit: "grapheme", maxLength: 6 }).map(utf8),
  fc.constantFrom("\n", "\r\n", " \n", "\n\n").map(utf8),
  fc.uint8Array({ maxLength: 4 }),
);

Deno.test({
  name: "forEachLine finds the lines of any bytes, whatever the pieces they arrive in",
  fn: async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(part, { maxLength: 30 }), async (parts) => {
        const body = Uint8Array.from(parts.flatMap((bytes) => [...bytes]));
        const lines = plainLinesOf(body);
        assert.deepEqual(await linesOf(body), lines);
        assert.deepEqual(await linesOf(...parts), lines);
        assert.deepEqual(await linesOf(...Array.from(body, (byte) => Uint8Array.of(byte))), lines);
      }),
      { numRuns: 300 },
    );
  },
});

Deno.test({
  name: "forEachLine loses nothing where blocks meet, whatever the length of lines",
  fn: async () => {
    const lengths = [1, 32_766, 32_767, 32_768, 32_769, 262_145, 600_000, 5, 300_000];
    const texts = lengths.map((length, i) => `${i}é`.repeat(length).slice(0, length));
    const lines = await linesOf(utf8(`${texts.join("\n")}\n`));
    assert.deepEqual(lines.map(([text]) => text?.length), lengths);
    for (const sizes of [[1_460], [65_536], [1, 400_000]]) {
      assert.deepEqual(await linesOf(...cutInPieces(utf8(`${texts.join("\n")}\n`), sizes)), lines);
    }
    assert.deepEqual(lines, texts.map((text, i) => [text, i + 1]));
    const bad = utf8(`${texts.join("\n")}\n`);
    bad[3] = 0xff; // in the second line
    const found = await linesOf(bad);
    assert.equal(found[1]?.[0], null);
    assert.deepEqual(found.toSpliced(1, 1), lines.toSpliced(1, 1));
  },
});

Deno.test({
  name: "forEachLine keeps nothing of a line past its length, and goes on behind it",
  fn: async () => {
    const bytes = new Uint8Array(2 * LINE_BYTES_MAX + 6).fill(0x78);
    for (const at of [1, LINE_BYTES_MAX + 2, 2 * LINE_BYTES_MAX + 4]) bytes[at] = 10;
    const lines: string[] = [];
    await forEachLine(arriving(cutInPieces(bytes, [100_000])), (text, line) => {
      lines.push(`${line} ${typeof text === "string" ? text.length : text.fault}`);
    });
    const fault = "has 16777217 bytes, more than the 16777216 of the longest line: cut it";
    assert.deepEqual(lines, ["1 1", "2 16777216", `3 ${fault}`, "4 1"]);
  },
});

/** Turns that others had while `mebibytes` were visited, each line in `lineMs`. */
async function turnsWithin(mebibytes: number, lineMs: number): Promise<number> {
  const line = `${"x".repeat(1_023)}\n`;
  let isOver = false;
  let turns = 0;
  const count = () => {
    if (isOver) return;
    turns += 1;
    setImmediate(count);
  };
  setImmediate(count);
  let lines = 0;
  const body = utf8(line.repeat(1_024 * mebibytes));
  await forEachLine(arriving([body]), () => lines += 1, () => lines * lineMs);
  isOver = true;
  assert.equal(lines, 1_024 * mebibytes);
  return turns;
}

Deno.test({
  name: "forEachLine lets others have a turn every MiB, and none within one",
  fn: async () => {
    assert.equal(await turnsWithin(1, 0), 0);
    const turns = await turnsWithin(5, 0);
    assert.ok(turns >= 3, `${turns} turns`);
  },
});

Deno.test({
  name: "forEachLine lets others have a turn within a MiB of lines that take long",
  fn: async () => {
    const turns = await turnsWithin(1, 0.1);
    assert.ok(turns >= 2, `${turns} turns`);
  },
});
