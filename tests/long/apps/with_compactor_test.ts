/**
 * `svc ingest-server --with-compactor` with a mirror, as processes. The compactor in it has the
 * options and the duties of `svc compactor`. Old copies of the mirror bring nothing back that a
 * table had once.
 */

import assert from "node:assert/strict";
import { dirname, join, relative } from "node:path";
import { workspacePath } from "../../../cli/permissions.ts";
import { openDeleteLedger } from "../../../shared/catalog/open_catalog_parts.ts";
import { DenoFileSystem } from "../../../shared/os/deno_file_system.ts";
import { freePorts } from "../../../shared/testing/free_ports.ts";
import { type ForeignTable, readForeign } from "../../equivalence/foreign_reader.ts";

/** Time in which segments are in the mirror and not in a table: `SVC_COMMIT_MAX_AGE_SECS`. */
const COMMIT_AGE_SECS = 15;
const UP_MS_MAX = 60_000;
/** Segments are kept for a minute after their commit; each minute old snapshots go. */
const SWEPT_MS_MAX = 240_000;

Deno.test({
  name:
    "--with-compactor empties the mirror behind its commits, and old copies of it bring nothing back",
  async fn() {
    await using lab = await Lab.open();
    {
      await using server = await Server.start(lab);
      const sealedMs = Date.now();
      for (const bodies of [["a", "b"], ["c"], ["d", "e"]]) await server.send(bodies);
      const copy = await lab.copyWhen((names) => names.length >= 3);
      assert.equal(await lab.rows(), undefined, "nothing is committed");
      await until(async () => (await lab.table())?.rows.length === 5, UP_MS_MAX);
      const waitedMs = Date.now() - sealedMs;
      assert.ok(waitedMs > COMMIT_AGE_SECS * 1_000, `committed after ${waitedMs} ms`);
      await server.send(["f"]);
      await until(async () => (await lab.table())?.rows.length === 6, UP_MS_MAX);
      await lab.deleteRows("raw = 'b' OR raw = 'd'");
      // The delete task's snapshot, and no earlier one.
      await until(async () => (await lab.table())?.metadata.snapshots?.length === 1, SWEPT_MS_MAX);
      assert.equal(await lab.snapshots(), 1, "and table-info counts them");
      await until(async () => (await lab.mirrored()).length === 0, SWEPT_MS_MAX);
      // Never committed, and its disk is lost.
      await server.send(["late"]);
      await lab.copyWhen((names) => names.length === 1);
      await server.kill();
      await Deno.remove(lab.wal, { recursive: true });
      await lab.restore(copy);
    }
    assert.equal((await lab.mirrored()).length, 4);

    const recovery = ["wal-recover", "--from", `${lab.warehouseUrl}/wal-mirror/`, "--apply"];
    const other = join(lab.folder, "other");
    const blind = await lab.svc([...recovery, "--to", other]);
    assert.match(blind.notes, /pulled 4 segments with 6 rows/);
    const knowing = await lab.svc([...recovery, "--to", lab.wal, "--catalog", lab.catalog]);
    assert.match(knowing.notes, /pulled 1 segment with 1 row;/);
    const drained = await lab.svc([
      "compactor",
      "--once",
      "--role=drain",
      ...lab.places,
      "--wal",
      other,
    ]);
    assert.match(drained.output, /^drained 1 row in 1 file with 1 commit/, drained.notes);
    assert.deepEqual(await lab.rows(), ["a", "c", "e", "f", "late"]);

    for (const more of [["--wal", lab.wal], ["--catalog-claim"]]) {
      const again = await lab.svc(["compactor", "--once", "--role=drain", ...lab.places, ...more]);
      assert.match(again.output, /^drained 0 rows/, again.notes);
    }
    assert.deepEqual(await lab.rows(), ["a", "c", "e", "f", "late"]);
  },
});

class Lab implements AsyncDisposable {
  readonly dataDir: string;
  readonly wal: string;
  readonly warehouseUrl: string;
  readonly catalog: string;
  readonly places: readonly string[];

  private constructor(readonly folder: string) {
    this.dataDir = join(folder, "data");
    this.wal = join(this.dataDir, "wal");
    this.warehouseUrl = `file://${folder}/lake`;
    this.catalog = `sqlite://${folder}/catalog.db?mode=rwc`;
    this.places = [
      ...["--data-dir", this.dataDir, "--warehouse-url", this.warehouseUrl],
      ...["--catalog-uri", this.catalog],
    ];
  }

  static async open(): Promise<Lab> {
    return new Lab(await Deno.makeTempDir({ prefix: "svc-with-compactor-" }));
  }

  /**
   * Rows of the table, in order, without a look into the WAL; undefined while there is no table.
   */
  async rows(): Promise<string[] | undefined> {
    const { code, output, notes } = await this.svc([
      ...["sql-direct", "--warehouse-url", this.warehouseUrl, "--catalog-uri", this.catalog],
      ...["--format=ndjson", "--query=SELECT raw FROM events ORDER BY raw"],
    ]);
    if (code === 0) return output.split("\n").filter(Boolean).map((line) => JSON.parse(line).raw);
    assert.match(notes, /no such (folder|table)|no table|does not exist|Cannot find/i);
    return undefined;
  }

  /**
   * The table as another reader has it, without the time that a command takes to start; undefined
   * while there is none to read.
   */
  table(): Promise<ForeignTable | undefined> {
    const ident = { namespace: "svc", name: "events" };
    return readForeign(join(this.folder, "catalog.db"), ident).catch(() => undefined);
  }

  async snapshots(): Promise<number> {
    const { output, notes } = await this.svc(["table-info", ...this.places]);
    const [header = [], , row = []] = output.trim().split("\n")
      .map((line) => line.split("|").map((cell) => cell.trim()));
    const at = header.indexOf("snapshots");
    assert.ok(at >= 0, `${output}${notes}`);
    return Number(row[at]);
  }

  async deleteRows(predicate: string): Promise<void> {
    const place = join(this.folder, "catalog.db");
    await using ledger = await openDeleteLedger(place, { files: new DenoFileSystem() });
    const ident = { namespace: "svc", name: "events" };
    const task = { ident, tableUuid: undefined, epoch: 0, startNs: undefined, endNs: undefined };
    await ledger.submit({ ...task, taskId: "t1", predicate }, 10);
    let ended = await ledger.find("svc", "t1");
    await until(async () => {
      ended = await ledger.find("svc", "t1");
      return ended?.endedMs !== undefined;
    }, UP_MS_MAX);
    assert.deepEqual([ended?.status, ended?.rowsDeleted], ["done", 2], ended?.error);
  }

  /** Paths of the mirror's objects. */
  async mirrored(folder = join(this.folder, "lake", "wal-mirror")): Promise<string[]> {
    const paths: string[] = [];
    const entries = await Array.fromAsync(Deno.readDir(folder)).catch(() => []);
    for (const { name, isDirectory } of entries) {
      const path = join(folder, name);
      if (isDirectory) paths.push(...await this.mirrored(path));
      else if (name.includes(".seg")) paths.push(path);
    }
    return paths;
  }

  /** The mirror's objects once they are as wanted. */
  async copyWhen(
    holds: (paths: readonly string[]) => boolean,
  ): Promise<Map<string, Uint8Array<ArrayBuffer>>> {
    const copy = new Map<string, Uint8Array<ArrayBuffer>>();
    await until(async () => {
      for (const path of await this.mirrored()) {
        if (!copy.has(path)) copy.set(path, await Deno.readFile(path));
      }
      return holds([...copy.keys()]);
    }, UP_MS_MAX);
    return copy;
  }

  async restore(copy: ReadonlyMap<string, Uint8Array<ArrayBuffer>>): Promise<void> {
    for (const [path, bytes] of copy) {
      assert.ok(!relative(this.folder, path).startsWith(".."));
      await Deno.mkdir(dirname(path), { recursive: true });
      await Deno.writeFile(path, bytes);
    }
  }

  async svc(args: readonly string[]) {
    const { code, stdout, stderr } = await command(args).output();
    const text = new TextDecoder();
    return { code, output: text.decode(stdout), notes: text.decode(stderr) };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Deno.remove(this.folder, { recursive: true });
  }
}

class Server implements AsyncDisposable {
  #killed = false;

  private constructor(
    readonly url: string,
    private readonly process: Deno.ChildProcess,
    private readonly said: Promise<string>,
  ) {}

  static async start(lab: Lab): Promise<Server> {
    const [port, metricsPort] = freePorts(2);
    const url = `http://127.0.0.1:${port}`;
    const process = command([
      ...["ingest-server", "--with-compactor", ...lab.places],
      ...["--bind", `127.0.0.1:${port}`, "--metrics-bind", `127.0.0.1:${metricsPort}`],
      ...["--disable-otlp-grpc", "--wal-max-age-secs=1", "--delete-grace-secs=0"],
    ], {
      SVC_COMMIT_MAX_AGE_SECS: String(COMMIT_AGE_SECS),
      SVC_SNAPSHOT_RETAIN_LAST: "1",
      SVC_SNAPSHOT_RETAIN_SECS: "10",
    }).spawn();
    const server = new Server(url, process, new Response(process.stderr).text());
    await process.stdout.cancel();
    await until(async () => {
      const response = await fetch(`${url}/readyz`).catch(() => undefined);
      await response?.body?.cancel();
      return response?.ok ?? false;
    }, UP_MS_MAX);
    return server;
  }

  /** One segment of its own. */
  async send(bodies: readonly string[]): Promise<void> {
    const logRecords = bodies.map((body) => ({
      timeUnixNano: `${Date.now()}000000`,
      body: { stringValue: body },
    }));
    const response = await fetch(`${this.url}/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
    });
    assert.equal(response.status, 200, await response.text());
    // It is sealed when it is a second old.
    await new Promise((resolve) => setTimeout(resolve, 1_500));
  }

  async kill(): Promise<void> {
    this.#killed = true;
    this.process.kill("SIGKILL");
    await this.process.status;
    await this.said;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (!this.#killed) await this.kill();
  }
}

function command(args: readonly string[], env: Readonly<Record<string, string>> = {}) {
  return new Deno.Command(Deno.execPath(), {
    args: ["run", "--quiet", "--no-prompt", "-P=cli", workspacePath("cli/main.ts"), ...args],
    cwd: workspacePath("."),
    env: { ...env },
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  });
}

async function until(holds: () => Promise<boolean>, msMax: number): Promise<void> {
  const deadline = Date.now() + msMax;
  while (!await holds()) {
    if (Date.now() > deadline) throw new Error(`did not come true within ${msMax} ms`);
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}
