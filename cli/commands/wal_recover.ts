/**
 * `svc wal-recover`: pulls mirrored WAL segments back onto a local WAL root. See
 * docs/api/command_line.md#what-changes-something.
 */

import { resolve } from "node:path";
import { counted } from "../../shared/base/counted.ts";
import { OperatingError, UsageError } from "../../shared/base/errors.ts";
import { openCatalogReader } from "../../shared/catalog/open_catalog.ts";
import type { OptionTable } from "../../shared/config/options.ts";
import { laneName } from "../../shared/tenant/tenant.ts";
import { SystemClock } from "../../shared/os/clock.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { environment } from "../../shared/os/environment.ts";
import { SystemRandom } from "../../shared/os/random.ts";
import { openStoreReader } from "../../shared/storage/open_store.ts";
import { warehousePlaceOf } from "../../shared/storage/warehouse_url.ts";
import {
  applyRecovery,
  planRecovery,
  type RecoverySource,
  type RecoveryStep,
} from "../../shared/wal/mirror/recover_mirror.ts";
import type { Salvaged } from "../../shared/wal/salvage.ts";
import { defineCommand } from "../command.ts";
import type { Console } from "../console.ts";
import { existingCatalog } from "../existing_catalog.ts";

const OPTIONS = {
  from: {
    kind: "text",
    flag: "from",
    placeholder: "url",
    required: true,
    help: "Root of the mirror: <warehouse-url>/<prefix>/.",
  },
  to: {
    kind: "text",
    flag: "to",
    placeholder: "wal-root",
    required: true,
    help: "WAL directory that gets the segments; no ingest server may use it.",
  },
  apply: {
    kind: "switch",
    flag: "apply",
    help: "Copy the segments. Without it the plan is only printed.",
  },
  catalog: {
    kind: "text",
    flag: "catalog",
    placeholder: "uri",
    help: "Catalog to ask, read-only, which segments a table holds already: they are not pulled. " +
      "As --catalog-uri of the servers.",
  },
} as const satisfies OptionTable;

export const command = defineCommand({
  options: OPTIONS,
  async run(settings, { console }) {
    const files = new DenoFileSystem();
    const source = sourceOf(settings.from, resolve(settings.to), files);
    await using catalog = settings.catalog === undefined
      ? undefined
      : await openCatalogReader(await existingCatalog(settings.catalog, files), "--catalog");
    const plan = await planRecovery(source, { files, catalog });
    await printPlan(plan, console);
    const pulls = plan.filter(({ action }) => action === "pull").length;
    if (pulls === 0) throw nothingToPull(plan, settings);
    if (settings.catalog === undefined) await console.notes.write(NO_CATALOG);
    if (!settings.apply) {
      await console.notes.write(
        `${counted(pulls, "segment")} to pull; nothing is written without --apply\n`,
      );
      return 0;
    }
    return await pull(source, plan, { files, console });
  },
});

const NO_CATALOG =
  "without --catalog, segments whose rows a table had are pulled, too; a drain leaves them out unless their catalog is lost\n";

function nothingToPull(
  plan: readonly RecoveryStep[],
  { from, to }: { readonly from: string; readonly to: string },
): OperatingError {
  const count = (action: RecoveryStep["action"]) =>
    plan.filter((step) => step.action === action).length;
  return new OperatingError(
    "not_found",
    `Cannot recover anything from --from ${from}: ` +
      (plan.length === 0
        ? "no segment is mirrored there; give the folder that the ingest server mirrors to, which is its " +
          "warehouse's URL and the prefix of the mirror, for example s3://bucket/path/wal-mirror/"
        : `of ${plan.length} segments there ${count("here")} are in --to ${to} already, and of ` +
          `${count("committed")} a table holds the rows; there is nothing left to do`),
  );
}

/** 1 when an object was damaged: what could be read of it is in the WAL. */
async function pull(
  source: RecoverySource,
  plan: readonly RecoveryStep[],
  { files, console }: { files: DenoFileSystem; console: Console },
): Promise<number> {
  let [segments, rows, damaged] = [0, 0, 0];
  try {
    for await (const { step, salvaged } of applyRecovery(source, plan, { fs: files })) {
      if (salvaged.outcome === "sealed") segments += 1;
      rows += salvaged.rows;
      const isWhole = salvaged.outcome === "sealed" && salvaged.cutBytes === 0;
      if (isWhole || (step.from === "active" && salvaged.outcome !== "poison")) continue;
      damaged += 1;
      await console.notes.write(damageText(step, salvaged));
    }
  } catch (error) {
    await console.notes.write(
      `pulled ${counted(segments, "segment")} before it failed; run it again for the rest\n`,
    );
    throw error;
  }
  await console.notes.write(
    `pulled ${counted(segments, "segment")} with ${
      counted(rows, "row")
    }; start an ingest server on --to ${source.root}, and they are ` +
      "drained as its own\n",
  );
  return damaged > 0 ? 1 : 0;
}

function damageText({ key }: RecoveryStep, { rows, cutBytes }: Salvaged): string {
  return `${key} is damaged: ${rows} rows of it are in the WAL, ${cutBytes} bytes cannot be read; the object ` +
    "stays where it is\n";
}

/** Errors: `invalid_argument` for a URL that is no folder of a store. */
function sourceOf(from: string, root: string, files: DenoFileSystem): RecoverySource {
  const folder = warehousePlaceOf(from, "--from").replace(/\/+$/, "");
  const place = folder.startsWith("s3://") ? folder : resolve(folder);
  const slash = place.lastIndexOf("/");
  const [warehouse, prefix] = [place.slice(0, slash), place.slice(slash + 1)];
  if (warehouse === "s3:/" || prefix === "") {
    throw new UsageError(
      `Cannot recover from --from ${from}: give the mirror's folder, for example ` +
        "s3://bucket/wal-mirror/",
    );
  }
  const deps = {
    ...{ files, clock: new SystemClock(), random: new SystemRandom(), env: environment },
    option: "--from",
  };
  return {
    store: openStoreReader(warehouse === "" ? "/" : warehouse, deps),
    prefix,
    root,
  };
}

async function printPlan(plan: readonly RecoveryStep[], console: Console): Promise<void> {
  const rows = [
    ["lane", "segment", "from", "bytes", "action"],
    ...plan.map((step) => [
      laneName(step.lane),
      step.name,
      step.from,
      String(step.bytes),
      step.action,
    ]),
  ];
  const widths = [0, 1, 2, 3].map((at) => Math.max(...rows.map((row) => row[at]?.length ?? 0)));
  for (const row of rows) {
    await console.output.write(
      `${row.map((text, at) => text.padEnd(widths[at] ?? 0)).join("  ")}\n`,
    );
  }
}
