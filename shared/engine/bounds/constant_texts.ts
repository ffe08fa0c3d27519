/** Evaluates constant expressions of a statement's tree with DuckDB. */

import type { CachedConnection } from "../statement/statement_cache.ts";
import { nodeAt, nodesAt, parseTree, type TreeNode } from "../statement/syntax_tree.ts";

/**
 * Returns the text of each constant, in their order; null stands for NULL. All texts are undefined
 * when one constant cannot be evaluated alone: the statement itself will tell why.
 *
 * `shown` writes SQL that makes a text of the constant with a name. `steady` says that neither
 * clock nor chance is in any constant.
 */
export async function constantTexts(
  connection: CachedConnection,
  constants: readonly TreeNode[],
  { shown, steady }: { readonly shown: (name: string) => string; readonly steady: boolean },
): Promise<(string | null | undefined)[]> {
  if (constants.length === 0) return [];
  const texts = constants.map((_, i) => shown(`c${i}`));
  const holes = constants.map((_, i) => `NULL AS c${i}`);
  const frame = parseTree(
    await connection.serialize(`SELECT ${texts.join(", ")} FROM (SELECT ${holes.join(", ")})`),
  );
  const select = firstSelect(frame);
  const inner = nodeAt(nodeAt(nodeAt(select, "from_table") ?? {}, "subquery") ?? {}, "node") ?? {};
  inner["select_list"] = constants.map((constant, i) => ({ ...constant, alias: `c${i}` }));
  try {
    const sql = await connection.deserialize(JSON.stringify(frame));
    const [row] = await (steady ? connection.steadyTexts(sql) : connection.texts(sql));
    return constants.map((_, i) => row?.[i]);
  } catch {
    return constants.map(() => undefined);
  }
}

function firstSelect(document: TreeNode): TreeNode {
  const [statement] = nodesAt(document, "statements");
  return nodeAt(statement ?? {}, "node") ?? {};
}
