/**
 * `svc subscribe`: the rows of a table as NDJSON while they are committed. See
 * docs/api/follow.md#subscribe.
 */

import { isOperatingError, OperatingError, UsageError } from "../../shared/base/errors.ts";
import { NS_PER_MS, parseRfc3339Ns } from "../../shared/base/time.ts";
import { VERSION } from "../../shared/base/version.ts";
import { openCatalogReader } from "../../shared/catalog/open_catalog.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { BROWSER_OPTIONS } from "../../shared/http/browser_options.ts";
import { parseListenAddress } from "../../shared/http/listen_address.ts";
import { serveMetrics } from "../../shared/http/serve_metrics.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { createMetrics } from "../../shared/metrics/metrics.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { environment } from "../../shared/os/environment.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { listenForEnd } from "../../shared/os/signals.ts";
import { openStoreReader } from "../../shared/storage/open_store.ts";
import { defineCommand } from "../command.ts";
import type { Console } from "../console.ts";
import { CursorFile } from "../subscribe/cursor_file.ts";
import { SUBSCRIPTION_METRICS } from "../subscribe/metrics.ts";
import { Subscription, type SubscriptionCursor } from "../subscribe/subscription.ts";
import { requireCatalog } from "../open_warehouse.ts";
import { LOCAL_OPTIONS, warehousePaths } from "../warehouse_options.ts";

const OPTIONS = {
  table: {
    kind: "text",
    flag: "table",
    placeholder: "NAME",
    required: true,
    help: "The table: events, or an index id.",
  },
  namespace: {
    kind: "text",
    flag: "namespace",
    placeholder: "NAMESPACE",
    default: "svc",
    help: "Namespace of the table: that of its tenant.",
  },
  since: {
    kind: "text",
    flag: "since",
    placeholder: "RFC3339",
    help: "Only rows since then, by the time column; since one minute ago when not given.",
  },
  intervalSecs: {
    kind: "integer",
    flag: "interval-secs",
    placeholder: "N",
    default: 1,
    min: 1,
    max: 86_400,
    help: "Look for new commits this often.",
  },
  once: {
    kind: "switch",
    flag: "once",
    help: "Print what there is and exit.",
  },
  timeColumn: {
    kind: "text",
    flag: "time-column",
    placeholder: "COLUMN",
    default: "timestamp",
    help: "Column by which --since and the order of rows go: a time, or Unix nanoseconds.",
  },
  state: {
    kind: "text",
    flag: "state",
    placeholder: "FILE",
    help: "File that stores the position. The next run with the same file continues where this " +
      "one ended, whatever --since says.",
  },
  metricsBind: {
    kind: "text",
    flag: "metrics-bind",
    placeholder: "HOST:PORT",
    help: "Address that serves /metrics; no metrics when not given.",
  },
  ...BROWSER_OPTIONS,
  ...LOCAL_OPTIONS,
} as const satisfies OptionTable;

const SINCE_MS_DEFAULT = 60_000;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    await using resources = new AsyncDisposableStack();
    const end = resources.use(listenForEnd());
    const files = new DenoFileSystem();
    const clock = new SystemClock();
    const ident = { namespace: settings.namespace, name: settings.table };
    const sinceNs = sinceNsOf(settings.since, clock);
    const metrics = createMetrics(SUBSCRIPTION_METRICS, { version: VERSION, role: "subscribe" });
    if (settings.metricsBind !== undefined) {
      const bind = parseListenAddress(settings.metricsBind, "--metrics-bind");
      resources.use(serveMetrics({ bind, settings, metrics }));
    }
    const paths = warehousePaths(settings);
    const random = new SystemRandom();
    const store = openStoreReader(paths.root, { files, clock, random, env: environment });
    const state = settings.state === undefined
      ? undefined
      : new CursorFile(settings.state, { files, ident });
    const start: SubscriptionCursor = await state?.read() ??
      { tableUuid: undefined, snapshotId: undefined, sinceNs };
    await requireCatalog(paths.catalog);
    const subscription = new Subscription(
      {
        catalog: resources.use(await openCatalogReader(paths.catalog)),
        store,
        reader: new IcebergReader(store),
        metrics,
        deliver: (lines) => console.output.write(lines),
        keep: async (cursor) => await state?.write(cursor),
      },
      { ident, timeColumn: settings.timeColumn },
      start,
    );
    const stopping = new AbortController();
    end.requested.then(() => stopping.abort(new OperatingError("cancelled", "asked to end")));
    const table = `${ident.namespace}.${ident.name}`;
    if (settings.once) {
      await subscription.poll(stopping.signal);
      if (subscription.cursor.tableUuid === undefined) {
        await console.notes.write(`${table} has no commit yet\n`);
      }
      return;
    }
    await follow(subscription, {
      console,
      clock,
      table,
      signal: stopping.signal,
      intervalMs: settings.intervalSecs * 1_000,
    });
  },
});

/** Until it is stopped, or cannot go on. */
async function follow(
  subscription: Subscription,
  { console, clock, table, signal, intervalMs }: {
    readonly console: Console;
    readonly clock: SystemClock;
    /** For people. */
    readonly table: string;
    readonly signal: AbortSignal;
    readonly intervalMs: number;
  },
): Promise<void> {
  let isWaiting = false;
  while (!signal.aborted) {
    try {
      await subscription.poll(signal);
      if (subscription.cursor.tableUuid === undefined && !isWaiting) {
        isWaiting = true;
        await console.notes.write(`${table} has no commit yet: waiting for the first\n`);
      }
    } catch (error) {
      if (signal.aborted) return;
      if (!isOperatingError(error, "unavailable")) throw error;
      await console.notes.write(`svc: ${error.message}; next try in ${intervalMs / 1_000} s\n`);
    }
    await clock.sleep(intervalMs, { signal }).catch(() => {});
  }
}

/** Errors: `invalid_argument`. */
function sinceNsOf(text: string | undefined, clock: SystemClock): bigint {
  if (text === undefined) return BigInt(clock.nowMs() - SINCE_MS_DEFAULT) * NS_PER_MS;
  const ns = parseRfc3339Ns(text);
  if (ns !== undefined) return ns;
  throw new UsageError(
    `Cannot begin at --since ${text}: write an RFC 3339 time, for example 2026-11-20T00:00:00Z`,
  );
}
