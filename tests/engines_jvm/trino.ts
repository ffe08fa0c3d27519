/** A Trino server of its own over a stack's REST catalog, on a free port of loopback. */

import { freePorts } from "../../shared/testing/free_ports.ts";
import type { EngineStack } from "../engines/lab.ts";
import { TRINO, TRINO_JAVA } from "./places.ts";

export const TRINO_VERSION = "483";
const STARTED_MS_MAX = 240_000;
const ANSWER_MS_MAX = 120_000;
const JAVA_OPTIONS = [
  ...["-Xmx1500m", "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1"],
  ...["--add-modules=jdk.incubator.vector", "--enable-native-access=ALL-UNNAMED"],
  ...["--sun-misc-unsafe-memory-access=allow", "--add-opens=java.base/java.nio=ALL-UNNAMED"],
];
/** Files of a warehouse on this machine, as docs/engines.md has it. */
export const LOCAL_FILES = { "fs.native-local.enabled": "true", "local.location": "/" };

interface Answer {
  readonly data?: readonly (readonly unknown[])[];
  readonly nextUri?: string;
  readonly error?: { readonly message: string };
  readonly stats?: { readonly rootStage?: Stage };
}

interface Stage {
  readonly totalSplits: number;
  readonly subStages: readonly Stage[];
}

export class Trino implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #said: Promise<string>;
  readonly #folder: string;
  readonly #url: string;

  private constructor(folder: string, port: number) {
    this.#folder = folder;
    this.#url = `http://127.0.0.1:${port}`;
    this.#process = new Deno.Command(`${TRINO_JAVA}/bin/java`, {
      args: [
        ...[...JAVA_OPTIONS, `-Dconfig=${folder}/config.properties`],
        ...["-cp", `${TRINO}/classes:${TRINO}/server/*`, "TrinoServer", TRINO_VERSION],
      ],
      cwd: folder,
      ...{ stdin: "null", stdout: "piped", stderr: "null" },
    }).spawn();
    this.#said = new Response(this.#process.stdout).text();
  }

  /** `properties`: of the catalog `svc`, beside its address. */
  static async start(
    { address }: EngineStack,
    properties: Readonly<Record<string, string>> = LOCAL_FILES,
  ): Promise<Trino> {
    const folder = await Deno.makeTempDir({ prefix: "svc-trino-" });
    const [port = 0] = freePorts(1);
    await writeProperties(`${folder}/config.properties`, {
      ...{ "node.id": "svc-test", "node.environment": "test" },
      ...{ "node.bind-ip": "127.0.0.1", "node.internal-address": "127.0.0.1" },
      ...{ coordinator: "true", "node-scheduler.include-coordinator": "true" },
      "http-server.http.port": String(port),
      "discovery.uri": `http://127.0.0.1:${port}`,
      ...{ "plugin.dir": `${TRINO}/plugins`, "catalog.config-dir": `${folder}/catalog` },
    });
    await Deno.mkdir(`${folder}/catalog`);
    await writeProperties(`${folder}/catalog/svc.properties`, {
      "connector.name": "iceberg",
      "iceberg.catalog.type": "rest",
      "iceberg.rest-catalog.uri": address,
      ...properties,
    });
    const trino = new Trino(folder, port);
    try {
      await trino.#started();
      return trino;
    } catch (error) {
      await trino[Symbol.asyncDispose]();
      throw error;
    }
  }

  async #started(): Promise<void> {
    for (const deadline = Date.now() + STARTED_MS_MAX; Date.now() < deadline;) {
      const info = await fetch(`${this.#url}/v1/info`).catch(() => undefined);
      const text = await info?.text();
      if (info?.ok && JSON.parse(text ?? "{}").starting === false) return;
      await new Promise((resolve) => setTimeout(resolve, 500));
    }
    this.#process.kill("SIGKILL");
    throw new Error(`Trino did not start; it said:\n${(await this.#said).slice(-4_000)}`);
  }

  /** Rows of a statement in `svc.svc`. Errors: an `Error` with what Trino says. */
  async sql(sql: string): Promise<readonly (readonly unknown[])[]> {
    return (await this.#ask(sql)).rows;
  }

  /** How many splits a statement of one scan reads: a small file is one. Errors: as `sql`. */
  async splits(sql: string): Promise<number> {
    let { stage } = await this.#ask(sql);
    while (stage?.subStages[0] !== undefined) stage = stage.subStages[0];
    return stage?.totalSplits ?? 0;
  }

  async #ask(sql: string): Promise<{ rows: (readonly unknown[])[]; stage: Stage | undefined }> {
    const signal = AbortSignal.timeout(ANSWER_MS_MAX);
    const headers = {
      ...{ "X-Trino-User": "tests", "X-Trino-Time-Zone": "UTC" },
      ...{ "X-Trino-Catalog": "svc", "X-Trino-Schema": "svc" },
    };
    const rows: (readonly unknown[])[] = [];
    const asked = await fetch(`${this.#url}/v1/statement`, {
      ...{ method: "POST", headers, body: sql, signal },
    });
    let answer: Answer = await asked.json();
    for (;;) {
      rows.push(...answer.data ?? []);
      if (answer.error !== undefined) throw new Error(answer.error.message);
      if (answer.nextUri === undefined) return { rows, stage: answer.stats?.rootStage };
      answer = await (await fetch(answer.nextUri, { headers, signal })).json();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    try {
      this.#process.kill("SIGKILL");
    } catch (error) {
      if (!(error instanceof TypeError)) throw error; // It has ended.
    }
    await this.#process.status;
    await this.#said;
    await Deno.remove(this.#folder, { recursive: true });
  }
}

async function writeProperties(
  path: string,
  properties: Readonly<Record<string, string>>,
): Promise<void> {
  const lines = Object.entries(properties).map(([name, value]) => `${name}=${value}\n`);
  await Deno.writeTextFile(path, lines.join(""));
}
