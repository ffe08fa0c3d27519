import assert from "node:assert/strict";
import { ROUTES } from "./routes.ts";
import { startTestServer } from "../tests/doubles/query_server.ts";

const BODY = '{"query":"SELECT 1","index_id":"events","predicate_sql":"true"}';

Deno.test({
  name: "every route that takes a body takes application/json alone, whatever its parameters",
  async fn() {
    await using server = await startTestServer({ rows: [1] });
    const routes = ROUTES.filter(({ method }) => method === "POST" || method === "PUT");
    assert.ok(routes.length >= 9);
    for (const { method, path } of routes) {
      const ask = async (type: string | undefined) => {
        const headers: HeadersInit = type === undefined ? {} : { "content-type": type };
        // Bytes: a text would bring a type of its own.
        const body = new TextEncoder().encode(BODY);
        const response = await fetch(`${server.url}${path}`, { method, headers, body });
        return { status: response.status, text: await response.text() };
      };
      const refused = [
        undefined,
        ...["text/plain", "text/plain;charset=UTF-8", "application/x-www-form-urlencoded"],
        ...["multipart/form-data; boundary=x", "text/json", "application/jsonp"],
        ...["text/plain; application/json", "application/x-ndjson", ", application/json"],
      ];
      for (const type of refused) {
        const { status, text } = await ask(type);
        assert.equal(status, 415, `${method} ${path} as ${type}: ${text}`);
        assert.equal(JSON.parse(text).reason, "unsupported_content_type");
      }
      for (const type of ["application/json", "Application/JSON ;charset=utf-8"]) {
        const { status, text } = await ask(type);
        assert.notEqual(status, 415, `${method} ${path} as ${type}: ${text}`);
      }
    }
  },
});
