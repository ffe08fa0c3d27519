/**
 * What every `Catalog` must do: `shared/catalog/catalog.ts` as cases. A test file runs each case on
 * a fresh catalog that several handles share.
 */

import assert from "node:assert/strict";
import { isOperatingError } from "../base/errors.ts";
import type { Catalog, TableCommit } from "../catalog/catalog.ts";
import { EVENTS_SCHEMA } from "../schema/events.ts";
import type { TableSchema } from "../schema/schema.ts";
import type { TableIdent } from "../tenant/tenant.ts";
import { segmentNames } from "./segment_names.ts";

export interface CatalogHandles {
  readonly catalog: Catalog;
  /** A second writer on the same catalog, as another process would have. */
  readonly other: Catalog;
}

export interface CatalogCase {
  readonly name: string;
  run(handles: CatalogHandles): Promise<void>;
}

const EVENTS: TableIdent = { namespace: "svc", name: "events" };

export const CATALOG_CASES: readonly CatalogCase[] = [
  {
    name: "an empty catalog has no tables",
    async run({ catalog }) {
      assert.deepEqual(await catalog.namespaces(), []);
      assert.deepEqual(await catalog.tables("svc"), []);
      assert.equal(await catalog.metadataLocation(EVENTS), undefined);
      const view = await catalog.readView(EVENTS, ["s1"]);
      assert.deepEqual(view, { metadataLocation: undefined, consumed: new Set() });
      await catalog.ping();
    },
  },
  {
    name: "commit without expectation creates the table and its namespace",
    async run({ catalog, other }) {
      assert.equal(await catalog.commit(change({ next: "m1" })), "committed");
      for (const handle of [catalog, other]) {
        assert.deepEqual(await handle.namespaces(), ["svc"]);
        assert.deepEqual(await handle.tables("svc"), ["events"]);
        assert.deepEqual(await handle.tables("acme"), []);
        assert.equal(await handle.metadataLocation(EVENTS), "m1");
      }
    },
  },
  {
    name: "tableSchemas tells what commits told of columns, tables that are gone aside",
    async run({ catalog, other }) {
      const wide: TableSchema = {
        columns: [
          ...EVENTS_SCHEMA.columns,
          { id: 9, name: "status", type: "int", required: true, doc: "it's" },
        ],
        tags: ["status"],
        promoted: ["status"],
      };
      const schemas = () => other.tableSchemas("svc");
      assert.deepEqual(await schemas(), new Map());
      await catalog.commit(change({ next: "m1" }));
      assert.deepEqual(await schemas(), new Map());
      await catalog.commit(change({ expected: "m1", next: "m2", schema: EVENTS_SCHEMA }));
      assert.deepEqual(await schemas(), new Map([["events", EVENTS_SCHEMA]]));
      await catalog.commit(change({ expected: "m0", next: "m3", schema: wide }));
      assert.deepEqual(await schemas(), new Map([["events", EVENTS_SCHEMA]]), "a refused commit");
      await catalog.commit(change({ expected: "m2", next: "m3", schema: wide }));
      await catalog.commit(change({ expected: "m3", next: "m4" }));
      assert.deepEqual(await schemas(), new Map([["events", wide]]));
      assert.deepEqual(await other.tableSchemas("acme"), new Map());
      await catalog.dropTable(EVENTS);
      assert.deepEqual(await schemas(), new Map());
      await catalog.commit(change({ next: "n1" }));
      assert.deepEqual(await schemas(), new Map(), "another table of that name");
    },
  },
  {
    name: "commit moves the pointer only from what was expected",
    async run({ catalog, other }) {
      const table: [change: TableCommit, outcome: string, pointer: string | undefined][] = [
        [change({ expected: "m0", next: "m1" }), "conflict", undefined],
        [change({ next: "m1" }), "committed", "m1"],
        [change({ next: "m2" }), "conflict", "m1"],
        [change({ expected: "m1", next: "m2" }), "committed", "m2"],
        [change({ expected: "m1", next: "m3" }), "conflict", "m2"],
      ];
      for (const [attempt, outcome, pointer] of table) {
        assert.equal(await catalog.commit(attempt), outcome);
        assert.equal(await other.metadataLocation(EVENTS), pointer);
      }
    },
  },
  {
    name: "commit records its segments with the pointer",
    async run({ catalog, other }) {
      await catalog.commit(change({ next: "m1", consumed: ["s1", "s2"] }));
      const view = await other.readView(EVENTS, ["s0", "s1", "s2", "s3"]);
      assert.deepEqual(view, { metadataLocation: "m1", consumed: new Set(["s1", "s2"]) });
      assert.deepEqual(await other.consumedOf(["s2", "s9"]), new Set(["s2"]));
      assert.deepEqual(await other.consumedOf([]), new Set());
    },
  },
  {
    name: "a commit with a consumed segment changes nothing, for any table",
    async run({ catalog }) {
      await catalog.commit(change({ next: "m1", consumed: ["s1"] }));
      const again = change({ expected: "m1", next: "m2", consumed: ["s2", "s1"] });
      assert.equal(await catalog.commit(again), "consumed");
      const elsewhere = { namespace: "svc", name: "traces" };
      const second = { ...change({ next: "t1", consumed: ["s1"] }), ident: elsewhere };
      assert.equal(await catalog.commit(second), "consumed");
      assert.equal(await catalog.metadataLocation(EVENTS), "m1");
      assert.equal(await catalog.metadataLocation(elsewhere), undefined);
      assert.deepEqual(await catalog.consumedOf(["s1", "s2"]), new Set(["s1"]));
    },
  },
  {
    name: "a moved pointer and a consumed segment together are a conflict",
    async run({ catalog }) {
      await catalog.commit(change({ next: "m1", consumed: ["s1"] }));
      assert.equal(await catalog.commit(change({ next: "m2", consumed: ["s1"] })), "conflict");
    },
  },
  {
    name: "a conflicting commit consumes nothing",
    async run({ catalog }) {
      await catalog.commit(change({ next: "m1" }));
      await catalog.commit(change({ expected: "m0", next: "m2", consumed: ["s1"] }));
      assert.deepEqual(await catalog.consumedOf(["s1"]), new Set());
    },
  },
  {
    name: "of two handles committing from one pointer exactly one succeeds",
    async run({ catalog, other }) {
      await catalog.commit(change({ next: "m1" }));
      const outcomes = await Promise.all([
        catalog.commit(change({ expected: "m1", next: "a", consumed: ["s1"] })),
        other.commit(change({ expected: "m1", next: "b", consumed: ["s1"] })),
      ]);
      assert.deepEqual(outcomes.toSorted(), ["committed", "conflict"]);
      const winner = outcomes[0] === "committed" ? "a" : "b";
      assert.equal(await catalog.metadataLocation(EVENTS), winner);
    },
  },
  {
    name: "dropTable forgets the pointer and keeps what was consumed",
    async run({ catalog }) {
      assert.equal(await catalog.dropTable(EVENTS), false);
      await catalog.commit(change({ next: "m1", consumed: ["s1"] }));
      assert.equal(await catalog.dropTable(EVENTS), true);
      assert.equal(await catalog.dropTable(EVENTS), false);
      assert.equal(await catalog.metadataLocation(EVENTS), undefined);
      assert.deepEqual(await catalog.consumedOf(["s1"]), new Set(["s1"]));
      assert.equal(await catalog.commit(change({ next: "n1", consumed: ["s2"] })), "committed");
    },
  },
  {
    name: "dropTable of a pointer that has moved changes nothing",
    async run({ catalog }) {
      await catalog.commit(change({ next: "m1", schema: EVENTS_SCHEMA }));
      assert.equal(await catalog.dropTable(EVENTS, { expected: "m0" }), false);
      assert.equal(await catalog.metadataLocation(EVENTS), "m1");
      assert.equal((await catalog.tableSchemas(EVENTS.namespace)).size, 1);
      assert.equal(await catalog.dropTable(EVENTS, { expected: "m1" }), true);
      assert.equal(await catalog.metadataLocation(EVENTS), undefined);
      assert.equal((await catalog.tableSchemas(EVENTS.namespace)).size, 0);
    },
  },
  {
    name: "foldConsumed keeps telling what is consumed, and that alone",
    async run({ catalog, other }) {
      const names = segmentNames(40);
      const first = names.slice(0, 30);
      await catalog.commit(change({ next: "m1", consumed: [...first, "s1", "s2"] }));
      await catalog.foldConsumed([]);
      for (const part of [[29, 3, 5], [4, 0, 2], [1, 4, 7], [20], [8, 6]]) {
        await other.foldConsumed(part.map((at) => names[at] ?? ""));
        assert.deepEqual(
          await catalog.consumedOf([...names, "s1", "s3"]),
          new Set([...first, "s1"]),
        );
      }
      await catalog.foldConsumed(["s1", ...first]);
      const view = await other.readView(EVENTS, [...names, "s1", "s2", "s3"]);
      assert.deepEqual(view.consumed, new Set([...first, "s1", "s2"]));
    },
  },
  {
    name: "a segment that was folded is consumed for a commit, too",
    async run({ catalog, other }) {
      const [one = "", two = "", three = ""] = segmentNames(3);
      await catalog.commit(change({ next: "m1", consumed: [one, two] }));
      await catalog.foldConsumed([one, two]);
      const again = change({ expected: "m1", next: "m2", consumed: [two, three] });
      assert.equal(await other.commit(again), "consumed");
      assert.equal(await catalog.dropTable(EVENTS), true);
      assert.equal(await other.commit(change({ next: "m2", consumed: [one] })), "consumed");
      assert.deepEqual(await catalog.consumedOf([one, two, three]), new Set([one, two]));
    },
  },
  {
    name: "foldConsumed at the same time by two loses nothing",
    async run({ catalog, other }) {
      const names = segmentNames(200);
      await catalog.commit(change({ next: "m1", consumed: names }));
      const folds = Array.from({ length: 40 }, (_, part) => {
        const handle = part % 2 === 0 ? catalog : other;
        return handle.foldConsumed(names.filter((_, at) => at % 40 === part));
      });
      await Promise.all(folds);
      assert.deepEqual(await catalog.consumedOf(names), new Set(names));
    },
  },
  {
    name: "names are data: quotes, wildcards and many segments",
    async run({ catalog }) {
      const ident = { namespace: "o'brien", name: 'a"b%_' };
      const consumed = Array.from({ length: 2_000 }, (_, at) => `seg'${at}`);
      await catalog.commit({ ...change({ next: "m'1", consumed }), ident });
      assert.deepEqual(await catalog.tables("o'brien"), ['a"b%_']);
      const view = await catalog.readView(ident, [...consumed, "none"]);
      assert.deepEqual(view, { metadataLocation: "m'1", consumed: new Set(consumed) });
      assert.equal(await catalog.metadataLocation({ ...ident, name: 'a"bxx' }), undefined);
    },
  },
  {
    name: "a snapshot id keeps all of its 64 bits",
    async run({ catalog }) {
      const snapshotId = 9_223_372_036_854_775_807n;
      const commit = { ...change({ next: "m1", consumed: ["s1"] }), snapshotId };
      assert.equal(await catalog.commit(commit), "committed");
    },
  },
  {
    name: "a closed catalog is unavailable",
    async run({ catalog }) {
      await catalog.close();
      await catalog.close();
      const unavailable = (error: unknown) => isOperatingError(error, "unavailable");
      await assert.rejects(catalog.ping(), unavailable);
      await assert.rejects(catalog.commit(change({ next: "m1" })), unavailable);
    },
  },
];

function change(
  { expected, next, consumed = [], schema }: {
    expected?: string;
    next: string;
    consumed?: readonly string[];
    schema?: TableSchema;
  },
): TableCommit {
  return {
    ident: EVENTS,
    expected,
    next,
    tableUuid: "0190a5c2-7f63-7d9b-8a4e-3f1d2c5b6a79",
    snapshotId: consumed.length === 0 ? 0n : 77n,
    consumed,
    ...(schema === undefined ? {} : { schema }),
  };
}
