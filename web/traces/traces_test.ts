import { deepStrictEqual, ok, strictEqual, throws } from "node:assert/strict";
import fc from "fast-check";
import { criticalPath } from "./critical_path.ts";
import { isDuration, parseTags, tagsText } from "./search_texts.ts";
import { layoutServices } from "./service_graph.ts";
import { faultOf, NO_SEARCH, readSearch, summaryParameters, writeSearch } from "./trace_search.ts";
import { readTrace, type SpanKind, type TraceSpan } from "./trace_span.ts";
import { type SpanTree, spanTree } from "./trace_tree.ts";

interface Part {
  readonly id: string;
  readonly parent?: string;
  readonly from: number;
  readonly to: number;
  readonly kind?: SpanKind;
}

function spanOf({ id, parent = "", from, to, kind = "internal" }: Part): TraceSpan {
  const none = { attributes: [], resource: [], events: [], links: [] };
  return {
    ...{ spanId: id, parentId: parent, startNs: from, durationNs: to - from, kind, ...none },
    ...{ service: "s", name: id, isError: false, statusText: "", scope: "" },
  };
}

const treeOf = (parts: readonly Part[], adjustsClocks = false) =>
  spanTree(parts.map(spanOf), { adjustsClocks });

/** `a 0-5` for each part of the path. */
function pathOf(tree: SpanTree): string[] {
  return criticalPath(tree).map(({ at, fromNs, toNs }) =>
    `${tree.nodes[at]?.span.name} ${fromNs}-${toNs}`
  );
}

const PATHS: readonly {
  readonly name: string;
  readonly spans: readonly Part[];
  readonly path: readonly string[];
}[] = [
  {
    name: "goes through children one after another, and the work between them",
    spans: [
      { id: "root", from: 0, to: 100 },
      { id: "a", parent: "root", from: 10, to: 40 },
      { id: "b", parent: "root", from: 50, to: 90 },
    ],
    path: ["root 0-10", "a 10-40", "root 40-50", "b 50-90", "root 90-100"],
  },
  {
    name: "takes the child that ends last of those that run at once",
    spans: [
      { id: "root", from: 0, to: 100 },
      { id: "fast", parent: "root", from: 10, to: 40 },
      { id: "slow", parent: "root", from: 10, to: 80 },
      { id: "in slow", parent: "slow", from: 20, to: 70 },
    ],
    path: ["root 0-10", "slow 10-20", "in slow 20-70", "slow 70-80", "root 80-100"],
  },
  {
    name: "leaves out a child that still ran when a later one of the path began",
    spans: [
      { id: "root", from: 0, to: 100 },
      { id: "a", parent: "root", from: 0, to: 60 },
      { id: "b", parent: "root", from: 50, to: 100 },
    ],
    path: ["root 0-50", "b 50-100"],
  },
  {
    name: "leaves out asynchronous children: none waited for what ends after its parent",
    spans: [
      { id: "root", from: 0, to: 100 },
      { id: "mail", parent: "root", from: 60, to: 900, kind: "consumer" },
      { id: "later", parent: "root", from: 200, to: 300, kind: "consumer" },
    ],
    path: ["root 0-100"],
  },
  {
    name: "counts a server's span until its client gave up",
    spans: [
      { id: "call", from: 0, to: 100, kind: "client" },
      { id: "serve", parent: "call", from: 10, to: 500, kind: "server" },
      { id: "read", parent: "serve", from: 20, to: 400 },
    ],
    path: ["call 0-10", "serve 10-20", "read 20-100"],
  },
  {
    name: "takes the trace as the parent of all where the root is missing",
    spans: [
      { id: "a", parent: "lost", from: 0, to: 30 },
      { id: "b", parent: "lost", from: 40, to: 90 },
      { id: "in b", parent: "b", from: 50, to: 60 },
    ],
    path: ["a 0-30", "b 40-50", "in b 50-60", "b 60-90"],
  },
  { name: "is empty without spans", spans: [], path: [] },
];

for (const { name, spans, path } of PATHS) {
  Deno.test({
    name: `criticalPath ${name}`,
    fn: () => deepStrictEqual(pathOf(treeOf(spans)), path),
  });
}

const PARTS = fc.array(
  fc.record({
    parent: fc.integer({ min: -2, max: 40 }),
    from: fc.integer({ min: 0, max: 1_000 }),
    took: fc.integer({ min: 0, max: 400 }),
    kind: fc.constantFrom<SpanKind>("internal", "server", "client", "consumer"),
  }),
  { minLength: 1, maxLength: 40 },
).map((all) =>
  all.map(({ parent, from, took, kind }, at): Part => ({
    ...{ id: `i${at}`, from, to: from + took, kind },
    ...(parent < -1 ? {} : { parent: `i${parent}` }),
  }))
);

Deno.test({
  name: "spanTree holds every span once, and criticalPath covers a top span exactly once",
  fn() {
    fc.assert(fc.property(PARTS, fc.boolean(), (parts, adjusts) => {
      const tree = treeOf(parts, adjusts);
      strictEqual(new Set(tree.nodes.map(({ span }) => span)).size, parts.length);
      for (const { at, parent, children, below, depth } of tree.nodes) {
        for (const child of children) strictEqual(tree.nodes[child]?.parent, at);
        strictEqual(children.length === 0, below === 0);
        if (parent !== undefined) strictEqual(tree.nodes[parent]?.depth, depth - 1);
      }
      const path = criticalPath(tree);
      for (const [index, part] of path.entries()) {
        const before = path[index - 1];
        ok(before === undefined || before.toNs <= part.fromNs, "parts do not overlap");
        const node = tree.nodes[part.at];
        ok(node !== undefined && part.fromNs >= node.fromNs && part.toNs <= node.toNs);
      }
      const [only, ...more] = tree.tops;
      const top = tree.nodes[only ?? -1];
      if (more.length > 0 || top === undefined) return;
      const covered = path.reduce((sum, { fromNs, toNs }) => sum + toNs - fromNs, 0);
      strictEqual(covered, top.toNs - top.fromNs);
    }));
  },
});

Deno.test({
  name: "spanTree moves a server's span into its client's, with all below it, and no other",
  fn() {
    const parts: Part[] = [
      { id: "call", from: 100, to: 200, kind: "client" },
      { id: "serve", parent: "call", from: 20, to: 80, kind: "server" },
      { id: "read", parent: "serve", from: 30, to: 50 },
      { id: "too long", parent: "call", from: 0, to: 900, kind: "server" },
      { id: "later", parent: "call", from: 300, to: 310, kind: "consumer" },
    ];
    const places = (adjusts: boolean) =>
      Object.fromEntries(
        treeOf(parts, adjusts).nodes.map(({ span, fromNs, toNs }) => [span.name, [fromNs, toNs]]),
      );
    const sent = {
      ...{ call: [100, 200], serve: [20, 80], read: [30, 50], "too long": [0, 900] },
      later: [300, 310],
    };
    deepStrictEqual(places(false), sent);
    deepStrictEqual(places(true), { ...sent, serve: [120, 180], read: [130, 150] });
    strictEqual(treeOf(parts, true).moved, 1);
  },
});

Deno.test({
  name: "spanTree keeps circles, lost parents and spans that share an id",
  fn() {
    const tree = treeOf([
      { id: "a", parent: "b", from: 0, to: 10 },
      { id: "b", parent: "a", from: 1, to: 9 },
      { id: "c", parent: "lost", from: 2, to: 3 },
      { id: "d", from: 4, to: 8, kind: "client" },
      { id: "d", parent: "d", from: 5, to: 7, kind: "server" },
    ]);
    deepStrictEqual(
      tree.nodes.map(({ span, depth, isOrphan }) => [span.name, depth, isOrphan]),
      [["a", 0, true], ["b", 1, false], ["c", 0, true], ["d", 0, false], ["d", 0, true]],
    );
  },
});

Deno.test({
  name: "readTrace reads OTLP with nanoseconds since the first span, and values as text",
  fn() {
    const { startNs, spans } = readTrace({
      resourceSpans: [{
        resource: { attributes: [{ key: "service.name", value: { stringValue: "shop" } }] },
        scopeSpans: [{
          scope: { name: "http", version: "1" },
          spans: [{
            ...{ spanId: "b", parentSpanId: "a", name: "pay", kind: 3 },
            startTimeUnixNano: "1795132800000000123",
            endTimeUnixNano: "1795132800000000500",
            attributes: [
              { key: "n", value: { intValue: "9007199254740993" } },
              {
                key: "list",
                value: {
                  arrayValue: { values: [{ boolValue: true }, { doubleValue: 1.5 }] as never },
                },
              },
              { key: "map", value: { kvlistValue: { values: [{ key: "x", value: {} }] } } },
            ],
            events: [{ timeUnixNano: "1795132800000000200", name: "e" }],
            status: { code: 2, message: "no" },
          }, {
            ...{ spanId: "a", name: "order" },
            startTimeUnixNano: "1795132800000000100",
            endTimeUnixNano: "1795132800000000050",
          }],
        }],
      }],
    });
    strictEqual(startNs, 1_795_132_800_000_000_100n);
    const [first, second] = spans;
    deepStrictEqual([first?.spanId, first?.startNs, first?.durationNs], ["a", 0, 0]);
    deepStrictEqual([second?.startNs, second?.durationNs, second?.isError], [23, 377, true]);
    deepStrictEqual([second?.kind, second?.service, second?.scope], ["client", "shop", "http 1"]);
    deepStrictEqual(second?.events.map(({ ns }) => ns), [100]);
    deepStrictEqual(
      second?.attributes.map(({ text }) => text),
      ["9007199254740993", "[true,1.5]", "{}"],
    );
    deepStrictEqual(readTrace({}).spans, []);
  },
});

Deno.test({
  name: "tagsText is read back by parseTags, whatever the keys and values",
  fn() {
    const text = fc.string({ unit: "grapheme", maxLength: 12 });
    fc.assert(fc.property(
      fc.array(fc.tuple(text, text)),
      (pairs) => {
        const tags = new Map(pairs);
        deepStrictEqual([...parseTags(tagsText(tags))], [...tags]);
      },
    ));
    deepStrictEqual([...parseTags('  error=true  "a b"="c \\" d" empty= ')], [
      ["error", "true"],
      ["a b", 'c " d'],
      ["empty", ""],
    ]);
    for (const wrong of ["error", 'a="b', "=x", 'a="b"c']) throws(() => parseTags(wrong), wrong);
  },
});

Deno.test({
  name: "a search is read back from the address, and faults are told at their field",
  fn() {
    const search = {
      ...{ service: "a b", operation: "GET /", tags: "x=1", minDuration: "1.5ms" },
      ...{ maxDuration: "1h30m", range: { kind: "between", from: 5, to: 9 } as const, limit: 50 },
    };
    deepStrictEqual(readSearch(writeSearch(search)), search);
    deepStrictEqual(readSearch(new URLSearchParams("limit=7&range=x")), NO_SEARCH);
    strictEqual(faultOf(search), undefined);
    strictEqual(faultOf({ ...search, tags: "x" })?.field, "tags");
    strictEqual(faultOf({ ...search, maxDuration: "90" })?.field, "maxDuration");
    const asked = summaryParameters(search, { from: 0, to: 1_000 });
    strictEqual(asked.get("query.attributes"), '{"x":"1"}');
    strictEqual(asked.get("query.startTimeMax"), "1970-01-01T00:00:01.000Z");
    for (const text of ["", "0", "100us", "1.5s", "1h30m"]) ok(isDuration(text), text);
    for (const text of ["1", "s", "1 s", "-1s"]) ok(!isDuration(text), text);
  },
});

Deno.test({
  name: "layoutServices puts callers left of whom they call, and ends with circles",
  fn() {
    const calls = [["a", "b"], ["b", "c"], ["a", "c"], ["c", "a"], ["d", "d"]].map((
      [parent = "", child = ""],
    ) => ({ parent, child, count: 1 }));
    const { services, layers, rows } = layoutServices(calls, ["e"]);
    const layerOf = Object.fromEntries(services.map(({ name, layer }) => [name, layer]));
    deepStrictEqual(layerOf, { a: 0, b: 1, c: 2, d: 0, e: 0 });
    deepStrictEqual([layers, rows], [3, 3]);
    const places = services.map(({ layer, row }) => `${layer} ${row}`);
    strictEqual(new Set(places).size, services.length);
    deepStrictEqual(layoutServices([]), { services: [], layers: 0, rows: 0 });
  },
});
