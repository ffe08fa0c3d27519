/** Log lines by the system that wrote them: of a folder, or made from templates. */

import { join } from "node:path";
import { OperatingError } from "../../../shared/base/errors.ts";
import { LINE_TEMPLATES } from "./line_templates.ts";
import { hex32, mix, pick } from "./mix.ts";

export interface LogLine {
  /** The name of its file without an ending, or of its templates. */
  readonly system: string;
  readonly text: string;
}

const LINES_PER_SYSTEM = 2_000;
const FILE = /^(\w+?)(?:_2k)?\.log$/;
const USERS = [
  "root",
  "admin",
  "deploy",
  "backup",
  "oracle",
  "mwang",
  "ipetrova",
  "jdoe",
  "nagios",
];

/** Lines of all `*.log` files of `folder`, or made-up ones where it is undefined. */
export async function readLogLines(folder: string | undefined): Promise<readonly LogLine[]> {
  if (folder === undefined) return madeUpLines();
  const names: string[] = [];
  for await (const { name, isFile } of Deno.readDir(folder)) {
    if (isFile && FILE.test(name)) names.push(name);
  }
  const lines: LogLine[] = [];
  for (const name of names.sort()) {
    const system = FILE.exec(name)?.[1] ?? name;
    const text = await Deno.readTextFile(join(folder, name));
    for (const line of text.split(/\r?\n/)) {
      if (line !== "") lines.push({ system, text: line });
    }
  }
  if (lines.length > 0) return lines;
  throw new OperatingError(
    "not_found",
    `Cannot take log lines from ${JSON.stringify(folder)}: no file *.log there has a line`,
  );
}

function madeUpLines(): LogLine[] {
  return Object.entries(LINE_TEMPLATES).flatMap(([system, templates], nth) =>
    Array.from({ length: LINES_PER_SYSTEM }, (_, i) => {
      const seed = nth * LINES_PER_SYSTEM + i;
      return { system, text: fillTemplate(pick(templates, mix(seed, 1)), seed) };
    })
  );
}

/** The template with its places filled, each from its position and `seed`. */
export function fillTemplate(template: string, seed: number): string {
  return template.replace(/\{(\w+)\}/g, (place, name: string, at: number) => {
    const number = mix(mix(seed, 2), 3 + at);
    return PLACES[name]?.(number) ?? place;
  });
}

const PLACES: Readonly<Record<string, (number: number) => string>> = {
  ip: (n) => `10.${n & 15}.${n >>> 8 & 63}.${n >>> 16 & 255}`,
  port: (n) => String(32_768 + n % 28_000),
  n: (n) => String(n % 1_000),
  hex: hex32,
  host: (n) => `rack${n % 12}-node${n >>> 8 & 31}`,
  user: (n) => pick(USERS, n),
  uuid: (n) =>
    `${hex32(n)}-${hex32(mix(n, 1)).slice(4)}-4${hex32(mix(n, 2)).slice(5)}-a000-${
      hex32(mix(n, 3))
    }beef`,
  clock: (n) => `2025-01-15 0${n & 1}:${two(n >>> 4)}:${two(n >>> 12)},${n % 900 + 100}`,
};

function two(number: number): string {
  return String(number % 60).padStart(2, "0");
}
