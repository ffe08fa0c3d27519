/**
 * One tenant's burst of statements delays another's single one by at most one turn, over HTTP:
 * counted in answers, not in time, so that a busy machine changes nothing.
 */

import assert from "node:assert/strict";
import { OPTIONS, startQuery } from "../../query/mod.ts";
import { parseOptions } from "../../shared/config/parse_options.ts";
import { type TurnKind, turnsFor } from "../../shared/engine/turns/turns.ts";
import { WarehouseLab } from "../../shared/testing/warehouse_lab.ts";
import { AUDIENCE, FakeIssuer } from "../../shared/testing/fake_issuer.ts";
import { YIELD_LITTLE } from "../../shared/testing/yield_little.ts";

const THREADS = 2;
const BURST = 100;
const WAIT_MS = 60_000;
const POLL_MS = 5;

interface Kind {
  readonly line: TurnKind;
  /** Tens of milliseconds, priced as its line wants it. */
  readonly query: string;
}

const KINDS: readonly Kind[] = [
  { line: "light", query: "SELECT count(DISTINCT md5(range::VARCHAR)) FROM range(50000)" },
  { line: "dear", query: "SELECT sum(range % 7) FROM range(2000000)" },
];

for (const { line, query } of KINDS) {
  Deno.test({
    name: `a tenant with ${BURST} ${line} statements in line holds up another's one by a turn`,
    fn: async () => {
      await using lab = await WarehouseLab.open();
      await using issuer = await FakeIssuer.start();
      await using server = await startQuery(parseOptions(OPTIONS, [
        ...["--bind", "127.0.0.1:0", "--metrics-bind", "127.0.0.1:0", "--audit-disabled"],
        ...YIELD_LITTLE,
        ...["--data-dir", lab.dir, "--threads", String(THREADS)],
        ...["--admission-wait-ms", String(WAIT_MS), "--dear-wait-ms", String(WAIT_MS)],
        ...["--oidc-issuer", issuer.url, "--oidc-audience", AUDIENCE, "--oidc-tenant-claim", "org"],
      ]));
      const ask = async (token: string): Promise<void> => {
        const response = await fetch(`http://127.0.0.1:${server.address.port}/api/v1/sql`, {
          method: "POST",
          headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
          body: JSON.stringify({ query }),
        });
        const text = await response.text();
        assert.equal(response.status, 200, text);
      };
      const waiting = async () => {
        const page = await fetch(`http://127.0.0.1:${server.metricsAddress.port}/metrics`);
        const series = `svc_query_engine_waiting{line="${line}"} `;
        const found = (await page.text()).split("\n").find((one) => one.startsWith(series));
        return Number(found?.slice(series.length));
      };
      const [many, one] = [
        await issuer.token({ org: "quokka" }),
        await issuer.token({ org: "zebra" }),
      ];

      let served = 0;
      const burst = Array.from({ length: BURST }, () => ask(many).then(() => served += 1));
      const turns = turnsFor(THREADS)[line];
      while (await waiting() < BURST / 2) assert(served < BURST / 4, "the burst is in line");
      // What the line is asked takes turns of the event loop from the answers: they are counted
      // once it is still.
      const quiet = served + 2 * turns;
      while (served < quiet) await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      const before = served;
      await ask(one);
      const passed = served - before;
      // Statements at work when it came, one scheduler slot each, and as many twice while it runs
      // and its answer is on the way.
      const allowed = 4 * turns;
      assert(passed <= allowed, `${passed} of ${BURST} were served first, ${allowed} may be`);
      await Promise.all(burst);
    },
  });
}
