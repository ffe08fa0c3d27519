import assert from "node:assert/strict";
import { SystemClock } from "../../shared/os/clock.ts";
import { seedDemo } from "./seed_demo.ts";

/** Resolves its sleeps at once, `periods` times; then aborts. */
class FewPeriods extends SystemClock {
  constructor(private periods: number, private readonly over: AbortController) {
    super();
  }

  override sleep(): Promise<void> {
    this.periods -= 1;
    if (this.periods === 0) this.over.abort();
    return Promise.resolve();
  }
}

/** Runs three periods against a server that answers with `statuses` in turn. */
async function seedAgainst(statuses: readonly number[]) {
  const bodies: unknown[] = [];
  const notes: string[] = [];
  const over = new AbortController();
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen: () => {} },
    async (request) => {
      bodies.push(await request.json());
      return new Response("full", { status: statuses[bodies.length - 1] ?? 200 });
    },
  );
  await seedDemo({
    ingestUrl: `http://127.0.0.1:${server.addr.port}`,
    clock: new FewPeriods(statuses.length, over),
    seed: 1,
    signal: over.signal,
    note: (text) => notes.push(text),
  });
  return { bodies, notes };
}

Deno.test({
  name: "seedDemo sends fresh OTLP/JSON each period until aborted",
  fn: async () => {
    const { bodies, notes } = await seedAgainst([200, 200, 200]);
    assert.equal(bodies.length, 3);
    assert.deepEqual(notes, []);
    for (const body of bodies as { resourceLogs: Record<string, unknown>[] }[]) {
      for (const { resource, scopeLogs } of body.resourceLogs) {
        const names = (resource as { attributes: { key: string }[] }).attributes.map((a) => a.key);
        assert.deepEqual(names, ["service.name", "host.name"]);
        const [scope] = scopeLogs as { logRecords: { timeUnixNano: string }[] }[];
        const ageMs = Date.now() -
          Number(BigInt(scope?.logRecords[0]?.timeUnixNano ?? 0) / 1_000_000n);
        assert.ok(ageMs >= 0 && ageMs < 5_000, `${ageMs} ms old`);
      }
    }
  },
});

Deno.test({
  name: "seedDemo tells once that sending fails and once that it works again",
  fn: async () => {
    const { notes } = await seedAgainst([200, 503, 503, 200, 200]);
    assert.deepEqual(notes, [
      "demo events are not accepted: 503 full",
      "demo events are accepted again",
    ]);
  },
});
