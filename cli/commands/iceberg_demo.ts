/**
 * `svc iceberg-demo`: synthetic events appended to an Iceberg table of a warehouse, and what SQL
 * says of them.
 */

import { OperatingError } from "../../shared/base/errors.ts";
import { NS_PER_MS } from "../../shared/base/time.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { SUMMARY_OPTIONS, summaryLimitsOf } from "../../shared/derived/summary/summary_options.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { defineCommand } from "../command.ts";
import { openDirectEngine, printSql } from "../direct_sql.ts";
import { importEvents } from "../event_import.ts";
import { MEAN_STEP_MS, syntheticEvents, toNdjson } from "../synthetic_events.ts";
import { LOCAL_OPTIONS, type WarehousePaths, warehousePaths } from "../warehouse_options.ts";

const OPTIONS = {
  n: {
    kind: "integer",
    flag: "n",
    placeholder: "N",
    default: 1000,
    min: 1,
    max: 1_000_000_000,
    help: "How many events to append.",
  },
  reset: {
    kind: "switch",
    flag: "reset",
    help: "Remove the warehouse first: every table, every file. A folder that is no warehouse " +
      "is refused.",
  },
  ...LOCAL_OPTIONS,
  ...SUMMARY_OPTIONS,
} as const satisfies OptionTable;

const QUERIES = [
  "SELECT count(*) AS events, min(timestamp) AS oldest, max(timestamp) AS newest FROM events",
  "SELECT source, count(*) AS events FROM events GROUP BY source ORDER BY events DESC",
  "SELECT attr_get(attributes, 'severity_text') AS severity, count(*) AS events FROM events " +
  "GROUP BY severity ORDER BY events DESC",
  "SELECT timestamp, host, raw FROM events WHERE raw LIKE '%timeout%' ORDER BY timestamp DESC LIMIT 5",
];

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    const paths = warehousePaths(settings);
    if (settings.reset) await removeWarehouse(paths);
    await importEvents(syntheticLines(settings.n), paths, {
      summaries: summaryLimitsOf(settings),
    });
    await console.output.write(
      `Appended ${settings.n} events to the table events in ${paths.root}\n`,
    );
    await using direct = await openDirectEngine(paths);
    for (const sql of QUERIES) {
      await console.output.write(`\n${sql}\n\n`);
      const print = { namespace: "svc", format: "table", maxRows: 100 };
      await printSql(direct.engine, sql, { settings: print, console });
    }
  },
});

/** The last one is about now. */
function* syntheticLines(count: number): Generator<string> {
  const seed = Math.floor(new SystemRandom().float() * 2 ** 32);
  const firstNs = new SystemClock().nowNs() - BigInt(count * MEAN_STEP_MS) * NS_PER_MS;
  const events = syntheticEvents({ seed, firstNs });
  for (let made = 0; made < count; made++) yield toNdjson(events.next().value);
}

/**
 * Removes a folder only when a catalog lies in it, so that a mistyped --warehouse costs nothing.
 */
async function removeWarehouse({ root, catalog }: WarehousePaths): Promise<void> {
  const files = new DenoFileSystem();
  if (!await files.exists(root)) return;
  if (!await files.exists(catalog) || !catalog.startsWith(`${root}/`)) {
    throw new OperatingError(
      "precondition_failed",
      `Cannot reset ${root}: it holds no catalog, so it may be no warehouse. Remove it yourself`,
    );
  }
  await files.removeTree(root);
}
