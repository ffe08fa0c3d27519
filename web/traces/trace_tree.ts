/**
 * Spans as a tree. What senders get wrong stays visible. A span whose parent is missing stands at
 * the top, marked. Spans that name each other as parents are cut apart. Two spans of one id are
 * both there.
 */

import type { TraceSpan } from "./trace_span.ts";

/** A span at its place. */
export interface SpanNode {
  /** Place in `SpanTree.nodes`: parents before children, siblings by their start. */
  readonly at: number;
  readonly span: TraceSpan;
  readonly depth: number;
  /** Place of the parent; undefined at the top. */
  readonly parent: number | undefined;
  readonly children: readonly number[];
  /** Nodes below this one: they follow it directly. */
  readonly below: number;
  /** Whether the parent that it names is not in the trace. */
  readonly isOrphan: boolean;
  /** Nanoseconds by which it was moved, because its clock differs from its parent's. */
  readonly shiftNs: number;
  /** Start and end, moved. */
  readonly fromNs: number;
  readonly toNs: number;
}

export interface SpanTree {
  /** Depth first. */
  readonly nodes: readonly SpanNode[];
  readonly tops: readonly number[];
  readonly fromNs: number;
  readonly toNs: number;
  /** Spans that were moved themselves, not with their parent. */
  readonly moved: number;
}

interface Draft {
  readonly span: TraceSpan;
  readonly children: Draft[];
  isOrphan: boolean;
}

/**
 * Makes the tree. With `adjustsClocks` a server's span that lies outside of its client's span is
 * moved into its middle, with all below it: no answer is older than its question.
 * A consumer's span may lie anywhere after its producer's, and a span that is longer than its
 * parent is not explained by a clock: neither is moved.
 */
export function spanTree(
  spans: readonly TraceSpan[],
  { adjustsClocks }: { readonly adjustsClocks: boolean },
): SpanTree {
  const tops = draftsOf(spans);
  const nodes: (Omit<SpanNode, "children" | "below"> & { children: number[]; below: number })[] =
    [];
  let moved = 0;
  const todo = tops.map((draft) => ({
    draft,
    parent: undefined as number | undefined,
    shiftNs: 0,
  })).toReversed();
  for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
    const { draft: { span, children, isOrphan }, parent } = next;
    const above = parent === undefined ? undefined : nodes[parent];
    const own = adjustsClocks && above !== undefined
      ? clockShift(span, above, next.shiftNs)
      : next.shiftNs;
    if (own !== next.shiftNs) moved += 1;
    const at = nodes.length;
    above?.children.push(at);
    nodes.push({
      ...{ at, span, parent, isOrphan, children: [], below: 0, shiftNs: own },
      depth: above === undefined ? 0 : above.depth + 1,
      fromNs: span.startNs + own,
      toNs: span.startNs + own + span.durationNs,
    });
    for (const draft of children.toReversed()) todo.push({ draft, parent: at, shiftNs: own });
  }
  for (const { parent, below } of nodes.toReversed()) {
    const above = parent === undefined ? undefined : nodes[parent];
    if (above !== undefined) above.below += below + 1;
  }
  return {
    nodes,
    tops: nodes.filter(({ parent }) => parent === undefined).map(({ at }) => at),
    fromNs: nodes.reduce((least, { fromNs }) => Math.min(least, fromNs), nodes[0]?.fromNs ?? 0),
    toNs: nodes.reduce((most, { toNs }) => Math.max(most, toNs), 0),
    moved,
  };
}

/** Drafts without a parent, each with those below it. */
function draftsOf(spans: readonly TraceSpan[]): readonly Draft[] {
  const drafts = spans.map((span): Draft => ({ span, children: [], isOrphan: false }));
  const byId = new Map<string, Draft>(); // The first of an id has the children.
  for (const draft of drafts) {
    if (!byId.has(draft.span.spanId)) byId.set(draft.span.spanId, draft);
  }
  const tops: Draft[] = [];
  for (const draft of drafts) {
    const { parentId, spanId } = draft.span;
    // Zipkin's server has the id and the parent of its client: a span is not below itself.
    const parent = parentId === spanId ? undefined : byId.get(parentId);
    draft.isOrphan = parentId !== "" && parent === undefined;
    if (parent === undefined) tops.push(draft);
    else parent.children.push(draft);
  }
  cutCircles(drafts, { byId, tops });
  return tops.sort((a, b) => a.span.startNs - b.span.startNs);
}

/** Who cannot be reached from the top lies in a circle, or below one: its first span is cut out. */
function cutCircles(
  drafts: readonly Draft[],
  { byId, tops }: { readonly byId: ReadonlyMap<string, Draft>; readonly tops: Draft[] },
): void {
  const reached = new Set<Draft>();
  const reach = (from: readonly Draft[]) => {
    const todo = [...from];
    for (let next = todo.pop(); next !== undefined; next = todo.pop()) {
      if (reached.has(next)) continue;
      reached.add(next);
      for (const child of next.children) todo.push(child);
    }
  };
  reach(tops);
  for (const draft of drafts) {
    if (reached.has(draft)) continue;
    const siblings = byId.get(draft.span.parentId)?.children;
    siblings?.splice(siblings.indexOf(draft), 1);
    draft.isOrphan = true;
    tops.push(draft);
    reach([draft]);
  }
}

function clockShift(
  span: TraceSpan,
  above: { readonly span: TraceSpan; readonly fromNs: number; readonly toNs: number },
  inheritedNs: number,
): number {
  if (span.kind !== "server" || above.span.kind !== "client") return inheritedNs;
  const fromNs = span.startNs + inheritedNs;
  const isWithin = fromNs >= above.fromNs && fromNs + span.durationNs <= above.toNs;
  if (isWithin || span.durationNs > above.span.durationNs) return inheritedNs;
  const middle = above.fromNs + Math.floor((above.span.durationNs - span.durationNs) / 2);
  return middle - span.startNs;
}
