import assert from "node:assert/strict";
import { parseOptions } from "../config/parse_options.ts";
import { BROWSER_OPTIONS } from "./browser_options.ts";
import { browserRulesOf } from "./browser_rules.ts";
import { guardOrigin } from "./origin_guard.ts";

const URL = "http://localhost:8089/api/v1/sql";
const SHOP = "https://shop.example";
const ALLOW_ORIGIN = "access-control-allow-origin";

interface Guarded {
  readonly seen: string[];
  ask(init: RequestInit, url?: string): Promise<Response>;
}

function guarded(...flags: string[]): Guarded {
  const rules = browserRulesOf(parseOptions(BROWSER_OPTIONS, flags), {
    hostname: "127.0.0.1",
    isOpen: true,
  });
  const seen: string[] = [];
  const handler = guardOrigin((request: Request, _: undefined) => {
    seen.push(request.method);
    return new Response("rows", { headers: { vary: "Accept" } });
  }, rules);
  return {
    seen,
    ask: async (init, url = URL) => await handler(new Request(url, init), undefined),
  };
}

Deno.test({
  name: "guardOrigin keeps every method of a foreign page from the handler, and reads its body",
  async fn() {
    const { ask, seen } = guarded();
    for (const method of ["GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]) {
      for (const headers of [{ origin: SHOP }, { "sec-fetch-site": "cross-site" }]) {
        let wasRead = false;
        const body = ["GET", "HEAD"].includes(method) ? null : new ReadableStream({
          pull(controller) {
            wasRead = true;
            controller.close();
          },
        }, { highWaterMark: 0 });
        const response = await ask({ method, headers, body });
        assert.equal(response.status, 403, method);
        assert.equal(wasRead, body !== null, method);
        assert.deepEqual([...response.headers.keys()].sort(), ["content-length", "content-type"]);
        assert.equal((await response.json()).reason, "foreign_origin");
      }
    }
    const rebound = await ask({}, "http://evil.example:8089/api/v1/jobs");
    assert.equal((await rebound.json()).reason, "foreign_host");
    assert.deepEqual(seen, []);
  },
});

Deno.test({
  name: "guardOrigin leaves programs' answers as they are",
  async fn() {
    const { ask, seen } = guarded();
    const response = await ask({ method: "POST", body: "{}" });
    assert.equal(await response.text(), "rows");
    assert.equal(response.headers.get("vary"), "Accept");
    assert.equal(response.headers.has(ALLOW_ORIGIN), false);
    assert.deepEqual(seen, ["POST"]);
  },
});

Deno.test({
  name: "guardOrigin lets a listed origin read, after a preflight that the handler never sees",
  async fn() {
    const { ask, seen } = guarded("--cors-origins", SHOP);
    const preflight = await ask({
      method: "OPTIONS",
      headers: {
        origin: SHOP,
        "sec-fetch-site": "cross-site",
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
      },
    });
    assert.equal(preflight.status, 204);
    assert.equal(preflight.headers.get(ALLOW_ORIGIN), SHOP);
    assert.match(preflight.headers.get("access-control-allow-methods") ?? "", /\bDELETE\b/);
    const allowed = preflight.headers.get("access-control-allow-headers");
    assert.equal(allowed, "authorization,content-type");
    assert.match(preflight.headers.get("vary") ?? "", /^Origin, /);
    assert.deepEqual(seen, []);

    const response = await ask({ method: "POST", headers: { origin: SHOP }, body: "{}" });
    assert.equal(await response.text(), "rows");
    assert.equal(response.headers.get(ALLOW_ORIGIN), SHOP);
    assert.match(response.headers.get("access-control-expose-headers") ?? "", /retry-after/);
    assert.equal(response.headers.get("vary"), "Accept, Origin");

    const options = await ask({ method: "OPTIONS", headers: { origin: SHOP } });
    assert.equal(options.headers.get(ALLOW_ORIGIN), SHOP, "no preflight, the handler's to answer");
    assert.deepEqual(seen, ["POST", "OPTIONS"]);
  },
});

Deno.test({
  name: "guardOrigin: where an origin is listed, what others get varies by it and names none",
  async fn() {
    const { ask } = guarded("--cors-origins", SHOP);
    const evil = "https://evil.example";
    const preflight = { origin: evil, "access-control-request-method": "POST" };
    const inits: RequestInit[] = [
      {},
      { headers: { origin: evil } },
      { method: "OPTIONS", headers: preflight },
    ];
    for (const init of inits) {
      const { headers } = await ask(init);
      assert.match(headers.get("vary") ?? "", /\bOrigin$/);
      assert.equal([...headers.keys()].some((name) => name.startsWith("access-control")), false);
    }
  },
});

Deno.test({
  name: "guardOrigin lets links of other sites lead to pages, and to nothing else",
  async fn() {
    const rules = browserRulesOf(parseOptions(BROWSER_OPTIONS, []), {
      hostname: "127.0.0.1",
      isOpen: true,
    });
    const handler = guardOrigin((_: Request, __: undefined) => new Response("page"), rules, {
      mayVisit: ({ url }) => url.includes("/ui/"),
    });
    const visit = {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
      "sec-fetch-dest": "document",
    };
    const page = "http://localhost:8089/ui/sql?query=x";
    const cases: readonly (readonly [number, string, RequestInit])[] = [
      [200, page, { headers: visit }],
      [403, URL, { headers: visit }],
      [403, page, { headers: visit, method: "POST" }],
      [403, page, { headers: { ...visit, "sec-fetch-dest": "iframe" } }],
      [403, page, { headers: { ...visit, "sec-fetch-mode": "no-cors" } }],
      [403, page, { headers: { ...visit, origin: SHOP } }],
      [403, page.replace("localhost", "evil.example"), { headers: visit }],
    ];
    for (const [status, url, init] of cases) {
      const answer = await handler(new Request(url, init), undefined);
      assert.equal(answer.status, status, `${url} ${JSON.stringify(init)}`);
      await answer.body?.cancel();
    }
  },
});
