/**
 * What real log files take as a data file of `events`, next to `zstd -3` of their text. By hand:
 *
 *   deno run --allow-read tests/real_compression.ts --dir <folder of *.log files>
 *
 * Each file's lines as one data file, with the times that they begin with; and the lines of all as
 * one data file, with other times. Written as merges write, the file's end included, its indexes
 * apart. Prints a Markdown table.
 */

import { Command } from "commander";
import { constants, zstdCompressSync } from "node:zlib";
import { batchOfRows } from "../shared/columns/rows.ts";
import { EVENTS_SCHEMA } from "../shared/schema/events.ts";
import { writeParquet } from "../shared/parquet/write_parquet.ts";
import { SeededRandom } from "../shared/testing/seeded_random.ts";

interface Line {
  readonly source: string;
  readonly text: string;
}

const US_PER_MS = 1_000;
const START_US = Date.UTC(2026, 10, 21) * US_PER_MS;
const MONTHS = "Jan Feb Mar Apr May Jun Jul Aug Sep Oct Nov Dec".split(" ");

/** How lines tell their time; of names only those of months. */
const TIMES: readonly RegExp[] = [
  /(?<year>\d{4})[-.](?<month>\d\d)[-.](?<day>\d\d)[- T](?<hour>\d\d)[:.](?<minute>\d\d)[:.](?<second>\d\d)(?:[.,](?<part>\d{1,6}))?/,
  /^(?<year>\d\d)\/?(?<month>\d\d)\/?(?<day>\d\d) (?<hour>\d\d):?(?<minute>\d\d):?(?<second>\d\d)/,
  /(?<month>[A-Z][a-z]{2}) +(?<day>\d{1,2}) (?<hour>\d\d):(?<minute>\d\d):(?<second>\d\d)(?: (?<year>\d{4}))?/,
];

/** Times of a file of all lines, in microseconds from the one before. */
const GAPS: readonly { readonly what: string; readonly gap: (random: SeededRandom) => number }[] = [
  { what: "a millisecond apart", gap: () => US_PER_MS },
  { what: "0 to 39 ms apart by chance", gap: (random) => US_PER_MS * random.below(40) },
  { what: "0 to 40 ms apart by chance, in microseconds", gap: (random) => random.below(40_000) },
];

if (import.meta.main) main(Deno.args);

function main(args: readonly string[]): void {
  const { dir } = new Command("real_compression")
    .requiredOption("--dir <path>", "folder that holds *.log files")
    .parse([...args], { from: "user" })
    .opts<{ dir: string }>();
  print("| Lines | `zstd -3` of the text, bytes a line | data file, bytes an event | |");
  print("|---|---|---|---|");
  const all: Line[] = [];
  let [packed, stored] = [0, 0];
  for (const { name } of [...Deno.readDirSync(dir)].sort((a, b) => a.name < b.name ? -1 : 1)) {
    if (!name.endsWith(".log")) continue;
    const text = Deno.readFileSync(`${dir}/${name}`);
    const lines = new TextDecoder().decode(text).split(/\r?\n/).filter((line) => line !== "")
      .map((line): Line => ({ source: name.replace(/(_2k)?\.log$/, ""), text: line }));
    const sizes = { packed: packedBytes(text), stored: storedBytes(lines, timesOf(lines)) };
    printRow(`${lines.length} of ${name}, their own times`, lines.length, sizes);
    all.push(...lines);
    packed += sizes.packed;
    stored += sizes.stored;
  }
  printRow("of all these files", all.length, { packed, stored });
  for (const { what, gap } of GAPS) {
    const random = new SeededRandom(1);
    let time = START_US;
    const times = all.map(() => time += gap(random));
    printRow(`all in one file, ${what}`, all.length, { packed, stored: storedBytes(all, times) });
  }
}

function packedBytes(text: Uint8Array): number {
  return zstdCompressSync(text, { params: { [constants.ZSTD_c_compressionLevel]: 3 } }).byteLength;
}

/** `times` in Unix microseconds, of each line. */
function storedBytes(lines: readonly Line[], times: readonly number[]): number {
  const rows = lines.map(({ source, text }, at) => ({
    timestamp: BigInt(times[at] ?? 0),
    timestamp_ns: 1_000n * BigInt(times[at] ?? 0),
    host: "loghub",
    source,
    sourcetype: "otel:logs",
    index: "main",
    raw: text,
    attributes: null,
  })).sort((a, b) => Number(a.timestamp - b.timestamp));
  const options = { schema: EVENTS_SCHEMA, effort: "thorough" } as const;
  return writeParquet([batchOfRows(EVENTS_SCHEMA, rows)], options).bytes.byteLength;
}

/** A line that tells none has the time of the one before. */
function timesOf(lines: readonly Line[]): number[] {
  let last = START_US;
  return lines.map(({ text }) => {
    for (const pattern of TIMES) {
      const parts = pattern.exec(text)?.groups;
      if (parts === undefined) continue;
      const { year = "2026", month = "", day, hour, minute, second, part = "" } = parts;
      const named = MONTHS.indexOf(month);
      const full = Number(year) < 100 ? 2_000 + Number(year) : Number(year);
      const days = [full, named < 0 ? Number(month) - 1 : named, Number(day)] as const;
      const ms = Date.UTC(...days, Number(hour), Number(minute), Number(second));
      last = US_PER_MS * ms + Number(part.padEnd(6, "0"));
      break;
    }
    return last;
  });
}

function printRow(
  what: string,
  lines: number,
  { packed, stored }: { readonly packed: number; readonly stored: number },
): void {
  const perLine = (bytes: number) => (bytes / lines).toFixed(2);
  print(`| ${what} | ${perLine(packed)} | ${perLine(stored)} | ${(stored / packed).toFixed(2)}× |`);
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
