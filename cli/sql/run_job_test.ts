import assert from "node:assert/strict";
import { isOperatingError } from "../../shared/base/errors.ts";
import { SleeplessClock } from "../../shared/testing/sleepless_clock.ts";
import type { Console } from "../console.ts";
import { RecordingConsole } from "../recording_console.ts";
import { SqlClient } from "./client.ts";
import { type JobOptions, runJob } from "./run_job.ts";

const ID = "01a1fd28-6c3a-7235-b977-7cd770e934b0";
const ANSWER = {
  columns: ["n"],
  row_count: 1,
  rows: [[7]],
  cost: { files_to_scan: 1 },
  stats: { rows_scanned: 40, bytes_scanned: 300, spill_bytes: 0, served_by: "scan" },
};

/**
 * What the server answers to the looks at the job, one after another; the last one again and again.
 */
type Look = Record<string, unknown> | { readonly http: number } | "wait" | "unreachable";

function lab(
  looks: readonly Look[],
  options: Partial<JobOptions> & { terminal?: boolean; columns?: number } = {},
) {
  const asked: string[] = [];
  let at = 0;
  let interrupt = () => {};
  const fetchJob = async (signal: AbortSignal | null | undefined): Promise<Response> => {
    const look = looks[Math.min(at, looks.length - 1)] ?? {};
    at += 1;
    if (look === "unreachable") throw new TypeError("connection refused");
    if (look === "wait") {
      queueMicrotask(() => interrupt());
      await new Promise((_, reject) =>
        signal?.addEventListener("abort", () => reject(new DOMException("", "AbortError")))
      );
    }
    if (typeof look === "object" && "http" in look) {
      return Response.json({ error: "away" }, { status: Number(look["http"]) });
    }
    return Response.json({ job_id: ID, ...look as Record<string, unknown> });
  };
  const client = new SqlClient({
    endpoint: "http://query.example",
    fetch: (input, init) => {
      const { pathname } = new URL(String(input));
      const method = init?.method ?? "GET";
      asked.push(`${method} ${pathname.replace("/api/v1", "").replace(ID, "ID")}`);
      if (method === "POST") return Promise.resolve(Response.json({ job_id: ID }, { status: 202 }));
      if (method === "DELETE") return Promise.resolve(Response.json({}, { status: 202 }));
      if (pathname.endsWith("/result")) return Promise.resolve(Response.json(ANSWER));
      return fetchJob(init?.signal);
    },
  });
  const recording = new RecordingConsole();
  const console: Console = options.terminal === true
    ? {
      input: recording.input,
      output: recording.output,
      notes: { ...recording.notes, isTerminal: true, columns: () => options.columns ?? 100 },
    }
    : recording;
  const run = runJob(client, { query: "SELECT n" }, console, {
    format: "table",
    dryRun: false,
    quiet: false,
    clock: new SleeplessClock(),
    onInterrupt(action) {
      interrupt = action;
      return { [Symbol.dispose]() {} };
    },
    ...options,
  });
  return { run, asked, recording, interrupt: () => interrupt() };
}

const RUNNING = { status: "running", progress: { rows: 1_234_567, percent: 42.5 } };
const DONE = {
  status: "succeeded",
  started_at: "2026-11-20T21:04:05.100Z",
  ended_at: "2026-11-20T21:04:06.600Z",
};

Deno.test({
  name: "runJob submits, waits and writes the result; in a pipe nothing else",
  async fn() {
    const { run, asked, recording } = lab([{ status: "pending" }, RUNNING, DONE]);
    await run;
    assert.deepEqual(asked, [
      "POST /sql",
      ...Array.from({ length: 3 }, () => "GET /jobs/ID"),
      "GET /jobs/ID/result",
    ]);
    assert.equal(recording.outputText, "n\n-\n7\n");
    assert.match(
      recording.notesText,
      /^1 row · scan · 1\.50 s server · 1 file · 40 rows scanned · 300 B\n$/,
    );
  },
});

Deno.test({
  name: "runJob on a terminal tells rows and percent on one line, which it clears",
  async fn() {
    const { run, recording } = lab([{ status: "pending" }, RUNNING, DONE], { terminal: true });
    await run;
    const [, ...shown] = recording.notesText.split("\r\x1b[K");
    assert.match(shown[0] ?? "", new RegExp(`^job ${ID} pending · [\\d.]+ m?s$`));
    assert.match(shown[1] ?? "", / running · 1,234,567 rows · 42.5 % · [\d.]+ m?s$/);
    assert.match(shown.at(-1) ?? "", /^1 row · /, "the line is gone before the footer");
    const quiet = lab([RUNNING, DONE], { terminal: true, quiet: true });
    await quiet.run;
    assert.equal(quiet.recording.notesText, "");
  },
});

Deno.test({
  name: "runJob on a narrow terminal leaves out what does not fit whole",
  async fn() {
    const shown = async (columns: number) => {
      const { run, recording } = lab([RUNNING, DONE], { terminal: true, columns });
      await run;
      return recording.notesText.split("\r\x1b[K")[1];
    };
    assert.equal(await shown(76), `job ${ID} running · 1,234,567 rows · 42.5 %`);
    assert.equal(await shown(75), `job ${ID} running · 1,234,567 rows · 42.5 %`);
    assert.equal(await shown(74), `job ${ID} running · 1,234,567 rows`);
    assert.equal(await shown(21), `job ${ID}`.slice(0, 20));
  },
});

Deno.test({
  name: "runJob writes each format",
  async fn() {
    for (
      const [format, output] of [["json", '[\n  {"n":7}\n]\n'], ["ndjson", '{"n":7}\n']] as const
    ) {
      const { run, recording } = lab([DONE], { format });
      await run;
      assert.equal(recording.outputText, output);
    }
  },
});

Deno.test({
  name: "runJob tells how a job ended that did not succeed, safe to show",
  async fn() {
    for (const status of ["failed", "cancelled", "timeout"]) {
      const { run, asked } = lab([{ status, error: "no table\n  ^\x1b[2J" }]);
      await assert.rejects(run, (error) => {
        assert.ok(isOperatingError(error, "internal"));
        assert.equal(error.message, `Job ${ID} ended as ${status}: no table\n  ^\\x1b[2J`);
        return true;
      });
      assert.ok(!asked.includes("GET /jobs/ID/result"));
    }
  },
});

Deno.test({
  name:
    "runJob waits through answers that say nothing of the job, not forever and not through a 404",
  async fn() {
    const { run } = lab([{ http: 503 }, "unreachable", { http: 429 }, RUNNING, DONE]);
    await run;
    await assert.rejects(lab([{ http: 404 }]).run, (error) => isOperatingError(error, "not_found"));
    const gone = lab([RUNNING, "unreachable"]);
    await assert.rejects(gone.run, (error) => isOperatingError(error, "unavailable"));
    assert.ok(gone.asked.length > 100);
  },
});

const ANSWERS: readonly {
  readonly typed: string | undefined;
  readonly cancels: boolean;
  readonly said?: RegExp;
}[] = [
  { typed: "y\n", cancels: true, said: /^Job \S+ is cancelled$/ },
  { typed: " YES\n", cancels: true, said: /^Job \S+ is cancelled$/ },
  { typed: "n\n", cancels: false, said: /goes on; svc sql --job / },
  { typed: undefined, cancels: false, said: /goes on; svc sql --job / },
  { typed: "\n", cancels: false },
];

for (const { typed, cancels, said } of ANSWERS) {
  Deno.test({
    name: `runJob that is interrupted and told ${JSON.stringify(typed)} ${
      cancels ? "cancels" : "does not cancel"
    }`,
    async fn() {
      const { run, asked, recording } = lab([RUNNING, "wait", DONE], {
        terminal: true,
        readLine: () => Promise.resolve(typed),
      });
      if (said === undefined) {
        await run;
        assert.equal(recording.outputText, "n\n-\n7\n");
      } else {
        await assert.rejects(run, (error) => {
          assert.ok(isOperatingError(error, "cancelled"));
          assert.match(error.message, said);
          return true;
        });
      }
      assert.equal(asked.includes("DELETE /jobs/ID"), cancels);
      assert.match(recording.notesText, new RegExp(`Cancel job ${ID}\\? y `));
    },
  });
}

Deno.test({
  name: "runJob that is interrupted twice, or in a pipe, leaves the job running",
  async fn() {
    const twice = lab([RUNNING, "wait"], {
      terminal: true,
      readLine: () => {
        queueMicrotask(twice.interrupt);
        return new Promise(() => {});
      },
    });
    for (const { run, asked } of [twice, lab([RUNNING, "wait"])]) {
      await assert.rejects(run, /goes on/);
      assert.ok(!asked.includes("DELETE /jobs/ID"));
    }
  },
});
