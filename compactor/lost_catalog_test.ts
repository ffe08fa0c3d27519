import assert from "node:assert/strict";
import { configure, reset } from "@logtape/logtape";
import { utf8 } from "../shared/base/bytes.ts";
import { OperatingError } from "../shared/base/errors.ts";
import { MemoryStore } from "../shared/testing/memory_store.ts";
import { tellLostCatalog } from "./lost_catalog.ts";

const FOLDER = `svc/events-${"0a".repeat(16)}`;
const CASES: {
  name: string;
  keys?: string[];
  tables?: string[];
  fails?: boolean;
  says?: RegExp;
}[] = [
  { name: "an empty warehouse" },
  { name: "a catalog that has tables", keys: [`${FOLDER}/data/a.parquet`], tables: ["events"] },
  {
    name: "a catalog without the tables of the warehouse",
    keys: ["catalog.db", `${FOLDER}/metadata/00000-a.metadata.json`, "wal-mirror/x"],
    says: RegExp(`catalog /c has no table, but memory://w has files of one in ${FOLDER}: .*--cat`),
  },
  { name: "a warehouse with other files", keys: ["svc/query_audit/x/a.parquet", "wal-mirror/x"] },
  { name: "a store that does not answer", keys: [`${FOLDER}/data/a.parquet`], fails: true },
];

for (const { name, keys = [], tables = [], fails = false, says } of CASES) {
  Deno.test({
    name: `tellLostCatalog says of ${name} ${says ?? "nothing"}`,
    fn: async () => {
      const store = new MemoryStore("memory://w");
      for (const key of keys) await store.putNew(key, utf8("x"));
      const away = new OperatingError("unavailable", "away");
      const told: string[] = [];
      await configure({
        sinks: { told: ({ message }) => void told.push(message.join("")) },
        loggers: [
          { category: "svc", sinks: ["told"] },
          { category: ["logtape", "meta"], lowestLevel: "fatal" },
        ],
      });
      try {
        const catalog = {
          namespaces: () => Promise.resolve(["svc"]),
          tables: () => Promise.resolve(tables),
        };
        const list = (prefix: string) => {
          if (fails) throw away;
          return store.list(prefix);
        };
        await tellLostCatalog({ catalog, store: { rootUri: store.rootUri, list } }, "/c");
        assert.equal(told.length, says === undefined ? 0 : 1);
        if (says !== undefined) assert.match(told[0] ?? "", says);
      } finally {
        await reset();
      }
    },
  });
}
