/** What the processes of a simulated life share. */

import type { Catalog } from "../../shared/catalog/catalog.ts";
import type { DeleteLedger } from "../../shared/catalog/delete_ledger.ts";
import type { Removals } from "../../shared/catalog/removals.ts";
import type { MaintenanceCatalog } from "../../shared/catalog/sql_maintenance_catalog.ts";
import type { WalClaims } from "../../shared/catalog/wal_claims.ts";
import type { IcebergReader } from "../../shared/iceberg/iceberg_reader.ts";
import type { SeedPlan } from "./faults.ts";
import type { Mutation } from "./mutations.ts";
import type { RowFiles } from "./row_files.ts";
import type { Scheduler } from "./scheduler.ts";
import type { SimMachine } from "./sim_machine.ts";
import type { SimStore } from "./sim_store.ts";
import type { Row, Truth } from "./truth.ts";

/** What a client sends again under its key until it is acknowledged. */
export interface SentBatch {
  readonly rows: readonly Row[];
  readonly digest: Uint8Array;
  /** By the scheduler's time; a key is remembered for ten minutes. */
  readonly sentMs: number;
}

/** The world as its processes see it. */
export interface Life {
  readonly scheduler: Scheduler;
  readonly plan: SeedPlan;
  readonly mutation: Mutation | undefined;
  readonly catalog: Catalog;
  readonly ledger: DeleteLedger;
  readonly kept: MaintenanceCatalog;
  readonly removals: Removals;
  readonly claims: WalClaims;
  readonly store: SimStore;
  readonly rowFiles: RowFiles;
  readonly truth: Truth;
  /** For the model, which looks from outside. */
  readonly reader: IcebergReader;
  /** Requests without an answer, by the machine that they were sent to. */
  readonly sent: Map<SimMachine, Set<SentBatch>>;
  /** Clocks that jumped. */
  readonly jumps: number;
  /** Processes end when they have done what they are at. */
  readonly isClosing: boolean;
  count(what: string): void;
  /** Whether a delete task that is sent now has to find the row. */
  mustGo(row: Row): boolean;
}
