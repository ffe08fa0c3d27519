import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { warehousePlaceOf } from "./warehouse_url.ts";

Deno.test({
  name: "warehousePlaceOf takes file URLs, paths and S3",
  fn() {
    const table: [url: string, path: string][] = [
      ["file:///var/lib/svc", "/var/lib/svc"],
      ["FILE://localhost/a%20b", "/a b"],
      ["/var/lib/svc", "/var/lib/svc"],
      ["lake/house", "lake/house"],
      ["s3://bucket", "s3://bucket"],
      ["S3://bucket/a/b/", "s3://bucket/a/b"],
    ];
    for (const [url, path] of table) assert.equal(warehousePlaceOf(url), path, url);
  },
});

Deno.test({
  name: "warehousePlaceOf refuses other stores, without repeating what may be secret",
  fn() {
    for (const url of ["s3://key:hush@bucket/x", "gs://hush/x", "file://hush/share"]) {
      assert.throws(
        () => warehousePlaceOf(url),
        (error) => isOperatingError(error, "invalid_argument") && !error.message.includes("hush"),
        url,
      );
    }
  },
});
