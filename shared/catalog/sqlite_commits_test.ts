/**
 * Commits that a SQLite catalog has lost are found by their count, and no kill, no power cut and no
 * second writer makes one seem lost. `SVC_TEST_CATALOG_FLIPS=2000` changes more bits.
 */

import assert from "node:assert/strict";
import { Buffer } from "node:buffer";
import { DatabaseSync } from "node:sqlite";
import { isDeepStrictEqual } from "node:util";
import { isOperatingError } from "../base/errors.ts";
import { SeededRandom } from "../testing/seeded_random.ts";
import { segmentNames } from "../testing/segment_names.ts";
import type { CatalogReader } from "./catalog.ts";
import { CommitCount, commitsPathOf } from "./sqlite_commits.ts";
import { openSqliteCatalog } from "./sqlite_catalog.ts";

const SEED = 20261126;
const FLIPS = Number(Deno.env.get("SVC_TEST_CATALOG_FLIPS") ?? 150);
const TABLE = { namespace: "svc", name: "events" };
const SEGMENTS = segmentNames(8);
/** A frame of `<file>-wal` has so many bytes before its page. */
const FRAME_BYTES = 24 + 4096;
const WAL_HEADER_BYTES = 32;

/**
 * Commits to table `name` until `count` commits are done, says so, and stays until it is killed;
 * with a `count` of 0 it commits until then.
 */
const WRITER = `
  const [base, path, name, count] = Deno.args;
  const { openSqliteCatalog } = await import(new URL("./sqlite_catalog.ts", base).href);
  const { segmentNames } = await import(new URL("../testing/segment_names.ts", base).href);
  const segments = segmentNames(8);
  const catalog = await openSqliteCatalog({ path });
  let expected;
  for (let at = 0; count === "0" || at < Number(count); at += 1) {
    const next = "file:///lake/" + name + "/" + at + ".metadata.json";
    const consumed = name === "events" && at < 4 ? [segments[at]] : [];
    const ident = { namespace: "svc", name };
    await catalog.commit({ ident, expected, next, consumed, tableUuid: "uuid", snapshotId: 1n });
    if (at === 2 && consumed.length > 0) await catalog.foldConsumed(consumed);
    expected = next;
    if (at === 20) Deno.stdout.writeSync(new TextEncoder().encode("many\\n"));
  }
  Deno.stdout.writeSync(new TextEncoder().encode("done\\n"));
  await new Promise((resolve) => setTimeout(resolve, 100_000));
`;

Deno.test({
  name: `a SQLite catalog whose writer was killed fails or answers as before, with any bit of ` +
    `-wal changed: seed ${SEED}`,
  fn: () =>
    inFolder(async (root) => {
      const whole = `${root}/whole.db`;
      await killed(writer(whole, "events", 6), "done");
      const parts = await pictureOf(whole);
      const expected = await answersOf(parts, root, "reader");
      assert.deepEqual(expected[0], "file:///lake/events/5.metadata.json");
      const wal = parts["-wal"];
      const places = placesIn(wal);
      const random = new SeededRandom(SEED);
      const wrong: string[] = [];
      let failed = 0;
      for (let at = 0; at < FLIPS; at += 1) {
        const place = places[random.below(places.length)] ?? 0;
        const bit = random.below(8);
        const damaged = Buffer.from(wal);
        damaged[place] = (damaged[place] ?? 0) ^ (1 << bit);
        for (const who of ["reader", "writer"] as const) {
          const answer = await answerOrCorrupt({ ...parts, "-wal": damaged }, root, who);
          failed += Number(answer === undefined);
          if (answer !== undefined && !isDeepStrictEqual(answer, expected)) {
            wrong.push(`byte ${place}, bit ${bit}, ${who}: ${answer}`);
          }
        }
      }
      assert.deepEqual(wrong, []);
      assert.ok(failed > FLIPS, `only ${failed} failures`);
    }),
});

Deno.test({
  name: "a SQLite catalog that was cut at any commit is damaged if more commits were recorded, " +
    "and is as it was otherwise",
  fn: () =>
    inFolder(async (root) => {
      const pictures = await picturesOfLife(`${root}/live.db`);
      for (const [at, picture] of pictures.entries()) {
        const expected = `m${at}`;
        for (const [recordedAt, { "-commits": commits }] of pictures.entries()) {
          for (const who of ["reader", "writer"] as const) {
            const answer = await answerOrCorrupt({ ...picture, "-commits": commits }, root, who);
            const where = `commit ${at}, recorded ${recordedAt}, ${who}`;
            assert.deepEqual(answer?.[0], recordedAt > at ? undefined : expected, where);
          }
        }
        const unrecorded = { ...picture, "-commits": Buffer.alloc(0) };
        assert.deepEqual((await answersOf(unrecorded, root, "writer"))[0], expected);
      }
    }),
});

Deno.test({
  name: "two writers of a SQLite catalog at once, and a kill of either, lose no commit's count",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/catalog.db`;
      await (await openSqliteCatalog({ path })).close();
      const tables = ["events", "other"];
      for (let round = 0; round < 3; round += 1) {
        const writers = tables.map((name) => writer(path, `${name}${round}`, 0));
        const looks = (async () => {
          for (let look = 0; look < 40; look += 1) {
            const who = look % 2 === 0 ? "reader" : "writer";
            await using catalog = await openAs(path, who);
            await catalog.tables("svc");
            await new Promise((resolve) => setTimeout(resolve, 5));
          }
        })();
        await Promise.all([looks, ...writers.map((child) => killed(child, "many"))]);
        await using catalog = await openAs(path, "writer");
        const there = await catalog.tables("svc");
        assert.ok(tables.every((name) => there.includes(`${name}${round}`)), String(there));
      }
      const recorded = new CommitCount(path).recorded();
      const counted = countIn(path);
      assert.ok(recorded <= counted && recorded >= counted - 2, `${recorded} of ${counted}`);
      assert.ok(counted > 100, `only ${counted} commits`);
    }),
});

Deno.test({
  name: "damage of the file that counts hides a number and never makes a greater one",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/catalog.db`;
      const count = new CommitCount(path);
      assert.equal(count.recorded(), 0);
      await (await openSqliteCatalog({ path })).close();
      for (let at = 2; at < 40; at += 1) count.record(at);
      count.record(38);
      assert.equal(count.recorded(), 39);
      const file = commitsPathOf(path);
      const bytes = await Deno.readFile(file);
      assert.equal(bytes.length, 512);
      const newest = (39 % 16) * 32;
      for (const at of bytes.keys()) {
        const isNewest = at >= newest && at < newest + 32;
        for (const bit of isNewest ? [0, 1, 2, 3, 4, 5, 6, 7] : [at % 8]) {
          const damaged = bytes.slice();
          damaged[at] = (damaged[at] ?? 0) ^ (1 << bit);
          await Deno.writeFile(file, damaged);
          const recorded = count.recorded();
          const hides = isNewest && at < newest + 25;
          const isOne = recorded === (hides ? 38 : 39) || isNewest && !hides && recorded === 38;
          assert.ok(isOne, `byte ${at}, bit ${bit}: ${recorded}`);
        }
      }
      for (const other of [Buffer.alloc(512), Buffer.alloc(3, "9"), Buffer.alloc(9000, 255)]) {
        await Deno.writeFile(file, other);
        assert.equal(count.recorded(), 0);
      }
      count.record(41);
      assert.equal(count.recorded(), 41);
    }),
});

Deno.test({
  name: "a commit whose number cannot be written holds, and the next one writes its own",
  ignore: Deno.build.os !== "linux",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/catalog.db`;
      await using catalog = await openSqliteCatalog({ path });
      await catalog.commit(change(undefined, "m0"));
      const file = commitsPathOf(path);
      await Deno.remove(file);
      await Deno.symlink("/dev/full", file);
      assert.equal(await catalog.commit(change("m0", "m1")), "committed");
      {
        await using other = await openSqliteCatalog({ path });
        assert.equal(await other.metadataLocation(TABLE), "m1");
      }
      await Deno.remove(file);
      await (await openSqliteCatalog({ path })).close();
      await catalog.commit(change("m1", "m2"));
      assert.equal(new CommitCount(path).recorded(), countIn(path));
    }),
});

Deno.test({
  name: "a SQLite catalog that another engine commits to, and one of an earlier release, lack none",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/catalog.db`;
      {
        await using catalog = await openSqliteCatalog({ path });
        await catalog.commit(change(undefined, "m0"));
        using db = new DatabaseSync(path);
        db.exec("UPDATE iceberg_tables SET metadata_location = 'm1'");
      }
      for (const who of ["reader", "writer"] as const) {
        await using catalog = await openAs(path, who);
        assert.equal(await catalog.metadataLocation(TABLE), "m1");
      }
      {
        using db = new DatabaseSync(path);
        db.exec("DROP TABLE svc_commits");
      }
      await Deno.remove(commitsPathOf(path));
      for (const who of ["reader", "writer", "reader"] as const) {
        await using catalog = await openAs(path, who);
        assert.equal(await catalog.metadataLocation(TABLE), "m1");
      }
      assert.equal(new CommitCount(path).recorded(), countIn(path));
    }),
});

Deno.test({
  name: "a SQLite catalog that is gone, or emptied, is damaged while commits are recorded, and " +
    "the message says what to remove",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/catalog.db`;
      await using reader = await openAs(path, "reader");
      assert.deepEqual(await reader.tables("svc"), []);
      {
        await using catalog = await openSqliteCatalog({ path });
        await catalog.commit(change(undefined, "m0"));
      }
      assert.deepEqual(await reader.tables("svc"), ["events"]);
      await reader.close();
      for (const lose of [() => Deno.truncate(path), () => Deno.remove(path)]) {
        await lose();
        for (const who of ["reader", "writer"] as const) {
          await assert.rejects(
            async () => {
              await using catalog = await openAs(path, who);
              await catalog.tables("svc");
            },
            (error) =>
              isOperatingError(error, "corrupt") && error.reason === "catalog_damaged" &&
              error.message.includes("remove the file of commits") &&
              error.place === commitsPathOf(path) && !error.message.includes(root),
          );
        }
      }
      await Deno.remove(commitsPathOf(path));
      await using again = await openAs(path, "writer");
      assert.deepEqual(await again.tables("svc"), []);
    }),
});

Deno.test({
  name: "the file that counts has the rights of the catalog's",
  ignore: Deno.build.os === "windows",
  fn: () =>
    inFolder(async (root) => {
      const path = `${root}/catalog.db`;
      await Deno.writeFile(path, new Uint8Array());
      await Deno.chmod(path, 0o660);
      await (await openSqliteCatalog({ path })).close();
      assert.equal(((await Deno.stat(commitsPathOf(path))).mode ?? 0) & 0o777, 0o660);
    }),
});

type Who = "reader" | "writer";

/** The files of a catalog, by what they end with. */
interface Picture {
  readonly "": Uint8Array;
  readonly "-wal": Uint8Array;
  readonly "-commits": Uint8Array;
}

/** What a kill leaves after each commit, the third of which is in the database itself. */
async function picturesOfLife(path: string): Promise<Picture[]> {
  await using catalog = await openSqliteCatalog({ path });
  const pictures: Picture[] = [];
  for (let at = 0; at < 6; at += 1) {
    await catalog.commit(change(at === 0 ? undefined : `m${at - 1}`, `m${at}`));
    if (at === 2) {
      using db = new DatabaseSync(path);
      db.exec("PRAGMA wal_checkpoint(TRUNCATE)");
    }
    pictures.push(await pictureOf(path));
  }
  return pictures;
}

async function pictureOf(path: string): Promise<Picture> {
  const [db, wal, commits] = await Promise.all([
    Deno.readFile(path),
    Deno.readFile(`${path}-wal`),
    Deno.readFile(commitsPathOf(path)),
  ]);
  return { "": db, "-wal": wal, "-commits": commits };
}

type Answers = readonly unknown[];

/** What the catalog of `picture` answers to `who` opens it first. */
async function answersOf(picture: Picture, root: string, who: Who): Promise<Answers> {
  const path = `${root}/picture.db`;
  await Deno.remove(`${path}-shm`).catch(() => {});
  for (const [end, bytes] of Object.entries(picture)) await Deno.writeFile(path + end, bytes);
  await using catalog = await openAs(path, who);
  return [
    await catalog.metadataLocation(TABLE),
    await catalog.tables("svc"),
    await catalog.consumedOf(SEGMENTS),
    await catalog.readView(TABLE, SEGMENTS),
  ];
}

/** Undefined: it failed as damaged. */
async function answerOrCorrupt(
  picture: Picture,
  root: string,
  who: Who,
): Promise<Answers | undefined> {
  try {
    return await answersOf(picture, root, who);
  } catch (error) {
    assert.ok(isOperatingError(error, "corrupt"), `${error}`);
    return undefined;
  }
}

function openAs(path: string, who: Who): Promise<CatalogReader> {
  return who === "writer"
    ? openSqliteCatalog({ path })
    : openSqliteCatalog({ path, readOnly: true });
}

function change(expected: string | undefined, next: string) {
  return { ident: TABLE, expected, next, consumed: [], tableUuid: "uuid", snapshotId: 1n };
}

/** Bytes that are not 0, and all of the frames' headers. */
function placesIn(wal: Uint8Array): number[] {
  return [...wal.keys()].filter((at) =>
    wal[at] !== 0 || at < WAL_HEADER_BYTES || (at - WAL_HEADER_BYTES) % FRAME_BYTES < 24
  );
}

function countIn(path: string): number {
  using db = new DatabaseSync(path, { readOnly: true });
  return Number(db.prepare("SELECT commits FROM svc_commits").get()?.commits);
}

function writer(path: string, name: string, count: number): Deno.ChildProcess {
  const config = new URL("../../deno.json", import.meta.url).pathname;
  return new Deno.Command(Deno.execPath(), {
    args: [
      ...["eval", "--frozen", "--config", config, WRITER],
      ...[import.meta.url, path, name, String(count)],
    ],
    stdout: "piped",
    stderr: "inherit",
  }).spawn();
}

/** Kills the process once it has said `word`. */
async function killed(child: Deno.ChildProcess, word: string): Promise<void> {
  let said = "";
  for await (const text of child.stdout.pipeThrough(new TextDecoderStream())) {
    said += text;
    if (said.includes(word)) child.kill("SIGKILL");
  }
  assert.equal((await child.status).signal, "SIGKILL");
}

async function inFolder(action: (root: string) => Promise<void>): Promise<void> {
  const root = await Deno.makeTempDir({ prefix: "svc-catalog-commits-" });
  try {
    await action(root);
  } finally {
    await Deno.remove(root, { recursive: true });
  }
}
