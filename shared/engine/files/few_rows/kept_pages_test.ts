import { deepStrictEqual, ok, strictEqual } from "node:assert/strict";
import { PAGE } from "../../../parquet/writer/format.ts";
import { StoredPage, UnpackedPage } from "../../../parquet/reader/stored_page.ts";
import { ThriftWriter } from "../../../parquet/writer/thrift_writer.ts";
import { KeptPages } from "./kept_pages.ts";

const BYTES = 1_000;
/** What an entry takes in all. */
const ENTRY = BYTES + 512;

/** A page as it is in a file, of `BYTES` bytes that are all `value`. */
function pageBytes(value: number): Uint8Array {
  const header = new ThriftWriter();
  header.i32(PAGE.type, PAGE.typeData);
  header.i32(PAGE.plainBytes, BYTES);
  header.i32(PAGE.bytes, BYTES);
  header.struct(PAGE.data, () => {
    header.i32(PAGE.dataValues, 1);
    header.i32(PAGE.dataEncoding, 0);
  });
  const head = header.finish();
  const bytes = new Uint8Array(head.length + BYTES).fill(value);
  bytes.set(head);
  return bytes;
}

const FORM = { isPacked: false, isSummed: false };

class Reads {
  readonly pages: KeptPages;

  constructor(entries: number) {
    this.pages = new KeptPages(entries * ENTRY);
  }

  /** Reads a page as who wants its rows; whether it was kept. */
  of(number: number, file = "a file"): boolean {
    const place = { offset: number * BYTES, byteLength: BYTES };
    const kept = this.pages.find(file, place);
    const page = kept ?? this.pages.read(file, place, new StoredPage(pageBytes(number), FORM));
    strictEqual(page.upTo(1, (body) => body.byte()), number);
    ok(kept === undefined || kept instanceof UnpackedPage);
    return kept !== undefined;
  }
}

Deno.test("a page is kept when it is read for the second time, by its file and its place", () => {
  const reads = new Reads(10);
  deepStrictEqual([1, 1, 1, 1].map((page) => reads.of(page)), [false, false, true, true]);
  strictEqual(reads.of(1, "another file"), false);
  strictEqual(reads.of(2), false);
  strictEqual(reads.pages.bytes, ENTRY);
});

Deno.test("a kept page has its bytes when the memory it was read into has others", () => {
  const pages = new KeptPages(ENTRY);
  const place = { offset: 0, byteLength: BYTES };
  const bytes = pageBytes(7);
  const page = new StoredPage(bytes, FORM);
  pages.read("a", place, page);
  pages.read("a", place, page);
  bytes.fill(9);
  strictEqual(pages.find("a", place)?.upTo(1, (body) => body.byte()), 7);
});

Deno.test("pages that are more than there is room for do not take turns", () => {
  const reads = new Reads(3);
  const round = () => [0, 1, 2, 3, 4].map((page) => reads.of(page));
  round();
  round();
  deepStrictEqual(round(), [true, true, true, false, false]);
  deepStrictEqual(round(), [true, true, true, false, false]);
});

Deno.test("a page drives out what was not used since it was read itself", () => {
  const reads = new Reads(2);
  for (const page of [0, 0, 1, 1]) reads.of(page);
  reads.of(2);
  strictEqual(reads.of(1), true);
  reads.of(2);
  deepStrictEqual([2, 1, 0].map((page) => reads.of(page)), [true, true, false]);
  strictEqual(reads.pages.bytes, 2 * ENTRY);
});

Deno.test("a page larger than all the room is not kept, and nothing is once it gave way", () => {
  const none = new Reads(0);
  deepStrictEqual([1, 1, 1].map((page) => none.of(page)), [false, false, false]);
  const reads = new Reads(2);
  for (const page of [0, 0]) reads.of(page);
  reads.pages.giveWay();
  strictEqual(reads.pages.bytes, 0);
  strictEqual(reads.of(0), false);
});
