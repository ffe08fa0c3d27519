/**
 * `GET /api/v1/tail` over a real query server. Which rows it shows, and does not show again; what
 * it says of rows that it cannot show; its bounds; who sees what.
 */

import { deepStrictEqual, match, ok, rejects, strictEqual } from "node:assert/strict";
import { OPTIONS, startQuery } from "../../query/mod.ts";
import { TAILS_PER_TENANT_MAX } from "../../query/tail/tail_desk.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { type LabEvent, WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { ONE_DUCKDB } from "../../shared/testing/one_duckdb.ts";
import { rawsOf, TailReader } from "./tail_reader.ts";
import { IN_THIS_PROCESS } from "../../shared/testing/in_this_process.ts";

const START_NS = 1_795_132_800_000_000_000n; // 2026-11-20T00:00:00Z
const LANE = "wal/default/events";

async function withServer(
  lab: WarehouseLab,
  test: (url: string, stop: () => Promise<void>) => Promise<void>,
  flags: readonly string[] = [],
): Promise<void> {
  await using server = await startQuery(
    parseOptions(OPTIONS, [
      ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--audit-disabled"],
      ...["--data-dir", lab.dir, "--threads", "2", ...ONE_DUCKDB],
      ...(lab.wal === undefined ? [] : ["--query-wal-buffer-dir", `${lab.dir}/wal`]),
      ...flags,
    ]),
    IN_THIS_PROCESS,
  );
  await test(`http://127.0.0.1:${server.address.port}`, () => server.stop());
}

function rows(...raws: readonly string[]): LabEvent[] {
  return raws.map((raw, at) => ({ ns: START_NS + BigInt(at), raw, attributes: '{"a":1}' }));
}

/** Nothing comes for a while. */
async function isQuiet(reader: TailReader): Promise<void> {
  deepStrictEqual(await reader.raws(1, 1_000), []);
}

Deno.test({
  name: "a tail shows rows of the WAL, and does not show them again when they are committed",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.commit(rows("before"));
    await lab.append(rows("also before"));
    await withServer(lab, async (url) => {
      await using reader = await TailReader.connect(url);
      const segment = await lab.append(rows("one", "two"));
      deepStrictEqual(await reader.raws(2), ["one", "two"]);
      await lab.commit(rows("one", "two", "also before"), { consumed: [segment] });
      await isQuiet(reader);
      // Another writer's rows come with their commit.
      await lab.commit(rows("foreign"), { consumed: ["1795132800000-0000-ffffffffff000001.seg"] });
      deepStrictEqual(await reader.raws(1), ["foreign"]);
      await lab.commit(rows("imported"));
      deepStrictEqual(await reader.raws(1), ["imported"]);
      await lab.append(rows("three"));
      deepStrictEqual(await reader.raws(1), ["three"]);
    });
  },
});

Deno.test({
  name: "a tail finds its table in any case, as /sql does",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.commit(rows("before"));
    await withServer(lab, async (url) => {
      await using reader = await TailReader.connect(url, { query: "table=EVENTS" });
      await lab.append(rows("one"));
      deepStrictEqual(await reader.raws(1), ["one"]);
    });
  },
});

Deno.test({
  name: "a tail shows commits on a server without the WAL, each row once",
  async fn() {
    await using lab = await WarehouseLab.open();
    await lab.commit(rows("before"));
    await withServer(lab, async (url) => {
      await using reader = await TailReader.connect(url);
      await isQuiet(reader);
      await lab.commit(rows("one", "two"));
      deepStrictEqual(await reader.raws(2), ["one", "two"]);
      const { lastId } = reader;
      await lab.commit(rows("three"));
      await lab.commit(rows("four", "five"));
      deepStrictEqual((await reader.raws(3)).sort(), ["five", "four", "three"]);
      await using again = await TailReader.connect(url, { lastId });
      deepStrictEqual((await again.raws(3)).sort(), ["five", "four", "three"]);
      await isQuiet(again);
    });
  },
});

Deno.test({
  name:
    "Last-Event-ID goes on behind the event, in a segment, past its sweep, and says what is gone",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.commit(rows("before"));
    await withServer(lab, async (url) => {
      const first = await TailReader.connect(url);
      const segment = await lab.append(rows("one"));
      deepStrictEqual(await first.raws(1), ["one"]);
      const { lastId } = first;
      await first[Symbol.asyncDispose]();
      strictEqual(await lab.append(rows("two", "three")), segment);
      const second = await TailReader.connect(url, { lastId });
      deepStrictEqual(await second.raws(2), ["two", "three"]);
      const behind = second.lastId;
      await second[Symbol.asyncDispose]();
      // The segment is over, committed and swept while nobody looks.
      await lab.wal?.seal({ tenant: "default", index: "events" });
      const later = await lab.append(rows("four"));
      await lab.wal?.seal({ tenant: "default", index: "events" });
      ok(later > segment);
      await lab.commit(rows("one", "two", "three"), { consumed: [segment] });
      await Deno.remove(`${lab.dir}/${LANE}/sealed/${segment}`);
      await using third = await TailReader.connect(url, { lastId: behind });
      // It had not seen the segment's end: rows of that commit may be missing.
      deepStrictEqual(await third.next(), {
        name: "lost",
        data: { rows: null, reason: "position_expired" },
      });
      deepStrictEqual(await third.raws(1), ["four"]);
      const done = third.lastId;
      // Segments that came and went meanwhile are read of their commit.
      const gone = await lab.append(rows("five", "six"));
      await lab.wal?.seal({ tenant: "default", index: "events" });
      await Deno.remove(`${lab.dir}/${LANE}/sealed/${gone}`);
      await lab.commit(rows("five", "six"), { consumed: [gone] });
      await using fourth = await TailReader.connect(url, { lastId: done });
      deepStrictEqual(await fourth.raws(2), ["five", "six"]);
      await lab.append(rows("seven"));
      deepStrictEqual(await fourth.raws(1), ["seven"]);
    });
  },
});

Deno.test({
  name: "Last-Event-ID amid the segments of one commit goes on in it once these are swept",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.commit(rows("before"));
    await withServer(lab, async (url) => {
      const first = await TailReader.connect(url);
      const { lastId: start } = first;
      await first[Symbol.asyncDispose]();
      const segments: string[] = [];
      for (const raw of ["one", "two", "three"]) {
        segments.push(await lab.append(rows(raw)));
        await lab.wal?.seal({ tenant: "default", index: "events" });
      }
      await lab.commit(rows("one", "two", "three"), { consumed: segments });
      const second = await TailReader.connect(url, { lastId: start });
      deepStrictEqual(await second.raws(1), ["one"]);
      const { lastId: amid } = second;
      await second[Symbol.asyncDispose]();
      for (const name of segments) await Deno.remove(`${lab.dir}/${LANE}/sealed/${name}`);
      await lab.append(rows("four"));
      await using third = await TailReader.connect(url, { lastId: amid });
      // Rows of one commit cannot be told apart.
      strictEqual((await third.next())?.name, "lost");
      deepStrictEqual(await third.raws(1), ["four"]);
    });
  },
});

Deno.test({
  name: "a tail shows the rows that its search finds, as /sql gives them, at most so many a second",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.append(rows("before"));
    await withServer(lab, async (url) => {
      const query = new URLSearchParams({ search: "host:h a:1 -skip" });
      await using reader = await TailReader.connect(url, { query: String(query) });
      await lab.append(rows("found", "skip this", 'quote " line\nfeed'));
      const event = await reader.next();
      const answer = await fetch(`${url}/api/v1/sql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          query:
            "SELECT * FROM events WHERE raw IN ('found', 'quote \" line\nfeed') ORDER BY timestamp_ns",
        }),
      });
      const { columns, rows: expected } = await answer.json();
      deepStrictEqual(event, { name: "rows", data: { columns, rows: expected, skipped: 0 } });
      await using slow = await TailReader.connect(url, { query: "max_rows_per_second=10" });
      await lab.append(rows(...Array.from({ length: 40 }, (_, n) => `many ${n}`)));
      const { data } = await slow.next() ?? { data: undefined };
      deepStrictEqual([data.rows.length, data.skipped], [10, 30]);
      deepStrictEqual(data.rows.length + data.skipped, 40);
    });
  },
});

Deno.test({
  name: "a reader that takes nothing holds up nobody",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.append(rows("before"));
    await withServer(lab, async (url) => {
      const query = "max_rows_per_second=100000";
      const stuck = await fetch(`${url}/api/v1/tail?${query}`);
      await using reader = await TailReader.connect(url, { query });
      const text = "x".repeat(20_000);
      let seen = 0;
      for (let batch = 0; batch < 40; batch += 1) {
        await lab.append(rows(...Array.from({ length: 50 }, (_, n) => `${batch}-${n} ${text}`)));
        seen += (await reader.raws(50)).length;
      }
      strictEqual(seen, 2_000);
      await stuck.body?.cancel();
    });
  },
});

Deno.test({
  name: "tails are refused by name: parameters, positions, and one too many with Retry-After",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.append(rows("before"));
    await withServer(lab, async (url) => {
      const cases = [
        ["from=2026-11-20T00:00:00Z", "bad_parameter", /from "2026.*leave it out/],
        ["max_rows_per_second=0", "bad_parameter", /max_rows_per_second "0"/],
        ["max_rows_per_second=100001", "bad_parameter", /at most 100000/],
        ["search=%28a", "search_syntax", /end of this group/],
        ["table=nope", "unknown_table", /"nope"/],
      ] as const;
      for (const [query, reason, why] of cases) {
        const response = await fetch(`${url}/api/v1/tail?${query}`);
        const body = await response.json();
        deepStrictEqual([response.status, body.reason], [400, reason]);
        match(body.error, why);
      }
      for (const lastId of ["x", "t1.", `t1.${btoa('["traces","",null,"",0,true]')}`]) {
        await rejects(TailReader.connect(url, { lastId }), /400 .*bad_position/);
      }
      const open: TailReader[] = [];
      for (let n = 0; n < TAILS_PER_TENANT_MAX; n += 1) open.push(await TailReader.connect(url));
      const refused = await fetch(`${url}/api/v1/tail`);
      strictEqual(refused.headers.get("retry-after"), "5");
      deepStrictEqual([refused.status, (await refused.json()).reason], [429, "tails_in_use"]);
      await open.pop()?.[Symbol.asyncDispose]();
      await using _another = await untilOpen(url);
      for (const reader of open) await reader[Symbol.asyncDispose]();
    });
  },
});

/** A place is free soon after its reader left. */
async function untilOpen(url: string): Promise<TailReader> {
  for (let tries = 0;; tries += 1) {
    try {
      return await TailReader.connect(url);
    } catch (error) {
      if (tries === 50) throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

Deno.test({
  name: "a server that stops ends its tails at once, and says so",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.append(rows("before"));
    await withServer(lab, async (url, stop) => {
      await using reader = await TailReader.connect(url);
      const [event] = await Promise.all([reader.next(), stop()]);
      deepStrictEqual([event?.name, event?.data.reason], ["end", "server_stopping"]);
      strictEqual(await reader.next(), undefined);
    });
  },
});

Deno.test({
  name: "a tail asks for a token, and shows nothing of another tenant",
  async fn() {
    await using lab = await WarehouseLab.open({ wal: true });
    await lab.append(rows("default's"));
    const flags = ["--tokens", "0123456789abcdef", "--tenant-namespace", "acme"];
    await withServer(lab, async (url) => {
      await rejects(TailReader.connect(url), /^Error: 401/);
      const headers = { authorization: "Bearer 0123456789abcdef" };
      await using reader = await TailReader.connect(url, { headers });
      await lab.append(rows("default's, too"));
      await lab.commit(rows("default's, committed"));
      await lab.append(rows("acme's"), { tenant: "acme", index: "events" });
      const event = await reader.next();
      deepStrictEqual(event === undefined ? [] : rawsOf(event), ["acme's"]);
    }, flags);
  },
});
