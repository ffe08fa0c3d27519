import assert from "node:assert/strict";
import { encodeBatch } from "../shared/columns/ipc.ts";
import { parseOptions } from "../shared/config/parse_options.ts";
import { isOperatingError, UsageError } from "../shared/base/errors.ts";
import { summaryLimitsOf } from "../shared/derived/summary/summary_options.ts";
import { SystemClock } from "../shared/os/clock.ts";
import { DenoFileSystem } from "../shared/os/deno_file_system.ts";
import { SystemRandom } from "../shared/os/random.ts";
import { batchOf, EVENTS_LANE } from "../shared/testing/drain_lab.ts";
import { openWal } from "../shared/wal/wal.ts";
import {
  compactorPaths,
  deleteOptionsOf,
  OPTIONS,
  runOnce,
  startCompactor,
  summaryLine,
} from "./mod.ts";

Deno.test({
  name: "compactorPaths finds everything below the data directory unless told otherwise",
  fn() {
    const table: [argv: string[], expected: { wal: string; warehouse: string; catalog: string }][] =
      [
        [["--data-dir", "/d"], {
          wal: "/d/wal",
          warehouse: "/d/warehouse",
          catalog: "/d/warehouse/catalog.db",
        }],
        [["--data-dir", "/d", "--wal", "/w", "--warehouse", "lake"], {
          wal: "/w",
          warehouse: "/d/lake",
          catalog: "/d/lake/catalog.db",
        }],
        [["--data-dir", "/d", "--warehouse", "x", "--warehouse-url", "file:///a%20b/c"], {
          wal: "/d/wal",
          warehouse: "/a b/c",
          catalog: "/a b/c/catalog.db",
        }],
        [["--data-dir", "/d", "--catalog-uri", "sqlite:///c/at.db?mode=rwc"], {
          wal: "/d/wal",
          warehouse: "/d/warehouse",
          catalog: "/c/at.db",
        }],
      ];
    for (const [argv, expected] of table) {
      assert.deepEqual(compactorPaths(settingsOf(argv)), expected, argv.join(" "));
    }
  },
});

Deno.test({
  name: "limits of summaries come from the options and their variables, and have bounds",
  fn() {
    const usual = { groupValuesMax: 4_096, bytesMax: 1_048_576 };
    assert.deepEqual(summaryLimitsOf(settingsOf([])), usual);
    const env = new Map([
      ["SVC_TYPED_GROUP_COUNT_CARDINALITY", "7"],
      ["SVC_INDEX_FOOTER_MAX_BYTES", "2048"],
    ]);
    const fromEnv = parseOptions(OPTIONS, [], (name) => env.get(name));
    assert.deepEqual(summaryLimitsOf(fromEnv), { groupValuesMax: 7, bytesMax: 2_048 });
    const fromFlag = settingsOf(["--typed-group-count-cardinality", "65534"]);
    assert.deepEqual(summaryLimitsOf(fromFlag), { ...usual, groupValuesMax: 65_534 });
    for (
      const bad of ["--typed-group-count-cardinality=65535", "--index-footer-max-bytes=1023"]
    ) assert.throws(() => settingsOf([bad]), UsageError, bad);
  },
});

Deno.test({
  name: "compactor options refuse what there is not",
  fn() {
    assert.throws(() => settingsOf(["--role", "merge"]), UsageError);
    for (const option of ["--warehouse-url=gs://bucket/x", "--catalog-uri=mysql://host/db"]) {
      assert.throws(
        () => compactorPaths(settingsOf([option])),
        (error) => isOperatingError(error, "invalid_argument"),
        option,
      );
    }
  },
});

Deno.test({
  name: "--wal-only is for maintenance beside a WAL, and leaves tables alone",
  fn: () =>
    inDataDir(async (dataDir) => {
      await seal(dataDir, [[1]]);
      const once = ["--data-dir", dataDir, "--once"];
      await runOnce(settingsOf([...once, "--role", "drain"]));
      for (const bad of [[], ["--role", "drain"], ["--role", "maintenance", "--catalog-claim"]]) {
        await assert.rejects(
          runOnce(settingsOf([...once, "--wal-only", ...bad])),
          (error) => isOperatingError(error, "invalid_argument") && /--/.test(error.message),
          bad.join(" "),
        );
      }
      const before = await filesBelow(`${dataDir}/warehouse/svc`);
      const committed = `${dataDir}/wal/default/events/committed`;
      const [{ name } = { name: "" }] = await Array.fromAsync(Deno.readDir(committed));
      const longAgo = new Date(Date.now() - 3_600_000);
      await Deno.utime(`${committed}/${name}`, longAgo, longAgo);
      const walOnly = settingsOf([...once, "--role", "maintenance", "--wal-only"]);
      assert.match(await runOnce(walOnly), /1 committed segment removed/);
      assert.deepEqual(await filesBelow(`${dataDir}/warehouse/svc`), before);
    }),
});

async function filesBelow(folder: string): Promise<string[]> {
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.map(({ name }) => name).sort();
}

Deno.test({
  name: "runOnce drains everything and says what it did",
  fn: () =>
    inDataDir(async (dataDir) => {
      await seal(dataDir, [[1, 2, 3], [4]]);
      const settings = settingsOf(["--data-dir", dataDir, "--once"]);
      assert.match(await runOnce(settings), /^drained 4 rows in 1 file with 1 commit, \d+\.\d s$/);
      assert.match(await runOnce(settings), /^drained 0 rows in 0 files with 0 commits, /);
    }),
});

Deno.test({
  name:
    "runOnce refuses a place without WAL and catalog and makes nothing there; of a lane that it cannot commit it tells the name",
  fn: () =>
    inDataDir(async (dataDir) => {
      const settings = settingsOf(["--data-dir", dataDir, "--once"]);
      const misspelt = `${dataDir}/misspelt`;
      await assert.rejects(
        runOnce(settingsOf(["--data-dir", misspelt, "--once"])),
        { code: "not_found", message: /Cannot drain .*misspelt\/wal: there is no such folder/ },
      );
      await assert.rejects(Deno.stat(misspelt), Deno.errors.NotFound);
      await Deno.mkdir(`${dataDir}/wal`, { recursive: true });
      assert.match(await runOnce(settings), /^drained 0 rows /);
      await seal(dataDir, [[1]]);
      // A file where the table's folder is to be.
      await Deno.writeTextFile(`${dataDir}/warehouse/svc`, "in the way");
      await assert.rejects(
        runOnce(settings),
        (error) => isOperatingError(error) && error.message.includes("default/events"),
      );
    }),
});

Deno.test({
  name: "runOnce with role maintenance leaves sealed segments alone",
  fn: () =>
    inDataDir(async (dataDir) => {
      await seal(dataDir, [[1]]);
      const argv = ["--data-dir", dataDir, "--once", "--role", "maintenance"];
      assert.match(await runOnce(settingsOf(argv)), /^drained 0 rows /);
      const sealed = await Array.fromAsync(Deno.readDir(`${dataDir}/wal/default/events/sealed`));
      assert.equal(sealed.length, 1);
    }),
});

Deno.test({
  name: "deleteOptionsOf leaves delete tasks alone for each word that says no",
  fn() {
    const optionsFor = (value: string) =>
      deleteOptionsOf({
        deleteTasks: value,
        deleteGraceSecs: 7,
        scratchDir: "scratch",
        dataDir: "/d",
      });
    for (const word of ["0", "off", "false", "no", "OFF", "No"]) {
      assert.equal(optionsFor(word), undefined, word);
    }
    for (const word of ["1", "on", "true", "yes"]) {
      assert.deepEqual(optionsFor(word), { scratchDir: "/d/scratch", graceMs: 7_000 }, word);
    }
  },
});

Deno.test({
  name: "a compactor makes 64 columns of attributes unless it is told how many",
  fn() {
    assert.equal(settingsOf([]).attributeColumns, 64);
    const env = new Map([["SVC_ATTRIBUTE_COLUMNS", "7"]]);
    assert.equal(parseOptions(OPTIONS, [], (name) => env.get(name)).attributeColumns, 7);
    for (const bad of ["-1", "193", "all"]) {
      assert.throws(() => settingsOf([`--attribute-columns=${bad}`]), UsageError, bad);
    }
  },
});

Deno.test({
  name: "summaryLine mentions what was set aside and removed",
  fn() {
    const maintenance = {
      merged: { files: 9, into: 2 },
      retained: 1,
      expired: 3,
      removed: 1,
    };
    const totals = {
      lanes: 1,
      rows: 1,
      files: 1,
      commits: 1,
      secs: 0.25,
      failures: [],
      maintenance,
    };
    assert.equal(
      summaryLine({ ...totals, poisoned: 1, swept: 2, deleted: 1 }),
      "drained 1 row in 1 file with 1 commit, 1 segment set aside in poison/, " +
        "2 committed segments removed, 1 delete task carried out, 9 files merged into 2, " +
        "1 file past retention dropped, 3 snapshots expired, 1 needless file removed, 0.3 s",
    );
  },
});

Deno.test({
  name: "startCompactor drains what is asked for and counts it in /metrics",
  fn: () =>
    inDataDir(async (dataDir) => {
      const argv = ["--data-dir", dataDir, "--metrics-bind", "127.0.0.1:0"];
      await using compactor = await startCompactor(settingsOf(argv));
      await seal(dataDir, [[1, 2, 3]], { request: true });
      const { hostname, port } = compactor.metricsAddress;
      const rows = 'svc_drain_rows_total{lane="default/events"} 3';
      for (let tries = 0;; tries += 1) {
        const text = await (await fetch(`http://${hostname}:${port}/metrics`)).text();
        if (text.includes(rows)) {
          assert.match(text, /svc_drain_commits_total\{outcome="committed"\} 1/);
          assert.match(text, /svc_build_info\{.*role="compactor".*\} 1/);
          break;
        }
        assert.ok(tries < 600, `no commit within a minute:\n${text}`);
        await new Promise((resolve) => setTimeout(resolve, 100));
      }
    }),
});

function settingsOf(argv: readonly string[]) {
  return parseOptions(OPTIONS, argv, () => undefined);
}

async function seal(
  dataDir: string,
  groups: readonly (readonly number[])[],
  options: { readonly request?: boolean } = {},
): Promise<void> {
  await using wal = await openWal({
    fs: new DenoFileSystem(),
    clock: new SystemClock(),
    random: new SystemRandom(),
    root: `${dataDir}/wal`,
    freeBytesMin: 0,
  });
  for (const numbers of groups) {
    await wal.append(EVENTS_LANE, encodeBatch(batchOf(numbers)), "wait_for");
    await wal.seal(EVENTS_LANE);
  }
  if (options.request) await wal.requestDrain(EVENTS_LANE);
}

async function inDataDir(body: (dataDir: string) => Promise<void>): Promise<void> {
  const dataDir = await Deno.makeTempDir({ prefix: "svc-compactor-" });
  try {
    await body(dataDir);
  } finally {
    await Deno.remove(dataDir, { recursive: true });
  }
}
