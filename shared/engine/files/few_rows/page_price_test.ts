import { ok, strictEqual } from "node:assert/strict";
import { pay, readPrice, scanPrice, VALUE_NS } from "./page_price.ts";

/** Texts of a row group of log rows: 12 pages of 1 MiB. */
const CHUNK = { bytesDecompressed: 12 * 2 ** 20 };
const pagesOf = (pages: number, rows: number, unpacked = pages) => [
  { chunk: CHUNK, pages, unpacked, allPages: 12, rows },
];

Deno.test("a page of twelve costs less than their scan, all twelve cost more", () => {
  const scanned = scanPrice([CHUNK]);
  ok(readPrice(pagesOf(1, 16), VALUE_NS) < scanned / 2);
  ok(readPrice(pagesOf(12, 160), VALUE_NS) > scanned);
});

Deno.test("16 of 1,000 rows cost less than the scan, which opens the file", () => {
  const small = { bytesDecompressed: 100_000 };
  const pages = Array.from(
    { length: 8 },
    () => ({ chunk: small, pages: 1, unpacked: 1, allPages: 1, rows: 16 }),
  );
  ok(readPrice(pages, VALUE_NS) < scanPrice(pages.map(({ chunk }) => chunk)));
});

Deno.test("pay takes pages that cost less than the scan, and conditions that cost little", () => {
  for (
    const [nextNs, wholeNs, expected] of [
      [600, 1_000, true],
      [600, 1_001, false],
      [500, 9_000, true],
      [501, 9_000, false],
    ] as const
  ) strictEqual(pay({ scannedNs: 1_000, nextNs, wholeNs }), expected, `${nextNs} of ${wholeNs}`);
});
