/**
 * What every `IndexCatalog` must do, with the `CatalogReader` that sees it:
 * `shared/catalog/index_catalog.ts` as cases.
 */

import assert from "node:assert/strict";
import type { Catalog } from "../catalog/catalog.ts";
import type { IndexCatalog, ManagedIndex } from "../catalog/index_catalog.ts";
import { parseIndexConfig } from "../schema/index_config.ts";
import { type IndexTemplate, parseIndexTemplate } from "../schema/index_template.ts";

export interface IndexCatalogHandles {
  readonly indexes: IndexCatalog;
  /** A second one, as another process would have. */
  readonly other: IndexCatalog;
  readonly catalog: Catalog;
}

export interface IndexCatalogCase {
  readonly name: string;
  run(handles: IndexCatalogHandles): Promise<void>;
}

const APP = { namespace: "svc", name: "app" };

export const INDEX_CATALOG_CASES: readonly IndexCatalogCase[] = [
  {
    name: "nothing is there at first",
    async run({ indexes, catalog }) {
      assert.equal((await catalog.indexViews()).size, 0);
      const view = await catalog.indexView("svc");
      assert.deepEqual([view.indexes.size, view.templates.length, view.epochs.size], [0, 0, 0]);
      assert.deepEqual(await catalog.indexState(APP), { index: undefined, epoch: 0 });
      assert.equal(await indexes.drop(APP, { nowMs: 1 }), false);
      assert.equal(await indexes.deleteTemplate("svc", "t"), false);
      assert.deepEqual(await indexes.droppedTables(10), []);
    },
  },
  {
    name: "create makes an index once, in its namespace alone",
    async run({ indexes, other, catalog }) {
      const made = [indexes, other].map((handle, at) =>
        handle.create("svc", index("app", `e${at}`))
      );
      const outcomes = await Promise.all(made);
      assert.deepEqual(outcomes.toSorted(), ["created", "exists"]);
      assert.equal(await other.create("acme", index("app", "f")), "created");
      const first = outcomes.indexOf("created");
      assert.deepEqual(await catalog.indexView("svc"), {
        indexes: new Map([["app", index("app", `e${first}`)]]),
        templates: [],
        epochs: new Map(),
      });
      const etags = [...await catalog.indexViews()].map((
        [name, view],
      ) => [name, view.indexes.get("app")?.etag]);
      assert.deepEqual(etags.toSorted(), [["acme", "f"], ["svc", `e${first}`]]);
    },
  },
  {
    name: "create does not take the place of a table that rows made; replace adopts it",
    async run({ indexes, catalog }) {
      assert.equal(await indexes.replace("svc", index("app", "e1"), undefined), "changed");
      await catalog.commit(tableAt("file:///w/app/metadata/m1"));
      assert.equal(await indexes.create("svc", index("app", "e1")), "exists");
      assert.equal(await indexes.replace("svc", index("app", "e1"), undefined), "replaced");
      assert.equal(await indexes.replace("svc", index("app", "e2"), undefined), "changed");
      assert.equal((await catalog.indexView("svc")).indexes.get("app")?.etag, "e1");
    },
  },
  {
    name: "replace changes only what has the expected tag: of two, one wins",
    async run({ indexes, other, catalog }) {
      await indexes.create("svc", index("app", "e1"));
      assert.equal(await indexes.replace("svc", index("app", "e9"), "e0"), "changed");
      const outcomes = await Promise.all([
        indexes.replace("svc", index("app", "e2"), "e1"),
        other.replace("svc", index("app", "e3"), "e1"),
      ]);
      assert.deepEqual(outcomes.toSorted(), ["changed", "replaced"]);
      const winner = outcomes[0] === "replaced" ? "e2" : "e3";
      for (let again = 0; again < 2; again += 1) {
        const state = await catalog.indexState(APP);
        assert.deepEqual(state, { index: index("app", winner), epoch: 0 });
      }
    },
  },
  {
    name: "drop forgets configuration, table and columns, begins an epoch and leaves the files",
    async run({ indexes, other, catalog }) {
      await indexes.create("svc", index("app", "e1"));
      await catalog.commit(tableAt("file:///w/app/metadata/m1"));
      assert.equal(await indexes.drop(APP, { nowMs: 1_700_000_000_123 }), true);
      assert.equal(await indexes.drop(APP, { nowMs: 5 }), false);
      assert.equal(await catalog.metadataLocation(APP), undefined);
      const view = await catalog.indexView("svc");
      assert.equal(view.indexes.size, 0);
      assert.deepEqual(view.epochs, new Map([["app", { count: 1, droppedMs: 1_700_000_000_123 }]]));
      const dropped = {
        ident: APP,
        metadataLocation: "file:///w/app/metadata/m1",
        droppedMs: 1_700_000_000_123,
      };
      assert.deepEqual(await other.droppedTables(10), [dropped]);

      assert.equal(await other.create("svc", index("app", "e2")), "created");
      assert.equal(await other.drop(APP, { nowMs: 1_700_000_000_200 }), true, "without a table");
      assert.equal((await catalog.indexView("svc")).epochs.get("app")?.count, 2);
      assert.deepEqual(await catalog.indexState(APP), { index: undefined, epoch: 2 });
      assert.deepEqual(await indexes.droppedTables(10), [dropped]);
      await indexes.forgetDropped(dropped.metadataLocation);
      assert.deepEqual(await indexes.droppedTables(10), []);
    },
  },
  {
    name: "templates are put in each other's place and deleted",
    async run({ indexes, catalog }) {
      await indexes.putTemplate("svc", template(1));
      await indexes.putTemplate("svc", template(2));
      await indexes.putTemplate("acme", template(3));
      assert.deepEqual((await catalog.indexView("svc")).templates, [template(2)]);
      assert.equal(await indexes.deleteTemplate("svc", "t"), true);
      assert.deepEqual((await catalog.indexView("svc")).templates, []);
      assert.deepEqual((await catalog.indexView("acme")).templates, [template(3)]);
    },
  },
  {
    name: "a template is put in the place of one that may be replaced: of two, one wins",
    async run({ indexes, other, catalog }) {
      const isFirst = ({ priority }: IndexTemplate) => priority === 1;
      assert.equal(await indexes.putTemplate("svc", template(2), () => true), "refused", "no such");
      await indexes.putTemplate("svc", template(1));
      assert.equal(await indexes.putTemplate("svc", template(2), () => false), "refused");
      assert.equal(await indexes.putTemplate("acme", template(2), isFirst), "refused");
      const outcomes = await Promise.all(
        [indexes, other, indexes].map((handle, at) =>
          handle.putTemplate("svc", template(5 + at), isFirst)
        ),
      );
      const won = outcomes.indexOf("put");
      assert.deepEqual(outcomes.filter((outcome) => outcome === "put").length, 1);
      assert.deepEqual((await catalog.indexView("svc")).templates, [template(5 + won)]);
    },
  },
];

const DOC_MAPPING = {
  field_mappings: [{ name: "timestamp", type: "datetime", required: true }],
};

function index(index_id: string, etag: string): ManagedIndex {
  return { config: parseIndexConfig({ index_id, doc_mapping: DOC_MAPPING }), etag };
}

function template(priority: number) {
  return parseIndexTemplate({
    template_id: "t",
    index_id_patterns: ["a*"],
    priority,
    doc_mapping: DOC_MAPPING,
  });
}

function tableAt(next: string) {
  return {
    ident: APP,
    expected: undefined,
    next,
    tableUuid: "u",
    snapshotId: 0n,
    consumed: [],
  };
}
