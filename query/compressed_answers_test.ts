/** Answers of the real server to clients that ask for gzip, and to clients that do not. */

import assert from "node:assert/strict";
import { gunzipSync } from "node:zlib";
import { type IncomingMessage, request } from "node:http";
import { concatBytes } from "../shared/base/bytes.ts";
import { parseOptions } from "../shared/config/parse_options.ts";
import { IN_THIS_PROCESS } from "../shared/testing/in_this_process.ts";
import { ONE_DUCKDB } from "../shared/testing/one_duckdb.ts";
import { until } from "../shared/testing/until.ts";
import { WarehouseLab } from "../shared/testing/warehouse_lab.ts";
import { OPTIONS, startQuery } from "./mod.ts";

const FIRST_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const ROWS = 3_000;
const SELECT = "SELECT * FROM events ORDER BY timestamp";

/** The answer as it came: `node:http` decodes nothing. */
async function ask(
  url: string,
  { body, accepts }: { readonly body?: unknown; readonly accepts?: string },
): Promise<{ readonly headers: IncomingMessage["headers"]; readonly bytes: Uint8Array }> {
  const { promise, resolve, reject } = Promise.withResolvers<IncomingMessage>();
  const sent = request(url, {
    method: body === undefined ? "GET" : "POST",
    headers: {
      "content-type": "application/json",
      ...(accepts === undefined ? {} : { "accept-encoding": accepts }),
    },
  }, resolve).on("error", reject);
  sent.end(body === undefined ? undefined : JSON.stringify(body));
  const response = await promise;
  const parts: Uint8Array[] = [];
  for await (const part of response) parts.push(part);
  return { headers: response.headers, bytes: concatBytes(parts) };
}

/** Statements in each format, and routes of each kind; whether their answers are compressed. */
const ASKED: [path: string, body: unknown, isCompressed: boolean][] = [
  ["/api/v1/sql", { query: SELECT }, true],
  ["/api/v1/sql", { query: SELECT, format: "ndjson" }, true],
  ["/api/v1/sql", { query: SELECT, format: "csv" }, true],
  ["/api/v1/sql", { query: SELECT, format: "arrow" }, true],
  ["/api/v1/sql", { query: SELECT, format: "parquet" }, false],
  ["/api/v1/sql", { query: "SELECT 1 AS one" }, false],
  ["/api/v1/tables/events", undefined, true],
  ["/iceberg/v1/namespaces/svc/tables/events", undefined, true],
  ["/api/v1/fields?table=events", undefined, true],
  ["/healthz", undefined, false],
];

Deno.test({
  name: "a client that asks for gzip has its answers so, and they are what others have",
  async fn(t) {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.commit(
      Array.from({ length: ROWS }, (_, n) => ({
        ns: FIRST_NS + BigInt(n) * 1_000_000n,
        raw: `request ${n} was answered in ${n % 97} ms`,
      })),
    );
    await using server = await startQuery(
      parseOptions(OPTIONS, [
        ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--threads", "2"],
        ...[...ONE_DUCKDB, "--audit-disabled"],
        ...["--data-dir", lab.dir, "--query-wal-buffer-dir", `${lab.dir}/wal`],
      ]),
      IN_THIS_PROCESS,
    );
    const origin = `http://127.0.0.1:${server.address.port}`;
    for (const [path, body, isCompressed] of ASKED) {
      await t.step(`${path} ${JSON.stringify(body) ?? ""}`, async () => {
        const [plain, asked] = [
          await ask(origin + path, { body }),
          await ask(origin + path, { body, accepts: "gzip, deflate" }),
        ];
        assert.equal(plain.headers["content-encoding"], undefined);
        assert.equal(asked.headers["content-encoding"], isCompressed ? "gzip" : undefined);
        const bytes = isCompressed ? gunzipSync(asked.bytes) : asked.bytes;
        assert.equal(withoutTimes(bytes), withoutTimes(plain.bytes));
        if (!isCompressed) return;
        assert.equal(asked.headers.vary, "accept-encoding");
        assert.ok(asked.bytes.byteLength < plain.bytes.byteLength);
      });
    }
    await t.step("/metrics", async () => {
      const { hostname, port } = server.metricsAddress;
      const url = `http://${hostname}:${port}/metrics`;
      const { headers, bytes } = await ask(url, { accepts: "gzip" });
      assert.equal(headers["content-encoding"], "gzip");
      assert.match(new TextDecoder().decode(gunzipSync(bytes)), /^# HELP svc_/m);
    });
    await t.step("rows of a tail arrive while it goes on", async () => {
      const answer = await fetch(`${origin}/api/v1/tail?table=events`);
      assert.equal(answer.headers.get("content-encoding"), "gzip");
      let heard = "";
      const hearing = answer.body?.pipeThrough(new TextDecoderStream())
        .pipeTo(new WritableStream({ write: (text) => void (heard += text) }))
        .catch(() => {});
      await until(() => heard.includes("event: rows"));
      for (const raw of ["first live row", "second live row"]) {
        await lab.append([{ ns: BigInt(Date.now()) * 1_000_000n, raw }]);
        await until(() => heard.includes(raw));
      }
      await server.stop();
      await hearing;
    });
  },
});

/** What two answers to the same question may differ in. */
function withoutTimes(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes)
    .replaceAll(/"[a-z_]*(?:micros|bytes_scanned|seconds|at)":[^,}]+/g, "");
}
