import assert from "node:assert/strict";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { isOperatingError, type OperatingError } from "../base/errors.ts";
import { SystemClock } from "../os/clock.ts";
import { DenoFileSystem } from "../os/deno_file_system.ts";
import { FakeClock } from "../testing/fake_clock.ts";
import { OBJECT_STORE_CASES } from "../testing/object_store_conformance.ts";
import { type S3Fault, S3Process } from "../testing/s3_process.ts";
import { TcpProxy } from "../testing/tcp_proxy.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { SleeplessClock } from "../testing/sleepless_clock.ts";
import { MemoryStore } from "../testing/memory_store.ts";
import { openStore } from "./open_store.ts";
import { RetryingStore } from "./retrying_store.ts";
import { isS3Url, parseS3Url, s3AccessOf, s3Services } from "./s3_settings.ts";
import { openS3Store } from "./s3_store.ts";
import { type S3Target, ThreadedUploads } from "./threaded_uploads.ts";

Deno.test({
  name: "S3Store keeps the promises of an object store",
  async fn(t) {
    await using s3 = await S3Process.start();
    let at = 0;
    for (const { name, run } of OBJECT_STORE_CASES) {
      await t.step(name, async () => await run(openS3Store(s3.place(`case/${at++}`), s3.access)));
    }
    await t.step("list goes through many pages, in order", async () => {
      const store = openS3Store(s3.place("pages"), s3.access, { pageKeysMax: 10 });
      const keys = Array.from({ length: 45 }, (_, i) => `k/${String(i).padStart(5, "0")}`);
      await Promise.all(keys.map((key) => store.putNew(key, new Uint8Array(1))));
      const before = s3.requests.length;
      const listed = await Array.fromAsync(store.list("k/"), ({ key }) => key);
      assert.deepEqual(listed, keys);
      assert.equal(s3.requests.length - before, 5, "pages of ten");
      // The server fails when two deletions leave a folder empty at a time; that passes.
      const deps = { clock: new SleeplessClock(), random: new SeededRandom(1) };
      await new RetryingStore(store, deps).delete(keys);
      assert.deepEqual(await Array.fromAsync(store.list("")), []);
    });
    await t.step("a large object goes in parts and comes back whole", async () => {
      const options = { partBytesMax: 5 * 1024 * 1024 };
      const store = openS3Store(s3.place("parts"), s3.access, options);
      const bytes = Uint8Array.from({ length: 13 * 1024 * 1024 }, (_, i) => (i * 31) >> 3);
      const before = s3.requests.length;
      await store.putNew("large", bytes);
      assert.equal(s3.requests.length - before, 5, "begin, three parts, end");
      assert.equal(digestOf(await store.get("large")), digestOf(bytes));
      await assert.rejects(store.putNew("large", bytes), { code: "conflict" });
    });
    await t.step("no other part follows one that failed", async () => {
      const store = openS3Store(s3.place("parts"), s3.access, { partBytesMax: 1024 * 1024 });
      const bytes = new Uint8Array(24 * 1024 * 1024);
      const before = s3.requests.length;
      s3.faultOf = ({ path, query }) =>
        path.endsWith("/failed") && query.get("partNumber") === "1"
          ? { status: 500, code: "InternalError" }
          : undefined;
      await assert.rejects(store.putNew("failed", bytes), { code: "unavailable" });
      // This takes longer than the parts that would follow.
      await store.putNew("next", bytes).catch(() => {});
      s3.faultOf = () => undefined;
      const parts = s3.requests.slice(before).filter(({ path, query }) =>
        path.endsWith("/failed") && query.has("partNumber")
      );
      assert.ok(parts.length <= 8, `${parts.length} of 24 parts were sent`);
    });
  },
});

Deno.test({
  name: "a store in S3 that sends by a thread of its own keeps them, too",
  async fn(t) {
    await using s3 = await S3Process.start();
    const deps = {
      ...{ clock: new SystemClock(), random: new SeededRandom(2), files: new DenoFileSystem() },
      env: (name: string) => s3.environment[name],
    };
    let at = 0;
    for (const { name, run } of OBJECT_STORE_CASES) {
      await t.step(name, async () => {
        const place = `s3://warehouse/beside/${at++}`;
        const { store, sender } = openStore(place, deps, { sendsBeside: true });
        using _sender = sender;
        await run(store);
      });
    }
    await t.step("an upload that fails says what, why and when to come again", async () => {
      const { store, sender } = openStore("s3://nowhere/beside", deps, { sendsBeside: true });
      using _sender = sender;
      await assert.rejects(store.putNew("a", new Uint8Array(1)), {
        name: "OperatingError",
        code: "invalid_argument",
        reason: "no_bucket",
        message: /^Cannot write a: .*create the bucket/,
        place: /^s3:\/\/nowhere\/beside at http/,
      });
    });
  },
});

Deno.test({
  name: "a store in S3 sends by itself where it has no permission to start a thread",
  permissions: { read: false },
  async fn() {
    const memory = new MemoryStore();
    const to: S3Target = [parseS3Url("s3://warehouse"), s3AccessOf(() => "https://x")];
    using store = new ThreadedUploads("s3://warehouse", () => Promise.resolve(memory), to);
    await store.putNew("a", new Uint8Array([1]));
    assert.deepEqual(await memory.get("a"), new Uint8Array([1]));
  },
});

/** A digest to compare by: a difference of 13 MiB would be printed. */
function digestOf(bytes: Uint8Array): number {
  return bytes.reduce((sum, byte) => (Math.imul(sum, 31) + byte) | 0, bytes.byteLength);
}

const ANSWERS: [fault: S3Fault, code: string, reason: string | undefined, message: RegExp][] = [
  [
    { status: 403, code: "AccessDenied" },
    "permission_denied",
    "access_denied",
    /AWS_ACCESS_KEY_ID/,
  ],
  [
    { status: 403, code: "SignatureDoesNotMatch" },
    "permission_denied",
    "access_denied",
    /check AWS/,
  ],
  [{ status: 404, code: "NoSuchBucket" }, "invalid_argument", "no_bucket", /create the bucket/],
  [{ status: 404, code: "NoSuchKey" }, "not_found", undefined, /read a\/b: NoSuchKey$/],
  [
    { status: 400, code: "AuthorizationHeaderMalformed" },
    "invalid_argument",
    "wrong_region",
    /AWS_REGION/,
  ],
  [
    { status: 403, code: "RequestTimeTooSkewed" },
    "permission_denied",
    "access_denied",
    /this machine's clock/,
  ],
  [{ status: 503, code: "SlowDown" }, "unavailable", "throttled", /fewer requests/],
  [
    { status: 500, code: "InternalError" },
    "unavailable",
    "object_store_unavailable",
    /InternalError/,
  ],
  [
    "reset",
    "unavailable",
    "object_store_unavailable",
    /check that the store \(AWS_ENDPOINT_URL\) runs/,
  ],
  ["half", "unavailable", "object_store_unavailable", /read a\/b: /],
];

Deno.test({
  name: "S3Store names object, cause and remedy of each failure, and no secret",
  async fn(t) {
    await using s3 = await S3Process.start();
    const store = openS3Store(s3.place("faults"), s3.access);
    await store.putNew("a/b", new Uint8Array(1_000));
    for (const [fault, code, reason, message] of ANSWERS) {
      await t.step(JSON.stringify(fault), async () => {
        s3.faultOf = () => fault;
        const error = await failureOf(store.get("a/b"));
        s3.faultOf = () => undefined;
        assert.deepEqual([error.code, error.reason], [code, reason]);
        assert.match(error.message, message);
        assert.doesNotMatch(error.message, /S3RVER|127\.0\.0\.1|warehouse\/|s3:/);
        assert.ok(error.place?.startsWith(`s3://warehouse/faults at ${s3.access.endpoint}`));
      });
    }
  },
});

Deno.test({
  name: "S3Store says what is wrong with a service that is not there, and with one that is silent",
  async fn() {
    await using s3 = await S3Process.start();
    const closed = { ...s3.access, endpoint: "http://127.0.0.1:1" };
    const refused = await failureOf(openS3Store(s3.place("x"), closed).get("k"));
    assert.deepEqual([refused.code, refused.retryAfterSecs], ["unavailable", 1]);
    assert.doesNotMatch(refused.message, /TypeError|127\.0\.0\.1/);
    assert.equal(refused.place, "s3://warehouse/x at http://127.0.0.1:1");
    s3.delayMs = 500;
    const hasty = openS3Store(s3.place("x"), s3.access, { requestMsMax: 300 });
    assert.equal((await failureOf(hasty.get("k"))).code, "unavailable");
    s3.delayMs = 0;
    await openS3Store(s3.place("x"), s3.access).putNew("k", new Uint8Array(1_000));
    s3.faultOf = () => "stall";
    // Time enough for the beginning of an answer on a busy machine.
    const store = openS3Store(s3.place("x"), s3.access, { requestMsMax: 1_000 });
    const reads = [
      store.get("k"),
      store.getRange("k", 1, 900),
      Array.fromAsync(store.list("")),
    ];
    const failures = reads.map(failureOf);
    await until(() => s3.stalling === reads.length);
    collectGarbage();
    await until(() => s3.stalling === 0);
    for (const { code, message } of await Promise.all(failures)) {
      assert.equal(code, "unavailable");
      assert.match(message, /not answered in full within 1000 ms/);
    }
    const { code, reason, message } = await failureOf(
      openS3Store(s3.place("x"), s3.access, { silentMsMax: 200 }).get("k"),
    );
    assert.deepEqual([code, reason], ["unavailable", "object_store_silent"]);
    assert.match(message, /read k: the store did not answer for 200 ms/);
  },
});

/** What answers at an address that is none of S3, and what an operator is to hear. */
const STRANGERS: [name: string, answer: () => Response, reason: string, message: RegExp][] = [
  ["a page", () => new Response("hello"), "not_s3", /none of S3; check that the store \(/],
  [
    "a page that looks like a document",
    () => new Response("<html><body/></html>", { headers: { "content-type": "text/html" } }),
    "not_s3",
    /is none of S3/,
  ],
  ["a missing page", () => new Response("?", { status: 404 }), "not_s3", /404/],
  [
    "a redirection",
    () => new Response(null, { status: 301, headers: { location: "https://elsewhere/" } }),
    "not_s3",
    /the answer is 301, without a reason; check that the store \(/,
  ],
  [
    "a bucket of another region",
    () => new Response(null, { status: 301, headers: { "x-amz-bucket-region": "eu-west-1" } }),
    "wrong_region",
    /set AWS_REGION to eu-west-1/,
  ],
];

Deno.test({
  name: "S3Store takes no answer of a stranger for one of S3: nothing is stored, missing or empty",
  async fn(t) {
    let answer = STRANGERS[0]?.[1];
    await using stranger = Deno.serve(
      { hostname: "127.0.0.1", port: 0, onListen: () => {} },
      () => answer?.() ?? new Response(),
    );
    const store = openS3Store({ bucket: "warehouse", prefix: "x" }, {
      endpoint: `http://user:hush@127.0.0.1:${stranger.addr.port}`,
      region: "us-east-1",
      pathStyle: true,
      credentials: { accessKeyId: "id", secretAccessKey: "secret" },
    });
    for (const [name, give, reason, message] of STRANGERS) {
      await t.step(name, async () => {
        answer = give;
        const attempts: Record<string, () => Promise<unknown>> = {
          putNew: () => store.putNew("k", new Uint8Array(3)),
          get: () => store.get("k"),
          getRange: () => store.getRange("k", 1, 2),
          list: () => Array.fromAsync(store.list("")),
        };
        for (const [call, attempt] of Object.entries(attempts)) {
          const error = await failureOf(attempt());
          assert.equal(error.reason, reason, `${call}: ${error.message}`);
          assert.match(error.message, message, call);
          assert.doesNotMatch(error.message, /hush|Unknown|\n/, call);
        }
      });
    }
  },
});

async function until(condition: () => boolean): Promise<void> {
  for (let tries = 0; !condition(); tries += 1) {
    assert.ok(tries < 2_000, "not within ten seconds");
    await new Promise((resolve) => setTimeout(resolve, 5));
  }
}

/**
 * Collects garbage, as happens in every process that runs for long: nothing may rest on an object
 * that nobody holds.
 */
function collectGarbage(): void {
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
}

Deno.test({
  name: "RetryingStore comes through what passes, in bounded time, and knows its own write again",
  async fn(t) {
    await using s3 = await S3Process.start();
    const clock = new SleeplessClock();
    const deps = { clock, random: new SeededRandom(7) };
    const store = new RetryingStore(openS3Store(s3.place("retry"), s3.access), deps);
    const faults = (...list: (S3Fault | undefined)[]) => {
      s3.faultOf = () => list.shift();
    };
    await t.step("reads and lists through failures", async () => {
      await store.putNew("k", new Uint8Array([1, 2, 3]));
      faults("reset", { status: 500, code: "InternalError" }, { status: 503, code: "SlowDown" });
      assert.deepEqual(await store.get("k"), new Uint8Array([1, 2, 3]));
      faults("half");
      assert.deepEqual(await store.getRange("k", 1, 1), new Uint8Array([2]));
      faults({ status: 500, code: "InternalError" });
      assert.deepEqual(await Array.fromAsync(store.list(""), ({ key }) => key), ["k"]);
    });
    await t.step("a write whose answer was lost is stored once, and is no conflict", async () => {
      faults("half");
      await store.putNew("lost", new Uint8Array([7]));
      assert.deepEqual(await store.get("lost"), new Uint8Array([7]));
      faults("half");
      await assert.rejects(store.putNew("k", new Uint8Array([9])), { code: "conflict" });
    });
    await t.step("a write that an HTTP client repeated by itself is no conflict", async () => {
      await using proxy = TcpProxy.to(Number(new URL(s3.url).port));
      const endpoint = `http://127.0.0.1:${proxy.port}`;
      const cut = new RetryingStore(openS3Store(s3.place("cut"), { ...s3.access, endpoint }), deps);
      await cut.putNew("first", new Uint8Array(1));
      s3.faultOf = () => undefined;
      for (let at = 0; at < 10; at += 1) {
        proxy.trouble = "lose_answer";
        await cut.putNew(`lost-${at}`, new Uint8Array([at]));
      }
      assert.equal(proxy.troubles, 10);
      assert.deepEqual(await cut.get("lost-9"), new Uint8Array([9]));
      await assert.rejects(cut.putNew("lost-9", new Uint8Array([8])), { code: "conflict" });
    });
    await t.step("what will not pass is told at once", async () => {
      faults({ status: 403, code: "AccessDenied" });
      const before = s3.requests.length;
      await assert.rejects(store.get("k"), { code: "permission_denied" });
      assert.equal(s3.requests.length - before, 1);
    });
    await t.step("it gives up after three attempts without an answer", async () => {
      const silent = openS3Store(s3.place("retry"), s3.access, { silentMsMax: 100 });
      s3.faultOf = () => "stall";
      // Attempts, not requests: on a busy machine one may be given up before it is sent.
      let attempts = 0;
      const counted = new MemoryStore();
      counted.get = (key) => {
        attempts += 1;
        return silent.get(key);
      };
      const code = { code: "unavailable", reason: "object_store_silent" };
      await assert.rejects(new RetryingStore(counted, deps).get("k"), code);
      assert.equal(attempts, 3);
    });
    await t.step("it gives up after six attempts", async () => {
      s3.faultOf = () => ({ status: 500, code: "InternalError" });
      const before = s3.requests.length;
      await assert.rejects(store.get("k"), { code: "unavailable" });
      assert.equal(s3.requests.length - before, 6);
    });
  },
});

Deno.test({
  name: "RetryingStore pauses longer for a store that asks for fewer requests",
  async fn() {
    const clock = new FakeClock();
    await using s3 = await S3Process.start();
    const store = new RetryingStore(openS3Store(s3.place("slow"), s3.access), {
      clock,
      random: { bytes: () => new Uint8Array(), float: () => 0 },
    });
    let asked = 0;
    s3.faultOf = () => asked++ === 0 ? { status: 503, code: "SlowDown" } : undefined;
    const reading = store.head("k").catch((error) => error);
    while (clock.sleepers === 0) await new Promise((resolve) => setTimeout(resolve, 5));
    await clock.advance(499);
    assert.equal(asked, 1);
    await clock.advance(1);
    assert.ok(isOperatingError(await reading, "not_found"));
  },
});

const ENVIRONMENT = {
  AWS_ACCESS_KEY_ID: "id",
  AWS_SECRET_ACCESS_KEY: "secret",
  AWS_REGION: "eu-central-1",
};

Deno.test({
  name: "S3 settings come from the URL and the standard variables",
  fn() {
    const env = (more: Record<string, string>) => (name: string) =>
      ({ ...ENVIRONMENT, ...more } as Record<string, string>)[name];
    assert.equal(isS3Url("S3://b"), true);
    assert.equal(isS3Url("/s3://b"), false);
    assert.deepEqual(parseS3Url("s3://bucket/a/b/"), { bucket: "bucket", prefix: "a/b" });
    assert.deepEqual(parseS3Url("s3://bucket"), { bucket: "bucket", prefix: "" });
    for (const url of ["s3://", "s3://B/x", "s3://bucket/a//b", "s3://bucket/../x"]) {
      assert.throws(() => parseS3Url(url), {
        code: "invalid_argument",
        message: /s3:\/\/bucket\/path/,
      });
    }
    const amazon = s3AccessOf(env({}));
    assert.deepEqual(
      [amazon.endpoint, amazon.pathStyle],
      ["https://s3.eu-central-1.amazonaws.com", false],
    );
    const own = s3AccessOf(env({ AWS_ENDPOINT_URL: "http://h:9", AWS_SESSION_TOKEN: "t" }));
    assert.deepEqual(
      [own.endpoint, own.pathStyle, own.credentials.sessionToken],
      ["http://h:9", true, "t"],
    );
    const s3Only = { AWS_ENDPOINT_URL: "http://h:9", AWS_ENDPOINT_URL_S3: "http://s:1" };
    assert.equal(s3AccessOf(env(s3Only)).endpoint, "http://s:1");
    assert.throws(() => s3AccessOf(env({ AWS_SECRET_ACCESS_KEY: "" })), /AWS_SECRET_ACCESS_KEY/);
    assert.throws(() => s3AccessOf(env({ AWS_ENDPOINT_URL: "h:x" })), /AWS_ENDPOINT_URL/);
    assert.deepEqual(s3Services({ bucket: "b", prefix: "" }, env({})), [
      "https://b.s3.eu-central-1.amazonaws.com",
      "https://s3.eu-central-1.amazonaws.com",
    ]);
  },
});

async function failureOf(attempt: Promise<unknown>): Promise<OperatingError> {
  const error: unknown = await attempt.then(() => undefined, (thrown) => thrown);
  assert.ok(isOperatingError(error), String(error));
  return error;
}
