import assert from "node:assert/strict";
import { createClient } from "@redis/client";
import { configureLogging, resetLogging } from "../../shared/logging/logging.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { overBudget } from "../../shared/testing/rate_budget.ts";
import { REDIS_SERVER, RedisProcess } from "../../shared/testing/redis_process.ts";
import { RunningIngest } from "../../tests/clients/running_ingest.ts";
import { workspacePath } from "../../cli/permissions.ts";
import type { Rate } from "../../shared/auth/rate_limit_memory.ts";
import { RedisBuckets, requireRedisUrl } from "./rate_limit_redis.ts";

const ANSWER_MS = 250;
/** Where nothing may pass unchecked, however busy the machine is. */
const PATIENT_MS = 10_000;
/** What a loaded machine may add to a deadline. */
const SLACK_MS = 8_000;
const RETRY_MS = 50;
const UNCHECKED = "svc_ingest_rate_limit_unchecked_total";

class Replica implements AsyncDisposable {
  unchecked = 0;
  readonly #buckets: RedisBuckets;
  readonly #answerMsMax: number;

  constructor(url: string, rate: Rate, answerMsMax = ANSWER_MS) {
    this.#answerMsMax = answerMsMax;
    this.#buckets = new RedisBuckets(rate, {
      url,
      prefix: "test:rb",
      clock: new SystemClock(),
      onUnchecked: () => this.unchecked++,
      answerMsMax,
      retryMs: RETRY_MS,
    });
  }

  /** Once Redis is reached. */
  static async connected(url: string, rate: Rate, answerMsMax = ANSWER_MS): Promise<Replica> {
    const replica = new Replica(url, rate, answerMsMax);
    await replica.#buckets.started();
    return replica;
  }

  started(msMax: number): Promise<void> {
    return this.#buckets.started(msMax);
  }

  get awaySecs(): number {
    return this.#buckets.awaySecs;
  }

  async take(key = "k"): Promise<number> {
    const begunMs = performance.now();
    const waitMs = await this.#buckets.take(key);
    assert.ok(performance.now() - begunMs < this.#answerMsMax + SLACK_MS, "past the deadline");
    return waitMs;
  }

  /** How many of `count` at once get through. */
  async granted(count: number): Promise<number> {
    const waits = await Promise.all(Array.from({ length: count }, () => this.take()));
    return waits.filter((waitMs) => waitMs === 0).length;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.#buckets[Symbol.asyncDispose]();
  }
}

/** One request in a quarter of an hour, in the long run: no test lasts long enough for a refill. */
const SLOW: Rate = { perSec: 0.001, burst: 30 };

function redisTest(name: string, fn: () => Promise<void>): void {
  Deno.test({
    name: REDIS_SERVER === undefined ? `${name} (redis-server is not installed)` : name,
    ignore: REDIS_SERVER === undefined,
    fn,
  });
}

Deno.test("RedisBuckets that end before the client is loaded do not connect", async () => {
  const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  let connections = 0;
  const accepting = (async () => {
    for await (const connection of listener) {
      connections += 1;
      connection.close();
    }
  })();
  {
    await using _replica = new Replica(`redis://127.0.0.1:${listener.addr.port}`, SLOW);
  }
  listener.close();
  await accepting.catch(() => {});
  assert.equal(connections, 0);
});

redisTest(
  "RedisBuckets shares one budget between replicas, exactly, under concurrency",
  async () => {
    await using redis = await RedisProcess.start();
    await using one = await Replica.connected(redis.url, SLOW, PATIENT_MS);
    await using other = await Replica.connected(redis.url, SLOW, PATIENT_MS);
    const granted = await Promise.all([one.granted(100), other.granted(100)]);
    assert.equal(granted.reduce((sum, count) => sum + count), 30);
    assert.equal(await one.granted(10) + await other.granted(10), 0);
    assert.equal(await one.take("another sender"), 0);
    assert.deepEqual([one.unchecked, other.unchecked], [0, 0]);
  },
);

redisTest(
  "RedisBuckets names the wait, refills with time, and leaves keys that expire",
  async () => {
    await using redis = await RedisProcess.start();
    const rate = { perSec: 1, burst: 2 };
    await using replica = await Replica.connected(redis.url, rate, PATIENT_MS);
    assert.equal(await replica.granted(2), 2);
    // A machine that stood still for a second has earned one more.
    let waitMs = 0;
    for (let takes = 0; waitMs === 0 && takes < 5; takes++) waitMs = await replica.take();
    assert.ok(waitMs > 0 && waitMs <= 1_000, `${waitMs} ms`);
    await new Promise((resolve) => setTimeout(resolve, waitMs + 5));
    assert.equal(await replica.take(), 0);
    const ttlMs = Number((await redis.command("PTTL test:rb:k")).slice(1));
    assert.ok(ttlMs > 0 && ttlMs <= 2_000, `${ttlMs} ms to live`);
  },
);

redisTest(
  "RedisBuckets limits each process alone, at once, while Redis is away, and all together after",
  async () => {
    const lines: string[] = [];
    await configureLogging({ level: "info", writeLine: (line) => lines.push(line) });
    try {
      await using redis = await RedisProcess.start();
      const url = redis.url.replace("//", "//default:secret@");
      await redis.command("CONFIG SET requirepass secret");
      await using replica = await Replica.connected(url, SLOW, PATIENT_MS);
      assert.equal(await replica.granted(40), 30);
      assert.equal(replica.awaySecs, 0);

      await redis.kill();
      const goneMs = performance.now();
      assert.equal(await replica.granted(50), 30, "a budget of its own");
      await new Promise((resolve) => setTimeout(resolve, 2 * RETRY_MS));
      assert.equal(await replica.granted(50), 0);
      assert.ok(performance.now() - goneMs < SLACK_MS, "nobody waits for what is not there");
      assert.equal(replica.unchecked, 100);
      assert.ok(replica.awaySecs >= 2 * RETRY_MS / 1_000);
      assert.equal(lines.length, 1, lines.join("\n"));
      assert.match(lines[0] ?? "", /WRN ingest Redis at 127\.0\.0\.1:\d+ cannot be asked/);

      await redis.resume();
      await redis.command("CONFIG SET requirepass secret");
      await until(async () => {
        const before = replica.unchecked;
        await replica.take();
        return replica.unchecked === before && replica.awaySecs === 0;
      });
      assert.equal(lines.length, 2, lines.join("\n"));
      assert.match(lines[1] ?? "", /answers again/);
      assert.equal(await replica.granted(40), 29);
      assert.equal(lines.join("\n").includes("secret"), false);
    } finally {
      await resetLogging();
    }
  },
);

redisTest(
  "RedisBuckets answers in time while Redis hangs, and limits all together after",
  async () => {
    await using redis = await RedisProcess.start();
    await using replica = await Replica.connected(redis.url, SLOW);
    await until(async () => replica.awaySecs === 0 && await replica.granted(1) === 1);
    redis.freeze();
    const before = replica.unchecked; // A machine that stood still leaves some.
    try {
      assert.ok(await replica.granted(100) <= 30);
      assert.equal(replica.unchecked - before, 100);
      const begunMs = performance.now();
      for (let at = 0; at < 100; at++) await replica.take();
      assert.ok(performance.now() - begunMs < SLACK_MS, "none of them waits for an answer");
    } finally {
      redis.thaw();
    }
    await until(() => Promise.resolve(replica.awaySecs === 0));
  },
);

redisTest("RedisBuckets limits alone by a key of another kind, and others together", async () => {
  await using redis = await RedisProcess.start();
  await redis.command("LPUSH test:rb:k x");
  await using replica = await Replica.connected(redis.url, SLOW, PATIENT_MS);
  assert.equal(await replica.granted(31), 30);
  assert.equal(replica.unchecked, 31);
  assert.equal(await replica.take("another sender"), 0);
  assert.equal(replica.unchecked, 31);
  assert.equal(replica.awaySecs, 0);
});

redisTest("RedisBuckets knows a key of another kind by what Redis 6 says of it", async () => {
  await using redis = await RedisProcess.start();
  await redis.command("LPUSH test:rb:k x");
  // Redis 6.2: scriptCommandFailed of src/scripting.c.
  const said = "-ERR Error running script (call to f_0): @user_script:3: WRONGTYPE";
  await using old = new SlowLine(redis.port, 0, (text) => text.replace(/^-WRONGTYPE/m, said));
  await using replica = await Replica.connected(`redis://127.0.0.1:${old.port}`, SLOW, PATIENT_MS);
  await replica.take();
  assert.equal(replica.awaySecs, 0);
});

redisTest("a Redis that may not be written to is away, not full", async () => {
  await using redis = await RedisProcess.start();
  await using replica = await Replica.connected(redis.url, SLOW, PATIENT_MS);
  await redis.command("REPLICAOF 127.0.0.1 1");
  assert.equal(await replica.granted(31), 30);
  assert.equal(replica.unchecked, 31);
  await redis.command("REPLICAOF NO ONE");
  await until(() => Promise.resolve(replica.awaySecs === 0));
});

redisTest(
  "a connection that ends while nobody asks is made again before somebody does",
  async () => {
    await using redis = await RedisProcess.start();
    await using slow = new SlowLine(redis.port, 300);
    const url = `redis://127.0.0.1:${slow.port}`;
    await using replica = await Replica.connected(url, SLOW, PATIENT_MS);
    await redis.command("CLIENT KILL TYPE normal SKIPME yes");
    await until(() => Promise.resolve(replica.awaySecs > 0));
    await until(() => Promise.resolve(replica.awaySecs === 0));
    assert.equal(await replica.granted(31), 30);
    assert.equal(replica.unchecked, 0);
  },
);

redisTest("the first requests are limited by a Redis that takes long to connect", async () => {
  await using redis = await RedisProcess.start();
  await using slow = new SlowLine(redis.port, 3 * ANSWER_MS);
  const url = `redis://127.0.0.1:${slow.port}`;
  await using one = await Replica.connected(url, SLOW, PATIENT_MS);
  await using other = await Replica.connected(url, SLOW, PATIENT_MS);
  assert.equal(await one.granted(20) + await other.granted(20), 30);
  assert.deepEqual([one.unchecked, other.unchecked], [0, 0]);
});

redisTest(
  "started gives a Redis that is not there up after a while, and finds it later",
  async () => {
    await using redis = await RedisProcess.start();
    await redis.kill();
    await using replica = new Replica(redis.url, SLOW, PATIENT_MS);
    await replica.started(RETRY_MS);
    assert.equal(await replica.granted(31), 30);
    assert.equal(replica.unchecked, 31);
    await redis.resume();
    await until(() => Promise.resolve(replica.awaySecs === 0));
    assert.equal(await replica.granted(31), 30);
    assert.equal(replica.unchecked, 31);
  },
);

const REFUSED = [
  ...["redis", "http://h", "redis:///1", "redis://", "h:6379", ""],
  ...["redis://h/main", "redis://h/0/1", "redis://:50%off@h", "redis://50%@h"],
];
const TAKEN = ["redis://h", "rediss://h:1/", "redis://u:50%25off@[::1]:6379/15"];

for (const url of TAKEN) {
  Deno.test({
    name: `requireRedisUrl takes ${JSON.stringify(url)}, which the client can read`,
    fn: () => {
      requireRedisUrl(url);
      createClient({ url });
    },
  });
}

for (const url of REFUSED) {
  Deno.test({
    name: `requireRedisUrl refuses ${JSON.stringify(url)}`,
    fn: () =>
      assert.throws(() => requireRedisUrl(url), {
        code: "invalid_argument",
        message: /--ingest-rate-redis-url/,
      }),
  });
}

redisTest("ingest shares its budget through Redis and keeps no token there", async () => {
  await using redis = await RedisProcess.start();
  const args = [
    "--auth-tokens=secret-token",
    "--ingest-rate-per-sec=1",
    "--ingest-rate-burst=3",
    `--ingest-rate-redis-url=${redis.url}`,
    "--ingest-rate-redis-prefix=mine",
  ];
  await using one = await RunningIngest.start(args);
  await using other = await RunningIngest.start(args);
  const post = async (ingest: RunningIngest) => {
    const headers = { "content-type": "application/json", authorization: "Bearer secret-token" };
    const response = await ingest.post('{"resourceLogs":[]}', { headers });
    await response.body?.cancel();
    return response.status;
  };
  const unchecked = (ingest: RunningIngest) => ingest.metric(UNCHECKED);
  const tooMany = await overBudget({
    burst: 3,
    send: async () => {
      const statuses = await Promise.all([one, other, one, other, one, other].map(post));
      const taken = statuses.filter((status) => status === 200).length;
      assert.ok(taken >= 3, `${taken} taken`);
      return statuses;
    },
    unchecked: async () => await unchecked(one) + await unchecked(other),
  });
  assert.ok(tooMany <= 0, `${tooMany} taken that are not in the budget`);
  const keys = await redis.command("KEYS *");
  assert.match(keys, /mine:[0-9a-f]{64}/);
  assert.equal(keys.includes("secret"), false);

  await redis.kill();
  assert.equal(await post(one), 200);
  assert.ok(await unchecked(one) >= 1);
});

redisTest("ingest listens once Redis is reached, however long that takes", async () => {
  await using redis = await RedisProcess.start();
  await using slow = new SlowLine(redis.port, 3 * ANSWER_MS);
  await using ingest = await RunningIngest.start([
    ...["--ingest-rate-per-sec=1", "--ingest-rate-burst=3"],
    `--ingest-rate-redis-url=redis://127.0.0.1:${slow.port}`,
  ]);
  await ingest.post('{"resourceLogs":[]}', { headers: { "content-type": "application/json" } })
    .then((response) => response.body?.cancel());
  assert.equal(await ingest.metric(UNCHECKED), 0);
  assert.equal(await ingest.metric("svc_ingest_rate_limit_away_seconds"), 0);
  await redis.kill();
  const isAway = async () => await ingest.metric("svc_ingest_rate_limit_away_seconds") > 0;
  await until(isAway);
});

redisTest("RedisBuckets works where only Redis may be called and only SVC_* be read", async () => {
  await using redis = await RedisProcess.start();
  const module = `file://${workspacePath("ingest/rate_limit/rate_limit_redis.ts")}`;
  const folder = await Deno.makeTempDir({ prefix: "svc-redis-" });
  try {
    await Deno.writeTextFile(
      `${folder}/take.ts`,
      `import { RedisBuckets, requireRedisUrl } from ${JSON.stringify(module)};
       let unchecked = 0;
       await using buckets = new RedisBuckets({ perSec: 0.001, burst: 2 }, {
         url: Deno.args[0] ?? "", prefix: "p", onUnchecked: () => unchecked++, answerMsMax: 5_000,
         clock: {
           monotonicMs: () => performance.now(),
           sleep: (ms) => new Promise((resolve) => Deno.unrefTimer(setTimeout(resolve, ms))),
         },
       });
       await buckets.started();
       const waits = [];
       for (let at = 0; at < 3; at++) waits.push(await buckets.take("k") === 0);
       await Deno.stdout.write(new TextEncoder().encode(JSON.stringify({ waits, unchecked })));`,
    );
    for (const host of ["127.0.0.1", "localhost"]) {
      await redis.command("FLUSHALL");
      const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
        args: [
          ...["run", "--quiet", "--no-prompt", "--config", workspacePath("deno.json")],
          "--allow-env=SVC_*",
          ...[`--allow-net=${host}:${redis.port}`, `${folder}/take.ts`],
          `redis://${host}:${redis.port}`,
        ],
      }).output();
      const said = new TextDecoder().decode(stdout) || new TextDecoder().decode(stderr);
      assert.equal(said, '{"waits":[true,true,false],"unchecked":0}', host);
    }
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
});

/** A line to a local port on which every connection says nothing for a while. */
class SlowLine implements AsyncDisposable {
  readonly #listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  readonly #open = new Set<Deno.TcpConn>();
  readonly #serving: Promise<void>;

  /** `said`: what becomes of an answer's text. */
  constructor(target: number, ms: number, private readonly said = (text: string) => text) {
    this.#serving = this.#serve(target, ms);
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  async #serve(target: number, ms: number): Promise<void> {
    const relays: Promise<void>[] = [];
    for await (const near of this.#listener) relays.push(this.#relay(near, target, ms));
    await Promise.all(relays);
  }

  async #relay(near: Deno.TcpConn, target: number, ms: number): Promise<void> {
    this.#open.add(near);
    await new Promise((resolve) => setTimeout(resolve, ms));
    try {
      const far = await Deno.connect({ hostname: "127.0.0.1", port: target });
      this.#open.add(far);
      await Promise.allSettled([
        near.readable.pipeTo(far.writable),
        far.readable.pipeThrough(new TextDecoderStream())
          .pipeThrough(
            new TransformStream<string, string>({
              transform: (text, controller) => controller.enqueue(this.said(text)),
            }),
          )
          .pipeThrough(new TextEncoderStream()).pipeTo(near.writable),
      ]);
    } catch {
      closeQuietly(near); // It was closed meanwhile, or there is nobody at the other end.
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listener.close();
    for (const connection of this.#open) closeQuietly(connection);
    await this.#serving;
  }
}

function closeQuietly(connection: Deno.TcpConn): void {
  try {
    connection.close();
  } catch { /* It was closed already. */ }
}

async function until(condition: () => Promise<boolean>): Promise<void> {
  for (let tries = 0; tries < 200; tries++) {
    if (await condition()) return;
    await new Promise((resolve) => setTimeout(resolve, 25));
  }
  assert.fail("did not come true within 5 s");
}
