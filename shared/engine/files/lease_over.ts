/** A lease that passes on what it does not change to the lease behind it. */

import type { DataFile } from "../../iceberg/types.ts";
import type { ParquetFooter } from "../../parquet/footer.ts";
import type { ReadableStore } from "../../storage/object_store.ts";
import type { Plan } from "../plan/plan.ts";
import type { DataFileLease, OpenDataFile, StoreReadsReport } from "./data_files.ts";

/** Subclasses bring what they can by themselves, and leave the rest to `inner`. */
export abstract class LeaseOver implements DataFileLease {
  constructor(protected readonly inner: DataFileLease) {}

  get store(): ReadableStore {
    return this.inner.store;
  }

  get indexStore(): ReadableStore {
    return this.inner.indexStore;
  }

  get reads(): StoreReadsReport | undefined {
    return this.inner.reads;
  }

  path(file: DataFile): string {
    return this.inner.path(file);
  }

  footer(file: DataFile): Promise<ParquetFooter> {
    return this.inner.footer(file);
  }

  open(file: DataFile): Promise<OpenDataFile> {
    return this.inner.open(file);
  }

  name(plan: Plan): Promise<void> {
    return this.inner.name(plan);
  }

  abstract bring(plan: Plan): Promise<Plan>;

  missingBytes(plan: Plan): number {
    return this.inner.missingBytes(plan);
  }

  [Symbol.dispose](): void {
    this.inner[Symbol.dispose]();
  }
}
