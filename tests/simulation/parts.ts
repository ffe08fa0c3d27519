/** The product's parts as one simulated process has them: over its disk, its network, its clock. */

import type { Catalog } from "../../shared/catalog/catalog.ts";
import type { DeleteLedger } from "../../shared/catalog/delete_ledger.ts";
import { INLINE_DERIVER } from "../../shared/derived/deriver.ts";
import type { DrainDeps } from "../../shared/drain/drain.ts";
import type { RowMatcher } from "../../shared/engine/predicate/row_matcher.ts";
import { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import { INLINE_PARQUET_DECODER } from "../../shared/parquet/parquet_decoder.ts";
import { INLINE_PARQUET_ENCODER } from "../../shared/parquet/parquet_encoder.ts";
import { RetryingStore } from "../../shared/storage/retrying_store.ts";
import { numbersOfFile } from "../../shared/testing/delete_lab.ts";
import { inlinePacker } from "../../shared/testing/inline_packer.ts";
import type { DeleteTaskDeps } from "../../shared/upkeep/delete_task.ts";
import { MERGE_POLICY_DEFAULT } from "../../shared/upkeep/plan_merge.ts";
import {
  type TableSweep,
  type TableSweepDeps,
  tableSweeps,
} from "../../shared/upkeep/table_sweeps.ts";
import { openWalConsumerAdmin } from "../../shared/wal/admin.ts";
import type { MirrorDeps } from "../../shared/wal/mirror/mirror_segments.ts";
import {
  MirrorConsumerAdmin,
  openMirrorWalReader,
} from "../../shared/wal/mirror/mirror_wal_reader.ts";
import { openWalReader } from "../../shared/wal/reader.ts";
import type { Life } from "./life.ts";
import { GatedFiles } from "./gated_files.ts";
import { gatedParts } from "./gated_parts.ts";
import type { AnswerSource } from "./read_answer.ts";
import { SCRATCH_DIR, type SimMachine, WAL_ROOT } from "./sim_machine.ts";
import type { SimProcess } from "./sim_process.ts";
import { GatedStore } from "./sim_store.ts";
import { MODULUS } from "./truth.ts";

const MIRROR_PREFIX = "wal-mirror";
/** Small, so that a few rows make tiers, full files and overlap. */
const MERGE = {
  policy: { ...MERGE_POLICY_DEFAULT, fanIn: 3, depthMax: 4, taskFilesMax: 12 },
  inputBytesMax: 3_000,
};
/** The sweeps that keep files and snapshots in order; the others make derived files alone. */
const SWEEPS: ReadonlySet<string> = new Set(["expire", "orphans", "merge"]);

export interface CompactorParts {
  readonly drain: DrainDeps;
  readonly upkeep: TableSweepDeps;
  readonly sweeps: readonly TableSweep[];
  /** undefined: where delete tasks are left to others. */
  readonly deletes: DeleteTaskDeps | undefined;
  readonly ledger: DeleteLedger;
  readonly catalog: Catalog;
  readonly reader: IcebergReader;
}

export function filesOf(world: Life, process: SimProcess): GatedFiles {
  return new GatedFiles(process, world.mutation);
}

function storeOf(world: Life, process: SimProcess): RetryingStore {
  return new RetryingStore(new GatedStore(process, world.store), process);
}

/** What a compactor works with; `isBesideWal`: whatever its machine, it drains the WAL there. */
export async function compactorParts(
  world: Life,
  process: SimProcess,
  { isBesideWal = process.machine.hasWal } = {},
): Promise<CompactorParts> {
  const { clock, random } = process;
  const files = filesOf(world, process);
  const store = storeOf(world, process);
  const { kept } = world;
  const catalog = gatedParts(process, "catalog", world.catalog);
  const ledger = gatedParts(process, "ledger", world.ledger);
  const removals = gatedParts(process, "removals", world.removals);
  const reader = new IcebergReader(store);
  const writing = {
    store,
    catalog,
    reader,
    clock,
    random,
    encoder: INLINE_PARQUET_ENCODER,
    ...(world.plan.derives ? { deriver: INLINE_DERIVER } : {}),
  };
  const claims = gatedParts(process, "claims", world.claims);
  const isMirrored = world.plan.topology === "mirror";
  const drain: DrainDeps = {
    ...writing,
    attributeColumnsMax: 2,
    ...(isMirrored && isBesideWal ? { mirrorPrefix: MIRROR_PREFIX } : {}),
    ...(isBesideWal
      ? {
        wal: openWalReader(files, WAL_ROOT),
        admin: openWalConsumerAdmin(files, clock, WAL_ROOT, random),
      }
      : {
        wal: openMirrorWalReader(store, MIRROR_PREFIX),
        admin: new MirrorConsumerAdmin(),
        claiming: { claims, claimant: process.name, leaseMs: 15_000, attemptsMax: 1_000 },
      }),
  };
  const upkeep: TableSweepDeps = {
    ...writing,
    decoder: INLINE_PARQUET_DECODER,
    leases: gatedParts(process, "leases", kept.leases),
    removals,
    isBacklogOver: () => Promise.resolve(false),
  };
  const expire = { retainLast: 1, ageMsMin: world.plan.snapshotMs };
  await files.mkdir(SCRATCH_DIR);
  return {
    drain,
    upkeep,
    sweeps: tableSweeps(upkeep, { summariesIntervalMs: 60_000, expire, merge: MERGE })
      .filter(({ name }) => SWEEPS.has(name)),
    deletes: isBesideWal
      ? {
        ...writing,
        wal: drain.wal,
        ledger,
        files,
        matcher: () => Promise.resolve(matcherOf(process.machine)),
        scratchDir: () => Promise.resolve(SCRATCH_DIR),
        claimant: process.name,
      }
      : undefined,
    ledger,
    catalog,
    reader,
  };
}

/** Says which rows of a file leave a residue; DuckDB's predicates have tests of their own. */
function matcherOf(machine: SimMachine): RowMatcher {
  return {
    async match({ path, rows }, { predicate }) {
      const store = { get: (file: string) => machine.files.readFile(file) };
      const numbers = await numbersOfFile(store, path);
      if (numbers.length !== rows) throw new Error(`${path} has ${numbers.length} rows`);
      const gone = new Set(
        numbers.flatMap((number, at) => number % MODULUS === Number(predicate) ? [at] : []),
      );
      return { count: gone.size, has: (row) => gone.has(row) };
    },
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** undefined: its WAL is not mirrored. */
export function mirrorDeps(world: Life, process: SimProcess): MirrorDeps | undefined {
  if (world.plan.topology !== "mirror") return undefined;
  const fs = filesOf(world, process);
  return {
    fs,
    root: WAL_ROOT,
    store: storeOf(world, process),
    prefix: MIRROR_PREFIX,
    parallel: 2,
    packer: inlinePacker(fs),
    onEvent: () => {},
  };
}

export function readerSource(world: Life, process: SimProcess): AnswerSource {
  const store = storeOf(world, process);
  const wal = process.machine.hasWal ? openWalReader(filesOf(world, process), WAL_ROOT) : undefined;
  return {
    catalog: gatedParts(process, "catalog", world.catalog),
    tables: new IcebergReader(store),
    store,
    wal,
    rows: world.rowFiles,
  };
}

/** What a statement at `machine` would read now, without a step of the schedule. */
export function sourceNow(world: Life, machine: SimMachine): AnswerSource {
  return {
    catalog: world.catalog,
    tables: world.reader,
    store: { get: () => Promise.resolve(new Uint8Array()) },
    wal: machine.hasWal ? openWalReader(machine.files, WAL_ROOT) : undefined,
    rows: world.rowFiles,
    isStill: true,
  };
}
