/** A catalog whose commits go through a test first: for races and lost answers. */

import type { Catalog, CommitOutcome, TableCommit } from "../catalog/catalog.ts";

/** `catalog` with another `commit`; everything else is its own. */
export function withCommit(
  catalog: Catalog,
  commit: (change: TableCommit) => Promise<CommitOutcome>,
): Catalog {
  return new Proxy(catalog, {
    get(target, name) {
      if (name === "commit") return commit;
      const member = Reflect.get(target, name);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
}
