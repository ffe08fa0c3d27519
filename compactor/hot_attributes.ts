/**
 * What promotes hot attributes in the compactor: the option, and DuckDB's parser for a turn
 * of it.
 */

import { belowDataDir } from "../shared/catalog/storage_places.ts";
import {
  openStatementReader,
  type StatementReader,
} from "../shared/engine/predicate/statement_reader.ts";
import type { PromoteOptions } from "../shared/upkeep/promote_sweep.ts";
import { openScratchFolder } from "../shared/upkeep/scratch_folder.ts";
import { mayStartChild } from "../shared/os/child_process.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { SystemRandom } from "../shared/os/random.ts";
import type { CompactorSettings } from "./flags.ts";

/** undefined: nothing is promoted unasked. */
export function promoteOptionsOf(
  settings: Pick<CompactorSettings, "promoteHotAttributes" | "scratchDir" | "dataDir">,
): PromoteOptions | undefined {
  const { promoteHotAttributes: columnsMax } = settings;
  if (columnsMax === 0) return undefined;
  const scratchDir = belowDataDir(settings, settings.scratchDir);
  return { columnsMax, openStatements: () => openStatements(scratchDir) };
}

async function openStatements(scratchDir: string): Promise<StatementReader> {
  await using opening = new AsyncDisposableStack();
  const files = new DenoFileSystem();
  const scratch = opening.use(
    await openScratchFolder(scratchDir, { files, random: new SystemRandom() }),
  );
  const reader = opening.use(
    await openStatementReader({
      files,
      scratchDir: `${scratch.path}/engine`,
      hasProcess: mayStartChild(),
    }),
  );
  const opened = opening.move();
  return {
    attributes: (statements, options) => reader.attributes(statements, options),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}
