import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { warehousePathOf } from "./warehouse_url.ts";

Deno.test({
  name: "warehousePathOf takes file URLs and paths",
  fn() {
    const table: [url: string, path: string][] = [
      ["file:///var/lib/svc", "/var/lib/svc"],
      ["FILE://localhost/a%20b", "/a b"],
      ["/var/lib/svc", "/var/lib/svc"],
      ["lake/house", "lake/house"],
    ];
    for (const [url, path] of table) assert.equal(warehousePathOf(url), path, url);
  },
});

Deno.test({
  name: "warehousePathOf refuses other stores, without repeating what may be secret",
  fn() {
    for (const url of ["s3://key:hush@bucket/x", "gs://hush/x", "file://hush/share"]) {
      assert.throws(
        () => warehousePathOf(url),
        (error) => isOperatingError(error, "invalid_argument") && !error.message.includes("hush"),
        url,
      );
    }
  },
});
