import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { textOf, utf8 } from "../base/bytes.ts";
import { present } from "../base/assert.ts";
import { MemoryStore } from "../testing/memory_store.ts";
import { readBlob, readSidecar, sidecarKey, withSidecars, writeSidecar } from "./sidecar.ts";

const KEY = "svc/events-1/data/timestamp_day=2026-11-21/abc.parquet";
const SUBJECT = { key: KEY, rows: 3 };
const BLOBS = [{ type: "a-v1", fields: [8], data: utf8("0123456789") }];

Deno.test("sidecarKey lies beside the data folder, also of files of other writers", () => {
  const table: [dataKey: string, sidecar: string][] = [
    [KEY, "svc/events-1/derived/abc.puffin"],
    ["svc/t-1/data/00000-0-x.parquet", "svc/t-1/derived/00000-0-x.puffin"],
    ["svc/t-1/data/a=1/b=2/x.parquet", "svc/t-1/derived/x.puffin"],
    ["elsewhere/x.parquet", "elsewhere/x.parquet.puffin"],
  ];
  for (const [dataKey, sidecar] of table) {
    assert.equal(sidecarKey(dataKey), sidecar);
    assert.deepEqual(withSidecars([dataKey]), [dataKey, sidecar]);
  }
});

Deno.test("readSidecar finds the blobs, whole and in part, also behind a long footer", async () => {
  const store = new MemoryStore();
  const properties = Object.fromEntries(
    Array.from(
      { length: 500 },
      (_, at) => [`property-${at}`, "of some length, so that it adds up"],
    ),
  );
  const long = [{ ...present(BLOBS[0]), properties }];
  for (const blobs of [BLOBS, long]) {
    await store.delete([sidecarKey(KEY)]);
    await store.putNew(sidecarKey(KEY), writeSidecar(blobs, SUBJECT));
    const sidecar = present(await readSidecar(store, SUBJECT));
    const place = present(sidecar.blobs[0]);
    assert.equal(textOf(await readBlob(store, sidecar, { place })), "0123456789");
    const part = { offset: 3, length: 4 };
    assert.equal(textOf(await readBlob(store, sidecar, { place, part })), "3456");
  }
});

Deno.test("readSidecar of a file without one is undefined", async () => {
  assert.equal(await readSidecar(new MemoryStore(), SUBJECT), undefined);
});

Deno.test("readSidecar refuses one that is of other rows", async () => {
  const table = [{ key: KEY.replace("abc", "other"), rows: 3 }, { key: KEY, rows: 4 }];
  for (const other of table) {
    const store = new MemoryStore();
    await store.putNew(sidecarKey(KEY), writeSidecar(BLOBS, other));
    await assert.rejects(
      readSidecar(store, SUBJECT),
      (error) => isOperatingError(error, "corrupt"),
    );
  }
});
