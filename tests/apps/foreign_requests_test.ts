/**
 * Requests as browsers send them for pages of other origins and under other names, at every
 * listener of every role.
 */

import assert from "node:assert/strict";
import { framed, GrpcConnection } from "../clients/grpc_call.ts";
import { askWith } from "./raw_connection.ts";
import { Stack } from "./stack.ts";

interface Case {
  readonly what: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Undefined: whatever the route answers, as it answers programs. */
  readonly reason?: "foreign_origin" | "foreign_host";
}

const HERE = { host: "localhost" };
const SHOP = "https://shop.example";

const CASES: readonly Case[] = [
  { what: "a program", headers: HERE },
  { what: "a program, to an address", headers: { host: "127.0.0.1:80" } },
  { what: "a listed name", headers: { host: "logs.example" } },
  { what: "its own page", headers: { ...HERE, origin: "http://localhost" } },
  { what: "its own page's GET", headers: { ...HERE, "sec-fetch-site": "same-origin" } },
  { what: "the address bar", headers: { ...HERE, "sec-fetch-site": "none" } },
  { what: "a listed origin", headers: { ...HERE, origin: SHOP, "sec-fetch-site": "cross-site" } },
  {
    what: "a foreign origin",
    headers: { ...HERE, origin: "https://evil.example" },
    reason: "foreign_origin",
  },
  { what: "no origin", headers: { ...HERE, origin: "null" }, reason: "foreign_origin" },
  {
    what: "a foreign site",
    headers: { ...HERE, "sec-fetch-site": "cross-site" },
    reason: "foreign_origin",
  },
  {
    what: "a neighbour",
    headers: { ...HERE, "sec-fetch-site": "same-site" },
    reason: "foreign_origin",
  },
  { what: "a rebound name", headers: { host: "evil.example" }, reason: "foreign_host" },
  {
    what: "a rebound name's own page",
    headers: {
      host: "evil.example",
      origin: "http://evil.example",
      "sec-fetch-site": "same-origin",
    },
    reason: "foreign_host",
  },
];

/** One path that each listener has, one that it does not have, and its probe. */
const PATHS = ["/metrics", "/healthz", "/api/v1/jobs", "/api/v1/stream?", "/v1/logs", "/none"];
const METHODS = ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"];

Deno.test({
  name:
    "every listener of every role answers foreign pages and rebound names with 403, programs as ever",
  async fn(t) {
    const flags = ["--cors-origins", SHOP, "--allowed-hosts", "logs.example"];
    await using stack = await Stack.start({
      env: { SVC_CORS_ORIGINS: SHOP, SVC_ALLOWED_HOSTS: "logs.example" },
      ingestArgs: flags,
    });
    const urls = [
      ...[stack.ingestUrl, stack.queryUrl, stack.ingestMetricsUrl],
      ...[stack.compactorMetricsUrl, stack.queryMetricsUrl],
    ];
    for (const url of urls) {
      const port = Number(new URL(url).port);
      for (const { what, headers, reason } of CASES) {
        await t.step(`${url.replace(/:\d+/, "")} ${urls.indexOf(url)}: ${what}`, async () => {
          for (const method of reason === undefined ? ["GET"] : METHODS) {
            for (const path of PATHS.filter((one) => reason !== undefined || !one.endsWith("?"))) {
              const { status, body } = await askWith(port, { method, path, headers });
              if (reason === undefined) {
                assert.notEqual(status, 403, `${path}: ${body}`);
                if (path === "/healthz") assert.equal(status, 200);
              } else {
                assert.equal(status, 403, `${method} ${path}: ${body}`);
                if (method !== "HEAD") assert.equal(JSON.parse(body).reason, reason);
              }
            }
          }
        });
      }
    }
    await t.step("OTLP/gRPC", async () => {
      await using connection = new GrpcConnection(stack.grpcTarget);
      for (const { what, headers: { host = "", ...metadata }, reason } of CASES) {
        const { code, errorInfo } = await connection.call({
          metadata: { ":authority": host, ...metadata },
          wire: framed(new Uint8Array()),
        });
        assert.equal(code, reason === undefined ? 0 : 7, what);
        if (reason !== undefined) assert.match(errorInfo ?? "", new RegExp(reason, "i"), what);
      }
    });
  },
});
