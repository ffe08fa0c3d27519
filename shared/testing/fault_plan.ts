/** Makes one call of a run fail, before or after it takes effect, alone or with all that follow. */

import { OperatingError } from "../base/errors.ts";
import type { CommitDeps } from "../iceberg/commit_table.ts";

export interface Fault {
  /** The operation that fails, counted from 0. */
  readonly at: number;
  /** Whether it takes effect first. */
  readonly when: "before" | "after";
  /** `crash`: nothing works from then on. */
  readonly then: "continue" | "crash";
}

/** Members whose answer is no promise. */
const AT_ONCE: ReadonlySet<string> = new Set(["list", "localPath"]);

/** Counts every call to store and catalog, and makes those of `fault` fail. */
export class FaultPlan {
  operations: string[] = [];

  constructor(readonly fault: Fault | undefined) {}

  wrap<T extends object>(target: T, label: string): T {
    return new Proxy(target, {
      get: (_, name) => {
        const member: unknown = Reflect.get(target, name);
        if (typeof member !== "function" || AT_ONCE.has(String(name))) return member;
        return (...args: unknown[]) =>
          this.#run(`${label}.${String(name)}`, () => member.apply(target, args));
      },
    });
  }

  /** `deps` whose store and catalog fail as planned. */
  deps(deps: CommitDeps): CommitDeps {
    const store = this.wrap(deps.store, "store");
    return { ...deps, store, catalog: this.wrap(deps.catalog, "catalog") };
  }

  async #run(operation: string, act: () => unknown): Promise<unknown> {
    const index = this.operations.push(operation) - 1;
    const { fault } = this;
    const dead = fault?.then === "crash" && index > fault.at;
    if (dead || (fault?.at === index && fault.when === "before")) throw failure(operation);
    const value = await act();
    if (fault?.at === index) throw failure(operation);
    return value;
  }
}

function failure(operation: string): OperatingError {
  return new OperatingError("unavailable", `injected failure of ${operation}`);
}

/** Every fault of a run of `operations` calls. */
export function faultsOf(operations: number): Fault[] {
  const faults: Fault[] = [];
  for (let at = 0; at < operations; at += 1) {
    for (const when of ["before", "after"] as const) {
      for (const then of ["continue", "crash"] as const) faults.push({ at, when, then });
    }
  }
  return faults;
}
