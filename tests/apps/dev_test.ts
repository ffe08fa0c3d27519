/**
 * `deno task dev` as a user has it: real processes, what it prints is pasted, Ctrl-C ends it. Finds
 * the roles' processes in `/proc`, so it needs Linux.
 */

import assert from "node:assert/strict";
import { workspacePath } from "../../cli/permissions.ts";
import { textLines } from "../../cli/text_lines.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { askWith } from "./raw_connection.ts";

const UP_MS_MAX = 90_000;
const DOWN_MS_MAX = 25_000;
const POLL_MS = 50;

Deno.test({
  name: "dev prints a curl and a query that find each other when pasted, and Ctrl-C ends all",
  fn: async () => {
    await using stack = await DevStack.start();
    const curl = await stack.greeted("curl ");
    const sql = await stack.greeted("npx -y deno@2.9.6 task -q svc sql ");
    assert.equal((await rolePids(stack.dataDir)).length, 3);

    const [url = "", , header = "", , body = ""] = (await shellWords(curl)).slice(2);
    const [name = "", value = ""] = header.split(": ");
    const response = await fetch(url, { method: "POST", headers: { [name]: value }, body });
    assert.equal(response.status, 200, await response.text());

    const bulk = await fetch(new URL("/_bulk", url), {
      method: "POST",
      headers: { "content-type": "application/x-ndjson" },
      body: '{"index":{"_index":"web"}}\n{"message":"at the root"}\n',
    });
    assert.equal((await bulk.json()).errors, false);

    const words = (await shellWords(sql)).slice(3);
    const { stdout, stderr, code } = await new Deno.Command(Deno.execPath(), {
      args: words,
      cwd: workspacePath("."),
    }).output();
    assert.equal(code, 0, textOf(stderr));
    assert.match(textOf(stdout), /hello from curl/);

    stack.signal("SIGINT");
    assert.equal(await stack.ended(), 0, stack.told());
    assert.deepEqual(await rolePids(stack.dataDir), []);
  },
});

Deno.test({
  name: "dev ends in order while a statement runs, whose client has an answer",
  fn: async () => {
    await using stack = await DevStack.start();
    await stack.greeted("curl ");
    const asked = fetch(`http://127.0.0.1:${stack.ports[1]}/api/v1/sql`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify({
        query: "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) " +
          "SELECT count(*) FROM t",
      }),
    }).then((response) => response.json());
    const isAsked = async () => {
      const page = await fetch(`http://127.0.0.1:${stack.ports[4]}/metrics`);
      return /^svc_query_in_flight 1$/m.test(await page.text());
    };
    await until(isAsked, DOWN_MS_MAX, () => stack.told());
    await new Promise((resolve) => setTimeout(resolve, 500)); // It is planned, and runs.
    stack.signal("SIGINT");
    assert.equal((await asked).reason, "server_stopping");
    assert.equal(await stack.ended(), 0, stack.told());
    assert.deepEqual(await rolePids(stack.dataDir), []);
  },
});

Deno.test({
  name: "dev --seed-demo keeps events coming",
  fn: async () => {
    await using stack = await DevStack.start(["--seed-demo"]);
    await stack.greeted("curl ");
    const count = async () => {
      const response = await fetch(`http://127.0.0.1:${stack.ports[1]}/api/v1/sql`, {
        method: "POST",
        headers: { "content-type": "application/json" },
        body: JSON.stringify({
          query: "SELECT count(*) FROM events WHERE sourcetype = 'shop:app'",
        }),
      });
      const text = await response.text();
      return response.ok ? Number(JSON.parse(text).rows[0][0]) : 0;
    };
    await until(async () => await count() >= 20, UP_MS_MAX, () => stack.told());
    const asked = await fetch(`http://127.0.0.1:${stack.ports[0]}/events/_count`);
    const { count: counted } = await asked.json();
    assert.equal(asked.status, 200);
    assert.ok(counted >= 20, `_count answers ${counted}`);
  },
});

Deno.test({
  name: "dev hands --cors-origins and --allowed-hosts to every role",
  fn: async () => {
    const origin = "http://127.0.0.1:5173";
    const flags = ["--cors-origins", origin, "--allowed-hosts", "logs.example"];
    await using stack = await DevStack.start(flags);
    await stack.greeted("curl ");
    for (const port of stack.ports) {
      const ask = (host: string) => askWith(port, { path: "/healthz", headers: { host, origin } });
      const known = await ask("logs.example");
      assert.equal(known.status, 200, `port ${port}`);
      assert.match(known.head, new RegExp(`^access-control-allow-origin: ${origin}$`, "m"));
      assert.equal((await ask("evil.example")).status, 403, `port ${port}`);
    }
  },
});

Deno.test({
  name: "dev ends with a clear message when one of its processes dies",
  fn: async () => {
    await using stack = await DevStack.start();
    await stack.greeted("curl ");
    const [victim] = await rolePids(stack.dataDir, "query/main.ts");
    assert.ok(victim !== undefined);
    Deno.kill(victim, "SIGKILL");
    assert.equal(await stack.ended(), 1, stack.told());
    assert.match(stack.told(), /^svc: Cannot keep the stack up: query ended by SIGKILL/m);
    assert.deepEqual(await rolePids(stack.dataDir), []);
  },
});

Deno.test({
  name: "dev names the port that is taken",
  fn: async () => {
    const ports = freePorts(5);
    using _taken = Deno.listen({ hostname: "127.0.0.1", port: ports[0] ?? 0 });
    await using stack = await DevStack.start([], ports);
    assert.equal(await stack.ended(UP_MS_MAX), 1, stack.told());
    assert.match(
      stack.told(),
      new RegExp(`^svc: cannot listen on 127.0.0.1:${ports[0]}: .* change --ingest-bind$`, "m"),
    );
    assert.deepEqual(await rolePids(stack.dataDir), []);
  },
});

Deno.test({
  name:
    "a second dev on the same folder is refused before anything starts; a killed one leaves nothing",
  fn: async () => {
    await using stack = await DevStack.start();
    await stack.greeted("curl ");
    const before = await rolePids(stack.dataDir);
    const refused = async (who: string, ports: number[]) => {
      await using second = DevStack.on(stack.dataDir, ports);
      assert.equal(await second.ended(UP_MS_MAX), 1, second.told());
      assert.match(
        second.told(),
        new RegExp(
          `^svc: Cannot start a stack in ${stack.dataDir}: ${who} runs there; .*--data-dir$`,
        ),
      );
    };
    await refused("another stack", stack.ports);
    await refused("another stack", freePorts(5));
    assert.deepEqual(await rolePids(stack.dataDir), before);

    // What the test started is the task runner.
    const [dev] = await pidsOf(stack.dataDir, (word) => word.endsWith("cli/main.ts"));
    assert.ok(dev !== undefined);
    Deno.kill(dev, "SIGKILL");
    await stack.ended();
    const areGone = async () => (await rolePids(stack.dataDir)).length === 0;
    await until(areGone, DOWN_MS_MAX, () => "its processes are still there");
    await using next = DevStack.on(stack.dataDir, stack.ports);
    await next.greeted("curl ");
  },
});

class DevStack implements AsyncDisposable {
  readonly #process: Deno.ChildProcess;
  readonly #output: string[] = [];
  readonly #log: string[] = [];
  readonly #reading: Promise<unknown>;
  #code: number | undefined;

  private constructor(
    readonly dataDir: string,
    readonly ports: number[],
    more: string[],
    private readonly removes = true,
  ) {
    const names = ["ingest", "query", "ingest-metrics", "compactor-metrics", "query-metrics"];
    const binds = names.flatMap((name, at) => [`--${name}-bind`, `127.0.0.1:${ports[at]}`]);
    this.#process = new Deno.Command(Deno.execPath(), {
      args: [
        ...["task", "-q", "dev", "--data-dir", dataDir, "--otlp-grpc-listen", "127.0.0.1:0"],
        ...binds,
        ...more,
      ],
      cwd: workspacePath("."),
      stdin: "null",
      stdout: "piped",
      stderr: "piped",
    }).spawn();
    this.#process.status.then(({ code }) => this.#code = code);
    this.#reading = Promise.all([
      collect(this.#process.stdout, this.#output),
      collect(this.#process.stderr, this.#log),
    ]);
  }

  static async start(more: string[] = [], ports = freePorts(5)): Promise<DevStack> {
    return new DevStack(await Deno.makeTempDir({ prefix: "svc-dev-" }), ports, more);
  }

  /** On a folder that another one removes. */
  static on(dataDir: string, ports: number[]): DevStack {
    return new DevStack(dataDir, ports, [], false);
  }

  /** The line of the greeting that begins with `start`, once it is there. */
  async greeted(start: string): Promise<string> {
    const find = () => this.#output.find((line) => line.trim().startsWith(start))?.trim();
    await until(
      () => find() !== undefined || this.#code !== undefined,
      UP_MS_MAX,
      () => this.told(),
    );
    const line = find();
    assert.ok(line !== undefined, `it ended without a line ${start}:\n${this.told()}`);
    return line;
  }

  signal(name: Deno.Signal): void {
    this.#process.kill(name);
  }

  /** Exit status, once it has ended by itself. */
  async ended(msMax = DOWN_MS_MAX): Promise<number> {
    await until(() => this.#code !== undefined, msMax, () => this.told());
    await this.#reading;
    return this.#code ?? -1;
  }

  told(): string {
    return [...this.#output, ...this.#log].join("\n");
  }

  /** Ends what is left, in order first: roles are process groups of their own and would stay. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#code === undefined) this.signal("SIGTERM");
    await until(() => this.#code !== undefined, DOWN_MS_MAX, () => this.told());
    await this.#reading;
    if (this.removes) await Deno.remove(this.dataDir, { recursive: true });
  }
}

async function collect(stream: ReadableStream<Uint8Array<ArrayBuffer>>, into: string[]) {
  for await (const line of textLines(stream)) into.push(line);
}

async function until(
  holds: () => boolean | Promise<boolean>,
  msMax: number,
  told: () => string,
): Promise<void> {
  const deadline = Date.now() + msMax;
  while (!await holds()) {
    if (Date.now() > deadline) throw new Error(`not within ${msMax} ms:\n${told()}`);
    await new Promise((resolve) => setTimeout(resolve, POLL_MS));
  }
}

/** Processes that run a role over `dataDir`. */
function rolePids(dataDir: string, entry = "/main.ts"): Promise<number[]> {
  return pidsOf(dataDir, (word) => word.endsWith(entry) && !word.endsWith("cli/main.ts"));
}

/** Processes over `dataDir` one of whose words is such a one. */
async function pidsOf(dataDir: string, isWanted: (word: string) => boolean): Promise<number[]> {
  const pids: number[] = [];
  for await (const { name } of Deno.readDir("/proc")) {
    if (!/^\d+$/.test(name)) continue;
    const line = await Deno.readTextFile(`/proc/${name}/cmdline`).catch(() => "");
    const words = line.split("\0");
    if (words.some(isWanted) && words.includes(dataDir)) pids.push(Number(name));
  }
  return pids;
}

/** The words that a POSIX shell makes of a command line. */
async function shellWords(line: string): Promise<string[]> {
  const script = `set -- ${line}\nfor word; do printf '%s\\0' "$word"; done`;
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
  return textOf(stdout).split("\0").slice(0, -1);
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}
