/**
 * Sends real log files through OTLP/HTTP to a running stack, then counts and searches them by SQL
 * and compares with what the files hold. By hand, against `deno task dev`:
 *
 *   deno run --allow-read --allow-net tests/real_input.ts --dir <folder of *.log files>
 *
 * Each line becomes one log record: its body, `service.name` from the file's name, attributes
 * `log.file.name` and `log.file.line`. Prints a line per check; exits 1 when one differs.
 */

import { Command } from "commander";

interface Target {
  readonly ingest: string;
  readonly query: string;
}

interface LogFile {
  readonly service: string;
  readonly name: string;
  readonly lines: readonly string[];
}

const RECORDS_PER_REQUEST = 500;
/** Substrings to look for; whatever they match in the files is the expected count. */
const NEEDLES = ["error", "Failed password", "blk_", "192.168.", "INFO"];

if (import.meta.main) Deno.exit(await main(Deno.args));

async function main(args: readonly string[]): Promise<number> {
  const options = new Command("real_input")
    .requiredOption("--dir <path>", "folder that holds *.log files")
    .option("--ingest <url>", "ingest server", "http://localhost:8088")
    .option("--query <url>", "query server", "http://localhost:8089")
    .parse([...args], { from: "user" })
    .opts<{ dir: string } & Target>();
  const run = crypto.randomUUID();
  const files = await readLogFiles(options.dir);
  for (const file of files) await send(options, file, run);
  let differences = 0;
  for (const check of checksOf(files, run)) {
    const found = await count(options, check.sql);
    const same = found === check.expected;
    if (!same) differences += 1;
    print(
      `${same ? "same  " : "DIFFER"} ${check.what}: ${found} rows, ${check.expected} in the files`,
    );
  }
  return differences === 0 ? 0 : 1;
}

async function readLogFiles(dir: string): Promise<LogFile[]> {
  const files: LogFile[] = [];
  for await (const entry of Deno.readDir(dir)) {
    if (!entry.isFile || !entry.name.endsWith(".log")) continue;
    const text = await Deno.readTextFile(`${dir}/${entry.name}`);
    const lines = text.split(/\r?\n/).filter((line) => line !== "");
    files.push({ service: entry.name.replace(/(_2k)?\.log$/, ""), name: entry.name, lines });
  }
  return files.sort((a, b) => a.name.localeCompare(b.name));
}

async function send(target: Target, file: LogFile, run: string): Promise<void> {
  const startNs = BigInt(Date.now()) * 1_000_000n;
  for (let first = 0; first < file.lines.length; first += RECORDS_PER_REQUEST) {
    const lines = file.lines.slice(first, first + RECORDS_PER_REQUEST);
    const body = exportRequest(file, lines, { first, run, startNs });
    const response = await fetch(`${target.ingest}/v1/logs`, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
    });
    const text = await response.text();
    if (!response.ok) throw new Error(`cannot send ${file.name}: ${response.status} ${text}`);
  }
}

function exportRequest(
  file: LogFile,
  lines: readonly string[],
  at: { first: number; run: string; startNs: bigint },
): unknown {
  const logRecords = lines.map((line, offset) => ({
    timeUnixNano: String(at.startNs + BigInt(at.first + offset)),
    body: { stringValue: line },
    attributes: [
      { key: "log.file.name", value: { stringValue: file.name } },
      { key: "log.file.line", value: { intValue: String(at.first + offset + 1) } },
      { key: "run", value: { stringValue: at.run } },
    ],
  }));
  const resource = {
    attributes: [
      { key: "service.name", value: { stringValue: file.service } },
      { key: "host.name", value: { stringValue: "loghub" } },
    ],
  };
  return { resourceLogs: [{ resource, scopeLogs: [{ logRecords }] }] };
}

function* checksOf(files: readonly LogFile[], run: string) {
  const ofRun = `attr_get(attributes, 'run') = '${run}'`;
  const all = files.flatMap((file) => file.lines);
  yield {
    what: "all lines",
    sql: `SELECT count(*) FROM events WHERE ${ofRun}`,
    expected: all.length,
  };
  for (const file of files) {
    yield {
      what: `lines of ${file.name}`,
      sql: `SELECT count(*) FROM events WHERE ${ofRun} AND source = '${file.service}'`,
      expected: file.lines.length,
    };
  }
  for (const needle of NEEDLES) {
    yield {
      what: `lines with ${JSON.stringify(needle)}`,
      sql: `SELECT count(*) FROM events WHERE ${ofRun} AND raw LIKE '%${needle}%'`,
      expected: all.filter((line) => line.includes(needle)).length,
    };
  }
  yield {
    what: "distinct lines",
    sql: `SELECT count(DISTINCT raw) FROM events WHERE ${ofRun}`,
    expected: new Set(all).size,
  };
}

async function count(target: Target, sql: string): Promise<number> {
  const response = await fetch(`${target.query}/api/v1/sql`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ query: sql }),
  });
  const body = await response.json();
  if (!response.ok) throw new Error(`cannot query ${sql}: ${JSON.stringify(body)}`);
  return Number(body.rows[0][0]);
}

function print(line: string): void {
  Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
}
