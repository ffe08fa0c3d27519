/**
 * The critical path: the work that a trace's duration consists of. Making any other span faster
 * does not make the trace faster.
 *
 * The walk begins at the end of the top span and goes back in time. The child that ended last
 * before that moment is what the span waited for: its time is on the path, and within it the
 * question is asked again. What lies between its end and the moment is the span's own work. The
 * walk goes on from that child's start. So each moment of the top span belongs to one span.
 *
 * - A child that still ran when a later child of the path began is not on the path: the later one
 *   did not wait for it. The time is the parent's.
 * - A child that ends after its parent is asynchronous: nobody waited for it. A server's span is
 *   not, since its client waited until it gave up; the part until then is on the path.
 * - Where several spans stand at the top, because the root is missing or there are several, the
 *   trace itself is taken as their parent. Time that no span covers belongs to no span.
 */

import type { SpanNode, SpanTree } from "./trace_tree.ts";

/** A part of a span that is on the path: its own work, while it waited for no child. */
export interface PathPart {
  /** Place of the span in `SpanTree.nodes`. */
  readonly at: number;
  readonly fromNs: number;
  readonly toNs: number;
}

/** A time that was waited for a span. */
interface Wait {
  /** Undefined: the trace itself. */
  readonly at: number | undefined;
  readonly children: readonly number[];
  /** End of the span; `toNs` is earlier where it was not waited for to its end. */
  readonly endNs: number;
  readonly fromNs: number;
  readonly toNs: number;
}

/** Returns the parts of the path, the earliest first; they do not overlap. */
export function criticalPath(tree: SpanTree): readonly PathPart[] {
  const { nodes, tops, fromNs, toNs } = tree;
  const [only] = tops;
  const top = tops.length === 1 && only !== undefined ? nodes[only] : undefined;
  const parts: PathPart[] = [];
  const todo: Wait[] = [
    top === undefined
      ? { at: undefined, children: tops, endNs: toNs, fromNs, toNs }
      : { ...top, endNs: top.toNs },
  ];
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    let momentNs = next.toNs;
    const own = (fromNs: number) => {
      if (next.at === undefined || fromNs >= momentNs) return;
      parts.push({ at: next.at, fromNs, toNs: momentNs });
    };
    for (const child of awaited(next, tree)) {
      const endNs = Math.min(child.toNs, next.toNs);
      if (endNs > momentNs) continue;
      own(endNs);
      momentNs = Math.max(child.fromNs, next.fromNs);
      const { at, children } = child;
      todo.push({ at, children, endNs: child.toNs, fromNs: momentNs, toNs: endNs });
    }
    own(next.fromNs);
  }
  return parts.sort((a, b) => a.fromNs - b.fromNs);
}

/** Children whose time may be on the path, the last to end first. */
function awaited(wait: Wait, { nodes }: SpanTree): readonly SpanNode[] {
  return wait.children.flatMap((at) => nodes[at] ?? []).filter(({ span, fromNs, toNs }) =>
    fromNs < wait.toNs && toNs > wait.fromNs && (toNs <= wait.endNs || span.kind === "server")
  ).sort((a, b) =>
    Math.min(b.toNs, wait.toNs) - Math.min(a.toNs, wait.toNs) || a.fromNs - b.fromNs
  );
}

/** Nanoseconds on the path by the span's place. */
export function pathNanos(parts: readonly PathPart[]): ReadonlyMap<number, number> {
  const sums = new Map<number, number>();
  for (const { at, fromNs, toNs } of parts) sums.set(at, (sums.get(at) ?? 0) + toNs - fromNs);
  return sums;
}
