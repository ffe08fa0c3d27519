/**
 * `match_*` on a column with the tokenizer `stem` give the rows that a plain model gives: cut the
 * text, take each word's stem, compare. Documents are random: in the WAL, drained and merged, from
 * before and after a column with stems came. Files have indexes, none, or damaged ones, and columns
 * are named in every way that a statement can. `SVC_TEST_STEM_SEEDS` sets how many seeds,
 * `SVC_TEST_SEED` the first one.
 */

import assert from "node:assert/strict";
import { openIndexCatalog } from "../../../shared/catalog/open_catalog_parts.ts";
import { encodeBatch } from "../../../shared/columns/ipc.ts";
import { batchOfRows } from "../../../shared/columns/rows.ts";
import { INLINE_DERIVER } from "../../../shared/derived/deriver.ts";
import { openEngine } from "../../../shared/engine/open_engine.ts";
import { openRowMatcher } from "../../../shared/engine/predicate/row_matcher.ts";
import { NO_INDEXES } from "../../../shared/engine/pruning/row_index.ts";
import type { IndexMeter, UnusableReason } from "../../../shared/engine/pruning/sidecar_indexes.ts";
import type { Engine } from "../../../shared/engine/types.ts";
import type { IndexConfig } from "../../../shared/schema/doc_mapping.ts";
import { parseIndexConfig } from "../../../shared/schema/index_config.ts";
import { indexSchema } from "../../../shared/schema/index_schema.ts";
import { stemOf } from "../../../shared/derived/text/stem.ts";
import { tokenize } from "../../../shared/derived/text/tokenize.ts";
import { drainAll } from "../../../shared/drain/drain_all.ts";
import { applyMerge, lookForMerges } from "../../../shared/upkeep/merge.ts";
import { MERGE_POLICY_DEFAULT } from "../../../shared/upkeep/plan_merge.ts";
import { INLINE_PARQUET_DECODER } from "../../../shared/parquet/parquet_decoder.ts";
import { DenoFileSystem } from "../../../shared/os/deno_file_system.ts";
import { INLINE_PARQUET_ENCODER } from "../../../shared/parquet/parquet_encoder.ts";
import { writeParquet } from "../../../shared/parquet/write_parquet.ts";
import { EngineLab } from "../../../shared/testing/engine_lab.ts";
import { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import { openWalConsumerAdmin } from "../../../shared/wal/admin.ts";
import { openWalReader } from "../../../shared/wal/reader.ts";
import { damageSidecars } from "../../equivalence/damage_sidecars.ts";

const FIRST_SEED = Number(Deno.env.get("SVC_TEST_SEED") ?? 1);
const SEEDS = Number(Deno.env.get("SVC_TEST_STEM_SEEDS") ?? 1);
const QUESTIONS_A_SEED = 12;
const ROWS_A_STAGE = 120;
const START_NS = 1_780_000_000_000_000_000n;
const LANE = { tenant: "default", index: "app" };
const APP = { namespace: "svc", name: "app" };

const FIELDS = [
  { name: "timestamp", type: "datetime", required: true },
  { name: "n", type: "long" },
  { name: "message", type: "text", tokenizer: "stem" },
  { name: "note", type: "text" },
];
const CONFIG = parseIndexConfig({ index_id: "app", doc_mapping: { field_mappings: FIELDS } });
/** With `more`, whose texts are those of `message`. */
const CONFIG_LATER = parseIndexConfig({
  index_id: "app",
  doc_mapping: { field_mappings: [...FIELDS, { name: "more", type: "text", tokenizer: "stem" }] },
});

const WORDS = [
  ..."connect connects connected connecting connection connections connector connectivity".split(
    " ",
  ),
  ..."run runs running runner happy happily happiness relate relational relating flies fly".split(
    " ",
  ),
  ..."hop hopping hoping hope failed failure fails error errors errored deface faced facade".split(
    " ",
  ),
  ..."is a be abcdef0123 abcdef0199 user_ids ids 42 naïve naïves é connecté 接続 Störungen"
    .split(" "),
];
/** Words that few rows have, so that indexes leave rows out. */
const RARE = [..."bcdfglmnprst"].flatMap((first) =>
  ["aloft", "ambent", "ozzit", "imbrow"].map((rest) => first + rest)
);
const FORMS_OF_RARE = ["", "s", "ed", "ing", "ation", "able", "ful"];
const SEPARATORS = [" ", " ", " ", ", ", "-", ".", "\t", " \u00a0", "«", "\ue000", " \ue000 "];

/** How the column is named in a statement that tells the rows for which `call` holds. */
const FORMS: readonly ((call: (column: string) => string) => string)[] = [
  (call) => `SELECT n FROM app WHERE ${call("message")}`,
  (call) => `SELECT n FROM app AS x WHERE ${call("x.MESSAGE")} AND n >= 0`,
  (call) => `SELECT n FROM svc.app WHERE ${call("svc.app.message")}`,
  (call) => `SELECT n FROM (SELECT n, message AS note FROM app) WHERE ${call("note")}`,
  (call) => `WITH w(a, b) AS (SELECT n, message FROM app) SELECT a FROM w WHERE ${call("b")}`,
  (call) => `SELECT n FROM (SELECT * EXCLUDE (note) FROM app) t WHERE ${call("t.message")}`,
  (call) => `SELECT n FROM (SELECT n, ${call("message")} AS holds FROM app) WHERE holds`,
  (call) =>
    `SELECT app.n FROM app JOIN (SELECT n FROM app) o ON app.n = o.n AND ${call("message")}`,
  (call) =>
    `SELECT n FROM app o WHERE EXISTS (SELECT 1 FROM app i WHERE i.n = o.n AND ${
      call("o.message")
    })`,
  (call) =>
    `SELECT n FROM (SELECT n, message FROM app UNION ALL SELECT n, message FROM app WHERE false) WHERE ${
      call("message")
    }`,
];

const KINDS = ["terms", "any", "phrase", "prefix"] as const;
type Kind = (typeof KINDS)[number];

Deno.test({
  name: "match_* of a column with stems are those of a model, wherever the rows are",
  fn: async () => {
    for (let seed = FIRST_SEED; seed < FIRST_SEED + SEEDS; seed += 1) {
      const random = new SeededRandom(seed);
      await using lab = await openLab(random);
      const found = await ask(lab, { random, seed });
      assert(found > QUESTIONS_A_SEED, `seed ${seed}: ${found} rows`);
      const { some, unusable } = lab.answers();
      assert(some > 0, "indexes left rows out");
      assert.deepEqual(unusable, []);
      await lab.damage(random);
      await ask(lab, { random, seed });
      assert.deepEqual(unusable.filter((why) => why !== "missing" && why !== "corrupt"), []);
    }
  },
});

Deno.test({
  name: "match_* of a column with stems refuse words that are no literal, and too many of them",
  fn: async () => {
    await using lab = await openLab(new SeededRandom(1));
    const [engine] = lab.engines();
    for (
      const call of [
        "match_terms(message, note)",
        "match_phrase(message, 'a' || 'b')",
        "match_any(text := message, terms := 'a')",
      ]
    ) {
      await assert.rejects(rowsOf(engine, `SELECT n FROM app WHERE ${call}`), {
        code: "invalid_argument",
        message: /Cannot call match_\w+ on a column with the tokenizer stem and words that are no/,
      }, call);
    }
    const letters = [..."abcdefghijklmnopqrstuvwxyz"];
    const many = letters.flatMap((a) => [`${a}onnect`, `${a}elate`]);
    await assert.rejects(
      rowsOf(engine, `SELECT n FROM app WHERE match_any(message, '${many.join(" ")}')`),
      {
        code: "invalid_argument",
        message: /Cannot look for 52 words by their stems at once: match_any takes 32 of them/,
      },
    );
    const most = ["connected", ...many.slice(0, 31)].join(" ");
    for (const kind of ["terms", "any"] as const) {
      const rows = await rowsOf(
        engine,
        `SELECT n FROM app WHERE match_${kind}(message, '${most}') ORDER BY 1`,
      );
      const wanted = lab.messages.flatMap((doc, n) => holds(doc, most, kind) ? [n] : []);
      assert.deepEqual(rows, wanted, kind);
    }
    // An expression is text like any other.
    const own = await rowsOf(
      engine,
      "SELECT n FROM app WHERE match_terms(message || '', 'connection') ORDER BY 1",
    );
    const wanted = lab.messages.flatMap((doc, n) =>
      tokenize(doc).includes("connection") ? [n] : []
    );
    assert.deepEqual(own, wanted);
  },
});

Deno.test({
  name: "predicates of delete tasks compare stems where the column has them",
  fn: async () => {
    const dir = await Deno.makeTempDir({ prefix: "stemmed-" });
    const schema = {
      columns: [
        { id: 1, name: "message", type: "string", required: false },
        { id: 2, name: "note", type: "string", required: false },
      ],
      tags: [],
    } as const;
    const messages = ["Connections failed", "connect", "it fails to connect", "disconnected"];
    const batch = batchOfRows(schema, messages.map((text) => ({ message: text, note: text })));
    const path = `${dir}/rows.parquet`;
    await Deno.writeFile(path, writeParquet([batch], { schema }).bytes);
    await using matcher = await openRowMatcher({
      files: new DenoFileSystem(),
      scratchDir: `${dir}/scratch`,
      readableDirs: [dir],
      memoryBytesMax: 256 * 2 ** 20,
    });
    const rowsWith = async (predicate: string) => {
      const found = await matcher.match(
        { path, rows: messages.length, columns: schema.columns },
        {
          ...{ predicate, namespace: "svc", table: "app", startNs: undefined, endNs: undefined },
          stemmed: new Set(["message"]),
        },
      );
      return [...messages.keys()].filter((row) => found.has(row));
    };
    // "failure" has another stem.
    assert.deepEqual(await rowsWith("match_terms(message, 'connected failure')"), []);
    assert.deepEqual(await rowsWith("match_terms(message, 'connected failing')"), [0, 2]);
    assert.deepEqual(await rowsWith("NOT match_phrase(app.message, 'connecting fails')"), [
      1,
      2,
      3,
    ]);
    assert.deepEqual(await rowsWith("match_any(note, 'connected connect')"), [1, 2]);
    await assert.rejects(rowsWith("match_any(message, note)"), { code: "invalid_argument" });
    await Deno.remove(dir, { recursive: true });
  },
});

/** Asks both engines what the model knows; how many rows there were. */
async function ask(
  lab: Awaited<ReturnType<typeof openLab>>,
  { random, seed }: { readonly random: SeededRandom; readonly seed: number },
): Promise<number> {
  const docs = lab.messages;
  let found = 0;
  for (let at = 0; at < QUESTIONS_A_SEED; at += 1) {
    const [kind, words] = [pick(random, KINDS), textOf(random, 1 + random.below(3))];
    const call = (column: string) => `match_${kind}(${column}, ${quoted(words)})`;
    const wanted = docs.flatMap((doc, n) => holds(doc, words, kind) ? [n] : []);
    found += wanted.length;
    const sql = `${pick(random, FORMS)(call)} ORDER BY 1`;
    for (const engine of lab.engines()) {
      assert.deepEqual(await rowsOf(engine, sql), wanted, `seed ${seed}: ${sql}`);
    }
    const later = `SELECT n FROM app WHERE ${call("more")} ORDER BY 1`;
    const since = wanted.filter((n) => n >= lab.moreSince);
    assert.deepEqual(await rowsOf(lab.engines()[0], later), since, `seed ${seed}: ${later}`);
    const plain = `SELECT n FROM app WHERE ${call("note")} ORDER BY 1`;
    const plainly = docs.flatMap((doc, n) => holds(doc, words, kind, (word) => word) ? [n] : []);
    assert.deepEqual(await rowsOf(lab.engines()[0], plain), plainly, `seed ${seed}: ${plain}`);
  }
  return found;
}

/** By the definition. */
function holds(doc: string, words: string, kind: Kind, stem = stemOf): boolean {
  const [tokens, wanted] = [tokenize(doc), tokenize(words)];
  if (wanted.length === 0) return false;
  const stems = tokens.map(stem);
  if (kind === "terms") return wanted.every((word) => stems.includes(stem(word)));
  if (kind === "any") return wanted.some((word) => stems.includes(stem(word)));
  return tokens.some((_, start) =>
    wanted.every((word, at) =>
      kind === "prefix" && at === wanted.length - 1
        ? tokens[start + at]?.startsWith(word) === true
        : stems[start + at] === stem(word)
    )
  );
}

function textOf(random: SeededRandom, words: number): string {
  let text = "";
  for (let at = 0; at < words; at += 1) {
    const word = random.chance(0.2)
      ? pick(random, RARE) + pick(random, FORMS_OF_RARE)
      : pick(random, WORDS);
    const cased = random.chance(0.2) ? word.toUpperCase() : word;
    const cut = random.chance(0.1) ? cased.slice(0, 1 + random.below(6)) : cased;
    text += (at === 0 ? "" : pick(random, SEPARATORS)) + cut;
  }
  return text;
}

function pick<T>(random: SeededRandom, values: readonly T[]): T {
  return values[random.below(values.length)] as T;
}

const quoted = (text: string) => `'${text.replaceAll("'", "''")}'`;

async function rowsOf(engine: Engine, sql: string): Promise<number[]> {
  await using prepared = await engine.prepare({
    ...{ sql, namespace: "svc", tenant: "default", defaultOrder: false },
    ...{ rowsMax: 100_000, deadlineMs: 120_000 },
  });
  await using running = await prepared.run();
  let text = "";
  for await (const chunk of running.chunks("objects")) {
    text += new TextDecoder().decode(chunk.bytes());
  }
  return text.split("\n").filter((line) => line !== "")
    .map((line) => Object.values(JSON.parse(line))[0] as number);
}

async function openLab(random: SeededRandom) {
  let some = 0;
  const unusable: UnusableReason[] = [];
  const cache = { lookedUp() {}, held() {} };
  const indexMeter: IndexMeter = {
    ...{ parsed: cache, blobs: cache },
    answered: (answer) => some += answer === "all" ? 0 : 1,
    unusable: (reason) => unusable.push(reason),
  };
  const lab = await EngineLab.open({ wal: true, engine: { indexMeter } });
  const { dir, store, catalog, files, clock } = lab;
  const indexes = await openIndexCatalog(`${dir}/warehouse/catalog.db`, { files });
  await indexes.create("svc", { config: CONFIG, etag: "e" });
  const root = `${dir}/wal`;
  const messages: string[] = [];
  const deps = {
    ...{ store, catalog, clock, random: lab.random },
    encoder: INLINE_PARQUET_ENCODER,
    decoder: INLINE_PARQUET_DECODER,
    deriver: INLINE_DERIVER,
  };
  const append = async ({ doc_mapping }: IndexConfig) => {
    const schema = { ...indexSchema(doc_mapping), epoch: 0 };
    const isLater = doc_mapping === CONFIG_LATER.doc_mapping;
    const rows = Array.from({ length: ROWS_A_STAGE }, () => {
      const message = textOf(random, 1 + random.below(12));
      const n = BigInt(messages.push(message) - 1);
      const ns = START_NS + n * 1_000n;
      return {
        ...{ timestamp: ns / 1_000n, timestamp_ns: ns, host: "h", source: "s", sourcetype: "t" },
        ...{ index: "main", raw: "", attributes: null, n, message, note: message },
        ...(isLater ? { more: message } : {}),
      };
    });
    await lab.wal?.append(LANE, encodeBatch(batchOfRows(schema, rows)), "auto");
  };
  const drain = async () => {
    await lab.wal?.seal(LANE);
    const { failures } = await drainAll({
      ...deps,
      indexes,
      wal: openWalReader(files, root),
      admin: openWalConsumerAdmin(files, clock, root),
    });
    assert.deepEqual(failures, []);
  };
  let moreSince = 0;
  for (const stage of ["drain", "drain", "widen", "merge", "drain", "seal", "nothing"]) {
    if (stage === "widen") {
      const widened = await indexes.replace("svc", { config: CONFIG_LATER, etag: "f" }, "e");
      assert.equal(widened, "replaced");
      moreSince = messages.length;
      continue;
    }
    await append(moreSince === 0 ? CONFIG : CONFIG_LATER);
    if (stage === "drain" || stage === "merge") await drain();
    if (stage === "seal") await lab.wal?.seal(LANE);
    if (stage !== "merge") continue;
    const policy = { ...MERGE_POLICY_DEFAULT, fanIn: 2, depthMax: 1 };
    const plan = await lookForMerges(deps, APP, { policy });
    for (const task of plan?.tasks ?? []) {
      assert(plan !== undefined);
      assert.equal((await applyMerge(deps, plan.table, task)).outcome, "merged");
    }
  }
  const scan = await openEngine({
    ...{ store, catalog, files, clock, random: lab.random },
    wal: openWalReader(files, root),
    cacheDir: `${dir}/scan-cache`,
    memoryBytesMax: 512 * 2 ** 20,
    spillBytesMax: 512 * 2 ** 20,
    threads: 2,
    indexes: NO_INDEXES,
  });
  return {
    messages,
    /** The first row with the column `more`. */
    moreSince,
    /** The second has no indexes. */
    engines: () => [lab.engine, scan] as const,
    answers: () => ({ some, unusable }),
    async damage(random: SeededRandom) {
      await damageSidecars(lab, random);
      await lab.restartEngine();
    },
    async [Symbol.asyncDispose]() {
      await scan.close();
      await indexes[Symbol.asyncDispose]();
      await lab[Symbol.asyncDispose]();
    },
  };
}
