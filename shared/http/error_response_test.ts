import assert from "node:assert/strict";
import { errorResponse } from "./error_response.ts";

Deno.test({
  name: "a disk that fails is answered with 503 disk_failure, without its path",
  async fn() {
    const failure = new Error("Input/output error (os error 5): read '/data/wal/a'");
    const response = errorResponse(failure);
    const { code, reason, error } = await response.json();
    assert.deepEqual([response.status, code, reason], [503, 503, "disk_failure"]);
    assert.equal(response.headers.get("retry-after"), "5");
    assert.doesNotMatch(error, /data/);
  },
});
