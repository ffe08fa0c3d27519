/**
 * The three machines of docs/operate.md, which share no disk, by its own commands. The WAL's mirror
 * in S3, 20 ms away, and the catalog in PostgreSQL are all that is between them. Beside the ingest
 * server runs what clears its WAL.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { workspacePath } from "../../cli/permissions.ts";
import { LISTENERS, type Role } from "../../cli/role_places.ts";
import { POSTGRES, PostgresProcess } from "../../shared/testing/postgres_process.ts";
import { S3Process } from "../../shared/testing/s3_process.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";

const READY_MS_MAX = 90_000;

Deno.test({
  name:
    "commit=force waits for a compactor on another machine, which the catalog's bell wakes; a query server on a third " +
    "answers, and the WAL is cleared where it is",
  ignore: POSTGRES === undefined, // The npm package has no programs for this platform.
  async fn() {
    await using postgres = await PostgresProcess.start();
    await using s3 = await S3Process.start();
    s3.delayMs = 20;
    const [http = 0, metrics = 0, grpc = 0] = freePorts(3);
    const recipe = await readRecipe();
    assert.deepEqual(recipe.map(({ role }) => role), [
      ...["ingest", "compactor", "compactor", "query"],
    ]);
    const [ingestCommand, sweeperCommand, compactorCommand, queryCommand] = recipe as [
      ...[Command, Command, Command, Command],
    ];
    const services = `127.0.0.1:${postgres.port},${new URL(s3.url).host}`;
    const env = {
      ...s3.environment,
      SVC_CATALOG_URI: await postgres.newDatabase(),
      SVC_WAREHOUSE_URL: "s3://warehouse/lake",
    };
    const where = { services, env };
    await using ingest = await Machine.start(ingestCommand, where, {
      "--bind": `127.0.0.1:${http}`,
      "--otlp-grpc-listen": `127.0.0.1:${grpc}`,
      "--metrics-bind": `127.0.0.1:${metrics}`,
    });
    await using compactor = await Machine.start(compactorCommand, where, {
      "--metrics-bind": "127.0.0.1:0",
      // Its own looks are of no help: what is committed in time was rung for.
      "--interval-secs": "3600",
    });
    await untilReady(`http://127.0.0.1:${http}/readyz`);
    for (const text of ["first", "second", "third"]) {
      const response = await post(`http://127.0.0.1:${http}/v1/logs?commit=force`, text);
      const answer = await response.text();
      assert.equal(response.status, 200, answer);
    }
    const [sql = 0] = freePorts(1);
    await using query = await Machine.start(queryCommand, where, {
      "--bind": `127.0.0.1:${sql}`,
      "--metrics-bind": "127.0.0.1:0",
    });
    await untilReady(`http://127.0.0.1:${sql}/readyz`);
    const body = JSON.stringify({ query: "SELECT raw FROM events ORDER BY raw" });
    const found = await fetch(`http://127.0.0.1:${sql}/api/v1/sql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body,
    });
    assert.deepEqual((await found.json()).rows, [["first"], ["second"], ["third"]]);

    const sealed = join(ingest.dataDir, "wal/default/events/sealed");
    assert.equal((await Array.fromAsync(Deno.readDir(sealed))).length, 3, "nobody has moved them");
    await using sweeper = await Machine.start(
      sweeperCommand,
      where,
      { "--metrics-bind": "127.0.0.1:0" },
      ingest.dataDir,
    );
    for (const end = Date.now() + READY_MS_MAX; Date.now() < end;) {
      if ((await Array.fromAsync(Deno.readDir(sealed))).length === 0) break;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
    const committed = join(ingest.dataDir, "wal/default/events/committed");
    assert.equal((await Array.fromAsync(Deno.readDir(committed))).length, 3, "to be removed");
    for (const machine of [ingest, compactor, query, sweeper]) {
      assert.doesNotMatch(await machine.stop(), /NotCapable|TypeError|svc@|no thread/);
    }
  },
});

/** One of the page's commands. */
interface Command {
  /** Folder that it makes first, if any. */
  readonly folder: string | undefined;
  readonly variables: Readonly<Record<string, string>>;
  /** Permissions and the like. */
  readonly flags: readonly string[];
  /** Whose main.ts it runs. */
  readonly role: Role;
  readonly args: readonly string[];
}

const COMMAND =
  /^\$ (?:mkdir -p (\S+) && )?((?:[A-Z_]+=\S+ )*)npx -y deno@\S+ run (.+?) (\w+)\/main\.ts(.*)$/gm;

async function readRecipe(): Promise<Command[]> {
  const text = await Deno.readTextFile(workspacePath("docs/operate.md"));
  const section = text.slice(text.indexOf("\n## One machine or many"));
  const lines = section.replaceAll(/ *\\\n */g, " ").replaceAll("'", "");
  const words = (text = "") => text.split(" ").filter((word) => word !== "");
  return Array.from(
    lines.matchAll(COMMAND),
    ([, folder, variables, flags, role, args]) => ({
      folder,
      variables: Object.fromEntries(words(variables).map((word) => word.split("=", 2))),
      flags: words(flags),
      role: role as Role,
      args: words(args),
    }),
  );
}

/** A process of one role with a data directory that no other machine has. */
class Machine implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly dataDir: string;
  /** Whether it is this one's to remove. */
  readonly #ownsData: boolean;
  #stderr: Promise<string> | undefined;

  private constructor(process: Deno.ChildProcess, dataDir: string, ownsData: boolean) {
    this.#process = process;
    this.dataDir = dataDir;
    this.#ownsData = ownsData;
  }

  /**
   * By `command`, with another place for its data, other listeners (`options`) and these services.
   */
  static async start(
    command: Command,
    where: { readonly services: string; readonly env: Readonly<Record<string, string>> },
    options: Readonly<Record<string, string>>,
    shared?: string,
  ): Promise<Machine> {
    const dataDir = shared ?? await Deno.makeTempDir({ prefix: "svc-machine-" });
    const { folder, variables, role } = command;
    const placed = (text: string) => text.replaceAll(/\bdata\//g, `${dataDir}/`);
    if (folder !== undefined) await Deno.mkdir(placed(folder), { recursive: true });
    const flags = command.flags.map((flag) => {
      if (!flag.startsWith("--allow-net=")) {
        return placed(flag.replace("$RUNTIME", Deno.execPath()));
      }
      const ours = Object.entries(LISTENERS[role]).reduce(
        (text, [option, address]) => {
          const anywhere = `0.0.0.0${address.slice(address.lastIndexOf(":"))}`;
          return text.replace(anywhere, options[option] ?? anywhere);
        },
        flag,
      );
      return ours.replace("$SERVICES", where.services);
    });
    const process = new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "--cached-only", ...flags, `${role}/main.ts`, "--data-dir", dataDir],
        ...command.args,
        ...Object.entries(options).flat(),
      ],
      cwd: workspacePath("."),
      env: { ...where.env, ...variables },
      stdin: "null",
      stdout: "null",
      stderr: "piped",
    }).spawn();
    const machine = new Machine(process, dataDir, shared === undefined);
    machine.#stderr = new Response(process.stderr).text();
    return machine;
  }

  /** Ends it; what it wrote to stderr. Idempotent. */
  async stop(): Promise<string> {
    try {
      this.#process.kill("SIGTERM");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // It has ended.
    }
    await this.#process.status;
    return await this.#stderr ?? "";
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop();
    if (this.#ownsData) await Deno.remove(this.dataDir, { recursive: true });
  }
}

function post(url: string, text: string): Promise<Response> {
  const logRecords = [{ timeUnixNano: `${Date.now()}000000`, body: { stringValue: text } }];
  return fetch(url, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ resourceLogs: [{ scopeLogs: [{ logRecords }] }] }),
    signal: AbortSignal.timeout(READY_MS_MAX),
  });
}

async function untilReady(url: string): Promise<void> {
  for (const end = Date.now() + READY_MS_MAX; Date.now() < end;) {
    const response = await fetch(url).catch(() => undefined);
    await response?.body?.cancel();
    if (response?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`${url} was not ready in ${READY_MS_MAX} ms`);
}
