import assert from "node:assert/strict";
import { isOperatingError, messageOf, OperatingError, rootCauseOf } from "./errors.ts";

/**
 * HTTP statuses of docs/api/ingest.md#statuses and gRPC codes of
 * docs/clients.md#what-otlp-asks-of-a-server, by code.
 */
const STATUSES = [
  ["invalid_argument", 400, 3],
  ["unauthenticated", 401, 16],
  ["permission_denied", 403, 7],
  ["not_found", 404, 5],
  ["conflict", 409, 6],
  ["too_large", 413, 8],
  ["unprocessable", 422, 3],
  ["rate_limited", 429, 14],
  ["internal", 500, 13],
  ["unimplemented", 501, 12],
  ["unavailable", 503, 14],
  ["deadline_exceeded", 504, 4],
] as const;

Deno.test({
  name: "OperatingError: each code has the status that senders expect",
  fn() {
    for (const [code, http, grpc] of STATUSES) {
      const error = new OperatingError(code, "tried");
      assert.deepEqual([error.httpStatus, error.grpcStatus], [http, grpc], code);
    }
  },
});

Deno.test({
  name: "isOperatingError: tells ours from others, and one code from another",
  fn() {
    const error = new OperatingError("conflict", "tried", { cause: new Error("why") });
    assert.equal(isOperatingError(error), true);
    assert.equal(isOperatingError(error, "conflict"), true);
    assert.equal(isOperatingError(error, "internal"), false);
    assert.equal(isOperatingError(new Error("x")), false);
    assert.equal(messageOf(error.cause), "why");
    assert.equal(messageOf("text"), "text");
  },
});

Deno.test({
  name: "rootCauseOf: the innermost error, and whatever has no cause itself",
  fn() {
    const root = new Error("name or service not known", { cause: "no error" });
    const failed = new TypeError("fetch failed", {
      cause: new Error("client error", { cause: root }),
    });
    assert.equal(rootCauseOf(failed), root);
    assert.equal(rootCauseOf(root), root);
    assert.equal(rootCauseOf("text"), "text");
  },
});
