/**
 * Batch jobs on real processes under their permission sets: a result that is too large for the job
 * store, and `svc`.
 */

import assert from "node:assert/strict";
import { workspacePath } from "../../cli/permissions.ts";
import { Stack } from "./stack.ts";

const REQUEST_MS_MAX = 30_000;

Deno.test({
  name:
    "a batch job's large result goes to the warehouse and comes back, also through svc sql --batch",
  async fn() {
    await using stack = await Stack.start();
    const bodies = Array.from({ length: 200 }, (_, n) => `line ${n}`);
    assert.ok(await stack.sendLogs(bodies, { commit: "force" }));
    const query =
      "SELECT raw, n, repeat('é', 20) AS pad FROM events, range(200) t(n) ORDER BY raw, n";
    const { job_id } = await ask(stack, "/sql", { query, priority: "batch" });
    const job = await ask(stack, `/jobs/${job_id}?wait_secs=30`);
    assert.equal(job["status"], "succeeded", String(job["error"]));
    const { rows, row_count } = await ask(stack, `/jobs/${job_id}/result`);
    assert.equal(row_count, 40_000);
    assert.deepEqual((rows as unknown[])[40_000 - 1], ["line 99", 199, "é".repeat(20)]);
    const files: string[] = [];
    for await (const { name } of Deno.readDir(`${stack.dataDir}/warehouse/svc/job_results`)) {
      files.push(name);
    }
    assert.ok(files.includes(`${job_id}-00000.parquet`), files.join());

    const { stdout, stderr, code } = await new Deno.Command(Deno.execPath(), {
      args: [
        ...["run", "--quiet", "--no-prompt", "-P=cli", workspacePath("cli/main.ts")],
        ...["sql", "--batch", "--format", "json", "SELECT count(*) AS n FROM events"],
      ],
      cwd: workspacePath("."),
      env: { SVC_ENDPOINT: stack.queryUrl },
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    assert.deepEqual([code, text(stdout)], [0, '[\n  {"n":200}\n]\n'], text(stderr));

    const said = await stack.stop("query");
    assert.doesNotMatch(said, /NotCapable|cannot|no thread/);
    await stack.ensure("query");
    const again = await ask(stack, `/jobs/${job_id}/result`);
    assert.equal(again["row_count"], 40_000, "results outlive the server");
  },
});

async function ask(
  stack: Stack,
  path: string,
  body?: unknown,
): Promise<Readonly<Record<string, unknown>>> {
  const response = await fetch(`${stack.queryUrl}/api/v1${path}`, {
    headers: { "content-type": "application/json" },
    ...(body === undefined ? {} : { method: "POST", body: JSON.stringify(body) }),
    signal: AbortSignal.timeout(REQUEST_MS_MAX),
  });
  return await response.json();
}
