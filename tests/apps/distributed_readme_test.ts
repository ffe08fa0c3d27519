/**
 * Four query servers by the commands of README.md, "One machine or many", as they are printed there
 * but for the ports and the place of the data.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { makeDataFolders } from "../../cli/data_folders.ts";
import { workspacePath } from "../../cli/permissions.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { EngineLab } from "../../shared/testing/engine_lab.ts";
import { until } from "../../shared/testing/until.ts";
import { isInstalled } from "../clients/programs.ts";
import { pageBlocks } from "../docs/page_blocks.ts";
import { commitSharedEvents, type Told } from "./shared_events.ts";

const NAME = "tests/apps/distributed_readme_test.ts";
const SERVERS = 4;
/** The first commands, which start nothing. */
const SETTINGS = 3;
const READY_MS = 120_000;
/** Between the outputs of commands. */
const MARK = "\x1e";
const absent = await isInstalled("curl") ? "" : " (ignored: curl is not installed)";

Deno.test({
  name: `README.md's four query servers share a statement${absent}`,
  ignore: absent !== "",
  async fn() {
    await using lab = await EngineLab.open();
    await commitSharedEvents(lab);
    await makeDataFolders(lab.dir);
    const ports = freePorts(2 * SERVERS);
    const [own = [], metrics = []] = [ports.slice(0, SERVERS), ports.slice(SERVERS)];
    const commands = await readCommands();
    const [start, peers, ask, end, ...more] = commands.slice(SETTINGS);
    assert.deepEqual(more, []);
    await using shell = await Shell.open(lab.dir, { own, metrics });
    for (const command of commands.slice(0, SETTINGS)) await shell.run(command);
    await shell.run(start ?? "");
    for (const port of own) {
      await until(async () => await readyPeers(port) === SERVERS - 1, {
        ...{ msMax: READY_MS, pollMs: 200 },
      });
    }
    const report = JSON.parse(await shell.run(peers ?? "")) as {
      readonly peers: readonly { readonly state: string }[];
    };
    const states = report.peers.map(({ state }) => state).sort();
    assert.deepEqual(states, ["ready", "ready", "ready", "self"]);
    const { rows, stats } = JSON.parse(await shell.run(ask ?? "")) as Told;
    const { mode, shards = [] } = stats.phases.distributed ?? {};
    assert.equal(mode, "aggregate", JSON.stringify(stats));
    assert.ok(new Set(shards.map(({ server }) => server)).size > 1, JSON.stringify(shards));
    const plain =
      "SELECT host, count(*) AS n, max(length(raw)) AS longest FROM events GROUP BY host";
    assert.deepEqual(rows, (await lab.query(plain)).rows);
    await shell.run(end ?? "");
    for (const port of own) await until(async () => await readyPeers(port) === undefined);
  },
});

async function readCommands(): Promise<string[]> {
  const blocks = pageBlocks(await Deno.readTextFile(workspacePath("README.md")))
    .filter(({ mark }) => mark.kind === "elsewhere" && mark.file === NAME);
  assert.equal(blocks.length, 1);
  return blocks.flatMap(({ commands }) => commands.map(({ text }) => text));
}

/** Undefined: there is no server. */
async function readyPeers(port: number): Promise<number | undefined> {
  const response = await fetch(`http://127.0.0.1:${port}/debug/peers`).catch(() => undefined);
  if (response === undefined) return undefined;
  const { peers } = await response.json() as { peers: readonly { state: string }[] };
  return peers.filter(({ state }) => state === "ready").length;
}

/** A shell in the checkout, for which `data` is elsewhere and servers have other ports. */
class Shell implements AsyncDisposable {
  readonly #output: ReadableStreamDefaultReader<string>;
  readonly #input: WritableStreamDefaultWriter<Uint8Array>;
  #rest = "";

  private constructor(
    private readonly process: Deno.ChildProcess,
    private readonly dataDir: string,
    private readonly ports: {
      readonly own: readonly number[];
      readonly metrics: readonly number[];
    },
  ) {
    this.#output = process.stdout.pipeThrough(new TextDecoderStream()).getReader();
    this.#input = process.stdin.getWriter();
  }

  static async open(
    dataDir: string,
    ports: { readonly own: readonly number[]; readonly metrics: readonly number[] },
  ): Promise<Shell> {
    const programs = join(dataDir, "programs");
    await Deno.mkdir(programs);
    await Deno.writeTextFile(
      join(programs, "npx"),
      `#!/bin/sh\n[ "$1 $2" = "-y deno@2.9.6" ] || exit 64\nshift 2\nexec '${Deno.execPath()}' "$@"\n`,
      { mode: 0o755 },
    );
    const process = new Deno.Command("setsid", {
      args: ["bash"],
      cwd: workspacePath("."),
      env: { PATH: `${programs}:${Deno.env.get("PATH")}`, SVC_DATA_DIR: dataDir },
      stdin: "piped",
      stdout: "piped",
      stderr: "null",
    }).spawn();
    return new Shell(process, dataDir, ports);
  }

  /** What a command printed. */
  async run(text: string): Promise<string> {
    await this.#input.write(new TextEncoder().encode(`${this.#placed(text)}\nprintf '${MARK}'\n`));
    while (!this.#rest.includes(MARK)) {
      const { value, done } = await this.#output.read();
      assert.ok(!done, `the shell has ended: ${text}`);
      this.#rest += value;
    }
    const [printed = "", ...rest] = this.#rest.split(MARK);
    this.#rest = rest.join(MARK);
    return printed;
  }

  #placed(text: string): string {
    const { own, metrics } = this.ports;
    return text
      .replaceAll(/\bdata(?=[/,])/g, this.dataDir)
      .replaceAll(/127\.0\.0\.1:819(\d)/g, (_, n) => `127.0.0.1:${own[Number(n) - 1]}`)
      // The loop's variable chooses among the ports.
      .replaceAll("127.0.0.1:819$n", `127.0.0.1:$(echo ${own.join(" ")} | cut -d' ' -f$n)`)
      .replaceAll("127.0.0.1:919$n", `127.0.0.1:$(echo ${metrics.join(" ")} | cut -d' ' -f$n)`);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // It ends with all that it started and that still runs.
    await this.#input.write(new TextEncoder().encode("kill -KILL 0\n")).catch(() => {});
    await this.#input.close().catch(() => {});
    await this.#output.cancel();
    await this.process.status;
  }
}
