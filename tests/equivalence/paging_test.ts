/**
 * The cursor recipe of `query/README.md` as a client would follow it, while rows come and are
 * drained. It gives every row that was committed when the walk began, exactly once, whatever ties
 * there are.
 */

import assert from "node:assert/strict";
import { OPTIONS, startQuery } from "../../query/mod.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { EVENTS_SCHEMA } from "../../shared/schema/events.ts";
import { applyExpire } from "../../shared/tables/expire.ts";
import { type LabEvent, WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { SeededRandom } from "../../shared/testing/seeded_random.ts";
import { addColumns, drain } from "./sql_lab.ts";
import { IN_THIS_PROCESS } from "../../shared/testing/in_this_process.ts";

const START_NS = 1_790_000_000_000_000_000n;
const LANE = { tenant: "default", index: "events" };
const EVENTS = { namespace: "svc", name: "events" };

interface Page {
  readonly rows: readonly (readonly [timestamp: string, ns: string, raw: string])[];
  readonly pin: string;
  readonly ordering: string | undefined;
}

class PagingLab implements AsyncDisposable {
  readonly #random = new SeededRandom(7);
  #rows = 0;

  private constructor(
    readonly lab: WarehouseLab,
    private readonly server: Awaited<ReturnType<typeof startQuery>>,
  ) {}

  static async open(): Promise<PagingLab> {
    const lab = await WarehouseLab.open({ wal: true });
    const server = await startQuery(
      parseOptions(OPTIONS, [
        ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--threads", "2"],
        ...["--data-dir", lab.dir, "--query-wal-buffer-dir", `${lab.dir}/wal`],
        ...["--memory-pool-bytes", String(256 * 2 ** 20), "--audit-disabled"],
      ]),
      IN_THIS_PROCESS,
    );
    return new PagingLab(lab, server);
  }

  /** Rows with many ties in the microsecond and in the nanosecond; `raw` tells them apart. */
  async ingest(count: number): Promise<string[]> {
    const below = (bound: number) => Math.floor(this.#random.float() * bound);
    const rows: LabEvent[] = Array.from({ length: count }, () => ({
      ns: START_NS + BigInt(below(25)) * 7_000n + BigInt(below(3)) * 300n,
      raw: `row ${this.#rows++}`,
    }));
    await this.lab.append(rows);
    return rows.map((row) => row.raw ?? "");
  }

  async drain(): Promise<void> {
    await this.lab.wal?.seal(LANE);
    await drain(this.lab);
  }

  async post(body: Record<string, unknown>): Promise<{ status: number; body: ErrorBody }> {
    const url = `http://127.0.0.1:${this.server.address.port}/api/v1/sql`;
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    return { status: response.status, body: await response.json() };
  }

  async page(query: string, snapshot: string): Promise<Page> {
    const { status, body } = await this.post({ query, snapshot });
    assert.equal(status, 200, JSON.stringify(body));
    const { rows = [], stats } = body;
    assert(stats?.snapshot !== undefined);
    return { rows: rows as Page["rows"], pin: stats.snapshot, ordering: stats.scan?.ordering };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.server.stop();
    await this.lab[Symbol.asyncDispose]();
  }
}

interface ErrorBody {
  readonly rows?: readonly unknown[];
  readonly columns?: readonly string[];
  readonly stats?: { readonly snapshot?: string; readonly scan?: { readonly ordering: string } };
  readonly reason?: string;
  readonly error?: string;
}

/**
 * All values of `raw`, newest first, by the recipe; `between` runs before each page but the first.
 */
async function walk(
  paging: PagingLab,
  { limit: asked, between }: { readonly limit: number; readonly between: () => Promise<void> },
): Promise<{ raws: string[]; pins: Set<string>; pages: number }> {
  const raws: string[] = [];
  const pins = new Set<string>();
  let limit = asked;
  let where = "";
  for (let pages = 1;; pages += 1) {
    if (pages > 1) await between();
    const [pin = "latest"] = pins;
    const page = await paging.page(
      `SELECT timestamp, timestamp_ns::VARCHAR AS ns, raw FROM events ${where} ` +
        `ORDER BY timestamp DESC, timestamp_ns DESC LIMIT ${limit}`,
      pin,
    );
    pins.add(page.pin);
    const last = page.rows.at(-1);
    if (last === undefined || page.rows.length < limit) {
      raws.push(...page.rows.map(([, , raw]) => raw));
      return { raws, pins, pages };
    }
    const [timestamp, ns] = last;
    const whole = page.rows.filter((row) => row[1] !== ns);
    // A page of one instant only: it is asked again, larger.
    if (whole.length === 0) limit *= 2;
    raws.push(...whole.map(([, , raw]) => raw));
    where = `WHERE timestamp <= '${timestamp}' AND timestamp_ns <= ${ns}`;
  }
}

Deno.test({
  name:
    "stats.snapshot pages of a pinned walk hold each committed row once while ingest and drain go on",
  fn: async (t) => {
    for (const limit of [1, 13, 50, 400, 401]) {
      await t.step(`limit ${limit}`, async () => {
        await using paging = await PagingLab.open();
        const committed = await paging.ingest(250);
        await paging.drain();
        committed.push(...await paging.ingest(150));
        await paging.drain();
        await paging.ingest(60);
        let turn = 0;
        const { raws, pins, pages } = await walk(paging, {
          limit,
          between: async () => {
            turn += 1;
            if (turn > 12) return;
            await paging.ingest(15);
            if (turn % 3 === 0) await paging.drain();
          },
        });
        assert.deepEqual(raws.toSorted(), committed.toSorted());
        assert.equal(pins.size, 1);
        assert(limit > 50 || pages > 5, String(pages));
      });
    }
  },
});

Deno.test({
  name: "stats.snapshot is absent unless asked for, and without it the WAL is read",
  fn: async () => {
    await using paging = await PagingLab.open();
    await paging.ingest(10);
    await paging.drain();
    await paging.ingest(5);
    const query = "SELECT count(*) FROM events";
    const plain = (await paging.post({ query })).body;
    assert.deepEqual([plain.rows, plain.stats?.snapshot], [[[15]], undefined]);
    assert.deepEqual((await paging.page(query, "latest")).rows, [[10]]);
    assert.deepEqual((await paging.post({ query, snapshot: null })).body.rows, [[15]]);
  },
});

Deno.test({
  name: "snapshot pin keeps columns, an empty table and every table of a join as they were",
  fn: async () => {
    await using paging = await PagingLab.open();
    const empty = await paging.page("SELECT count(*) FROM events, traces", "latest");
    await paging.ingest(3);
    await paging.drain();
    assert.deepEqual((await paging.page("SELECT count(*) FROM events", empty.pin)).rows, [[0]]);
    const { pin } = await paging.page("SELECT * FROM events", "latest");
    await addColumns(paging.lab, {
      ...EVENTS_SCHEMA,
      columns: [...EVENTS_SCHEMA.columns, { id: 9, name: "late", type: "long", required: false }],
    }, EVENTS);
    await paging.ingest(3);
    await paging.drain();
    const columns = async (snapshot?: string) =>
      (await paging.post({ query: "SELECT * FROM events", ...(snapshot ? { snapshot } : {}) }))
        .body.columns?.length;
    assert.deepEqual([await columns(pin), await columns("latest"), await columns()], [8, 9, 9]);
    assert.deepEqual((await paging.page("SELECT count(*) FROM events", pin)).rows, [[3]]);
  },
});

Deno.test({
  name: "snapshot latest names a new column before the next commit, and so do the pages after it",
  fn: async () => {
    await using paging = await PagingLab.open();
    await paging.ingest(3);
    await paging.drain();
    const { pin: before } = await paging.page("SELECT raw FROM events", "latest");
    await addColumns(paging.lab, {
      ...EVENTS_SCHEMA,
      columns: [...EVENTS_SCHEMA.columns, { id: 9, name: "late", type: "long", required: false }],
    }, EVENTS);
    const query = "SELECT count(*), count(late) FROM events";
    const latest = await paging.page(query, "latest");
    assert.deepEqual(latest.rows, [[3, 0]]);
    assert.deepEqual((await paging.page(query, latest.pin)).rows, [[3, 0]]);
    await paging.ingest(3);
    await paging.drain();
    assert.deepEqual((await paging.page(query, latest.pin)).rows, [[3, 0]]);
    assert.equal((await paging.post({ query, snapshot: before })).status, 400);
  },
});

Deno.test({
  name:
    "snapshot pin malformed is 400 pin_malformed, expired or of another table is 409 pin_expired",
  fn: async () => {
    await using paging = await PagingLab.open();
    await paging.ingest(3);
    await paging.drain();
    const query = "SELECT raw FROM events";
    const { pin } = await paging.page(query, "latest");
    const forged = (value: unknown) => `p1.${btoa(JSON.stringify(value)).replaceAll("=", "")}`;
    const refused = async (snapshot: unknown) => {
      const { status, body } = await paging.post({ query, snapshot });
      return [status, body.reason];
    };
    for (
      const bad of ["", "x", "LATEST", "p1.", "p1.!!", "p2.W10", `${pin}.1`, pin.slice(0, -3)]
        .concat(forged({}), forged([1]), forged([["events", "u", 5]]), forged([["events", "u"]]))
    ) {
      assert.deepEqual(await refused(bad), [400, "pin_malformed"], bad);
    }
    assert.deepEqual(await refused(5), [400, "invalid_body"]);
    assert.deepEqual(await refused(forged([["events", "u", "1"]])), [409, "pin_expired"]);
    await paging.ingest(1);
    await paging.drain();
    const { store, catalog, clock, random } = paging.lab;
    await clock.sleep(5);
    const policy = { retainLast: 1, ageMsMin: 0 };
    await applyExpire({ store, catalog, clock, random }, EVENTS, policy);
    const { status, body } = await paging.post({ query, snapshot: pin });
    assert.deepEqual([status, body.reason], [409, "pin_expired"]);
    assert.match(body.error ?? "", /"snapshot":"latest"/);
    assert.equal((await paging.page(query, "latest")).rows.length, 4);
  },
});
