/**
 * `deno task dev` as a user has it: real processes, what it prints is pasted, Ctrl-C ends it.
 */

import assert from "node:assert/strict";
import { workspacePath } from "../../../cli/permissions.ts";
import { freePorts } from "../../../shared/testing/free_ports.ts";
import { DevStack, DOWN_MS_MAX, pidsOf, rolePids, until, UP_MS_MAX } from "../../apps/dev_stack.ts";
import { askWith } from "../../apps/raw_connection.ts";

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
  name: "dev with a SQLite catalog outside of the warehouse commits and answers, and ends in " +
    "order while a statement runs, whose client has an answer",
  fn: async () => {
    const elsewhere = await Deno.makeTempDir({ prefix: "svc-catalog-" });
    try {
      const catalog = `${elsewhere}/made/catalog.db`;
      await using stack = await DevStack.start(["--catalog-uri", `sqlite://${catalog}?mode=rwc`]);
      await stack.greeted("curl ");
      const bulk = await fetch(`http://127.0.0.1:${stack.ports[0]}/_bulk?commit=force`, {
        method: "POST",
        headers: { "content-type": "application/x-ndjson" },
        body: '{"index":{"_index":"web"}}\n{"message":"far away"}\n',
      });
      assert.equal((await bulk.json()).errors, false, stack.told());
      const answer = await askSql(stack, {
        query: "SELECT count(*) AS n FROM web",
        snapshot: "latest",
      });
      assert.deepEqual(answer.rows, [[1]], stack.told());
      await Deno.stat(catalog);
      await endWhileStatementRuns(stack);
    } finally {
      await Deno.remove(elsewhere, { recursive: true });
    }
  },
});

async function endWhileStatementRuns(stack: DevStack): Promise<void> {
  const asked = askSql(stack, {
    query: "WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM t) " +
      "SELECT count(*) FROM t",
  });
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
}

Deno.test({
  name:
    "dev --seed-demo keeps events coming, and --cors-origins and --allowed-hosts reach every role",
  fn: async () => {
    const origin = "http://127.0.0.1:5173";
    const flags = ["--cors-origins", origin, "--allowed-hosts", "logs.example"];
    await using stack = await DevStack.start(["--seed-demo", ...flags]);
    await stack.greeted("curl ");
    for (const port of stack.ports) {
      const ask = (host: string) => askWith(port, { path: "/healthz", headers: { host, origin } });
      const known = await ask("logs.example");
      assert.equal(known.status, 200, `port ${port}`);
      assert.match(known.head, new RegExp(`^access-control-allow-origin: ${origin}$`, "m"));
      assert.equal((await ask("evil.example")).status, 403, `port ${port}`);
    }
    const query = "SELECT count(*) FROM events WHERE sourcetype = 'shop:app'";
    const count = async () => Number((await askSql(stack, { query })).rows?.[0]?.[0] ?? 0);
    await until(async () => await count() >= 20, UP_MS_MAX, () => stack.told());
    const asked = await fetch(`http://127.0.0.1:${stack.ports[0]}/events/_count`);
    const { count: counted } = await asked.json();
    assert.equal(asked.status, 200);
    assert.ok(counted >= 20, `_count answers ${counted}`);
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

async function askSql(
  { ports }: Pick<DevStack, "ports">,
  body: Readonly<Record<string, unknown>>,
): Promise<{ readonly rows?: unknown[][]; readonly reason?: string }> {
  const response = await fetch(`http://127.0.0.1:${ports[1]}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  return await response.json();
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
