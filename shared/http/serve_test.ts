import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import { withDeadline } from "../base/with_deadline.ts";
import { formatListenAddress, parseListenAddress } from "./listen_address.ts";
import { pulledResponse } from "./pulled_response.ts";
import { serve } from "./serve.ts";

const ADDRESSES: [text: string, hostname: string, port: number, formatted: string][] = [
  ["0.0.0.0:8088", "0.0.0.0", 8088, "0.0.0.0:8088"],
  ["127.0.0.1:0", "127.0.0.1", 0, "127.0.0.1:0"],
  ["localhost:65535", "localhost", 65535, "localhost:65535"],
  ["[::1]:80", "::1", 80, "[::1]:80"],
  [":9100", "0.0.0.0", 9100, "0.0.0.0:9100"],
];

for (const [text, hostname, port, formatted] of ADDRESSES) {
  Deno.test({
    name: `parseListenAddress reads ${text}`,
    fn: () => {
      assert.deepEqual(parseListenAddress(text), { hostname, port });
      assert.equal(formatListenAddress({ hostname, port }), formatted);
    },
  });
}

for (const text of ["", "8088", "host", "host:", "host:65536", "::1:80", "http://x:80", "a b:80"]) {
  Deno.test({
    name: `parseListenAddress refuses ${JSON.stringify(text)} naming it and the option`,
    fn: () => {
      assert.throws(
        () => parseListenAddress(text, "--bind"),
        (error) =>
          isOperatingError(error, "invalid_argument") &&
          error.message.includes(JSON.stringify(text)) && error.message.includes("--bind"),
      );
    },
  });
}

Deno.test({
  name: "serve names address and option when the port is in use",
  fn: async () => {
    const handler = () => new Response("ok");
    await using first = serve({ hostname: "127.0.0.1", port: 0, handler });
    const { port } = first.address;
    assert.throws(
      () => serve({ hostname: "127.0.0.1", port, handler, option: "--bind" }),
      (error) =>
        isOperatingError(error, "unavailable") && error.message.includes(`127.0.0.1:${port}`) &&
        error.message.includes("in use") && error.message.includes("--bind"),
    );
  },
});

Deno.test({
  name: "serve refuses an address that this machine does not have",
  fn: () => {
    const handler = () => new Response("ok");
    assert.throws(
      () => serve({ hostname: "192.0.2.1", port: 0, handler, option: "--bind" }),
      (error) =>
        isOperatingError(error, "invalid_argument") && /192\.0\.2\.1:0/.test(error.message),
    );
  },
});

Deno.test({
  name: "stop lets a request in flight finish and refuses new connections",
  fn: async () => {
    const started = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const server = serve({
      hostname: "127.0.0.1",
      port: 0,
      handler: async () => {
        started.resolve();
        await release.promise;
        return new Response("done");
      },
    });
    const url = `http://127.0.0.1:${server.address.port}/`;
    const inFlight = fetch(url);
    await started.promise;
    const stopping = server.stop();
    await assert.rejects(fetch(url));
    release.resolve();
    assert.equal(await (await inFlight).text(), "done");
    assert.equal(await stopping, true);
    await server.finished;
  },
});

Deno.test({
  name: "stop cuts a request that outlasts stopMsMax, and tells",
  fn: async () => {
    const started = Promise.withResolvers<void>();
    const release = Promise.withResolvers<void>();
    const server = serve({
      hostname: "127.0.0.1",
      port: 0,
      stopMsMax: 100,
      handler: async () => {
        started.resolve();
        await release.promise;
        return new Response("too late");
      },
    });
    const inFlight = fetch(`http://127.0.0.1:${server.address.port}/`);
    await started.promise;
    const isCut = assert.rejects(inFlight, TypeError);
    assert.equal(await server.stop(), false);
    await isCut;
    await server.finished;
    release.resolve();
  },
});

Deno.test({
  name: "pulledResponse pulls only what the client takes, and ends the work when it leaves",
  fn: async () => {
    let made = 0;
    let ended = false;
    async function* lines() {
      try {
        for (;;) {
          made += 1;
          yield `{"n":${made}}\n`;
          await Promise.resolve();
        }
      } finally {
        ended = true;
      }
    }
    const response = pulledResponse(lines(), {
      headers: { "content-type": "application/x-ndjson" },
    });
    assert.equal(response.headers.get("content-type"), "application/x-ndjson");
    const reader = response.body?.getReader();
    const first = await reader?.read();
    assert.equal(new TextDecoder().decode(first?.value), '{"n":1}\n');
    await new Promise((resolve) => setTimeout(resolve, 20));
    assert.ok(made <= 3, `made ${made} lines for one read`);
    await reader?.cancel();
    assert.equal(ended, true);
  },
});

Deno.test({
  name:
    "withDeadline returns the result in time, else throws naming what was late and aborts the work",
  fn: async () => {
    const options = { msMax: 20, what: "the query did not finish" };
    assert.equal(await withDeadline(options, () => Promise.resolve(7)), 7);
    let aborted = false;
    await assert.rejects(
      withDeadline(
        options,
        ({ signal }) =>
          new Promise((resolve) =>
            signal.addEventListener("abort", () => {
              aborted = true;
              resolve(undefined);
            })
          ),
      ),
      { code: "deadline_exceeded", message: "the query did not finish within 20 ms" },
    );
    assert.equal(aborted, true);
  },
});
