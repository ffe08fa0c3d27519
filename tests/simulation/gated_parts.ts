/** Parts of the catalog as one process sees them: each call is a step of the schedule. */

import type { Catalog, CommitOutcome, TableCommit } from "../../shared/catalog/catalog.ts";
import type { DeleteLedger } from "../../shared/catalog/delete_ledger.ts";
import type { Mutation } from "./mutations.ts";
import type { SimProcess } from "./sim_process.ts";
import type { Truth } from "./truth.ts";

/** `target`, whose methods are calls over the network. */
export function gatedParts<T extends object>(process: SimProcess, label: string, target: T): T {
  return new Proxy(target, {
    get(_, name) {
      const member: unknown = Reflect.get(target, name);
      if (typeof member !== "function" || typeof name === "symbol") return member;
      return (...args: unknown[]) => {
        const call = { label: `${label}.${name}`, place: "network" } as const;
        return process.scheduler.call(
          process,
          call,
          async () => await member.apply(target, args),
        );
      };
    },
  });
}

/** A catalog whose commits the model sees, at the moment at which they take effect. */
export function watchedCatalog(catalog: Catalog, truth: Truth, mutation?: Mutation): Catalog {
  const commit = async (given: TableCommit): Promise<CommitOutcome> => {
    const change = await broken(catalog, given, mutation);
    const outcome = await catalog.commit(change);
    if (outcome === "committed") await truth.committed(given);
    return outcome;
  };
  return overridden(catalog, { commit });
}

async function broken(
  catalog: Catalog,
  change: TableCommit,
  mutation: Mutation | undefined,
): Promise<TableCommit> {
  if (mutation === "segments not claimed") return { ...change, consumed: [] };
  if (mutation === "pointer not compared") {
    return { ...change, expected: await catalog.metadataLocation(change.ident) };
  }
  if (mutation === "task not claimed") {
    const { deletes: _, ...rest } = change;
    return rest;
  }
  return change;
}

/** A ledger of which the model hears when a task ends without a commit. */
export function watchedLedger(ledger: DeleteLedger, truth: Truth): DeleteLedger {
  const tokens = new Map<string, string>();
  return overridden(ledger, {
    claim: async (request: Parameters<DeleteLedger["claim"]>[0]) => {
      tokens.set(request.token, request.taskId);
      return await ledger.claim(request);
    },
    finishEmpty: async (token: string) => {
      const isDone = await ledger.finishEmpty(token);
      if (isDone) truth.taskDone(tokens.get(token) ?? "");
      return isDone;
    },
  });
}

function overridden<T extends object>(target: T, members: Partial<T>): T {
  return new Proxy(target, {
    get(_, name) {
      const own: unknown = Reflect.get(members, name);
      if (own !== undefined) return own;
      const member: unknown = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
