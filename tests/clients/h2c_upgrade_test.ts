/**
 * Clients that ask to go on in HTTP/2 (`Upgrade: h2c`) with a request that has a body. They are
 * `curl --http2` and JDK 17's `java.net.http.HttpClient` as it is, which OpenTelemetry's and
 * Spring's senders are built on. They are answered over HTTP/1.1, as RFC 9110 section 7.8 lets a
 * server do.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { startTestServer } from "../doubles/query_server.ts";
import { isInstalled } from "./programs.ts";
import { RunningIngest } from "./running_ingest.ts";

const JAVA_PROGRAM = join(import.meta.dirname ?? ".", "Posts.java");

const logJson = (text: string) =>
  JSON.stringify({
    resourceLogs: [{ scopeLogs: [{ logRecords: [{ body: { stringValue: text } }] }] }],
  });

/** ExportLogsServiceRequest with one record whose body is `text`: fields 1, 2, 2, 5, 1. */
function logProtobuf(text: string): Uint8Array {
  let message = field(1, new TextEncoder().encode(text));
  for (const number of [5, 2, 2, 1]) message = field(number, message);
  return message;
}

function field(number: number, content: Uint8Array): Uint8Array {
  return new Uint8Array([(number << 3) | 2, content.byteLength, ...content]);
}

interface Post {
  readonly path: string;
  readonly type: string;
  readonly body: string | Uint8Array;
  readonly answer: RegExp;
}

const INGESTED: readonly Post[] = [
  { path: "/v1/logs", type: "application/json", body: logJson("as json"), answer: /^200 .*\{/ },
  {
    path: "/v1/logs",
    type: "application/x-protobuf",
    body: logProtobuf("as protobuf"),
    answer: /^200 /,
  },
  {
    path: "/api/v1/_compat/_bulk",
    type: "application/x-ndjson",
    body: `{"index":{"_index":"events"}}\n{"message":"in bulk"}\n`,
    answer: /^200 .*"errors":false/,
  },
];
const ROWS = ["as json", "as protobuf", "in bulk"];

const ASKED: Post = {
  path: "/api/v1/sql",
  type: "application/json",
  body: JSON.stringify({ query: "SELECT 1" }),
  answer: /^200 .*"row_count"/,
};

const noJava = await isInstalled("javac", ["-version"]) ? "" : " (ignored: no JDK is installed)";
const noCurl = await isInstalled("curl") ? "" : " (ignored: curl is not installed)";

/** Writes bodies to files; the arguments of `Posts.java`. */
async function javaArguments(dir: string, url: string, posts: readonly Post[]): Promise<string[]> {
  const args: string[] = [];
  for (const [at, { path, type, body }] of posts.entries()) {
    const file = join(dir, `body-${at}`);
    if (typeof body === "string") await Deno.writeTextFile(file, body);
    else await Deno.writeFile(file, body);
    args.push(`${url}${path}`, type, file);
  }
  return args;
}

/** A line for each answer. */
async function run(command: string, args: readonly string[]): Promise<string[]> {
  const { success, stdout, stderr } = await new Deno.Command(command, {
    args: [...args],
    stdin: "null",
    stdout: "piped",
    stderr: "piped",
  }).output();
  assert.ok(success, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout).trimEnd().split("\n");
}

Deno.test({
  name:
    `JDK's HttpClient posts logs in each format with Upgrade: h2c, and each row is stored${noJava}`,
  ignore: noJava !== "",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    const args = await javaArguments(ingest.dataDir, ingest.url, INGESTED);
    const lines = await run("java", [JAVA_PROGRAM, ...args]);
    assert.equal(lines.length, 2 * INGESTED.length);
    for (const [at, { answer }] of INGESTED.entries()) {
      for (const line of lines.slice(2 * at, 2 * at + 2)) {
        assert.match(line, answer);
        assert.match(line, /^\d+ HTTP_1_1 /);
      }
    }
    const stored = (await ingest.rows()).map((row) => row.columns.raw);
    assert.deepEqual(stored.sort(), [...ROWS, ...ROWS].sort());
  },
});

Deno.test({
  name: `JDK's HttpClient asks SQL with Upgrade: h2c${noJava}`,
  ignore: noJava !== "",
  fn: async () => {
    await using query = await startTestServer();
    const dir = await Deno.makeTempDir({ prefix: "svc-h2c-" });
    try {
      const args = await javaArguments(dir, query.url, [ASKED]);
      for (const line of await run("java", [JAVA_PROGRAM, ...args])) {
        assert.match(line, ASKED.answer);
      }
    } finally {
      await Deno.remove(dir, { recursive: true });
    }
  },
});

Deno.test({
  name: `curl --http2 posts logs in each format with Upgrade: h2c, and each row is stored${noCurl}`,
  ignore: noCurl !== "",
  fn: async () => {
    await using ingest = await RunningIngest.start();
    for (const { path, type, body, answer } of INGESTED) {
      const file = join(ingest.dataDir, "body");
      await Deno.writeFile(file, typeof body === "string" ? new TextEncoder().encode(body) : body);
      const lines = await run("curl", [
        ...["--silent", "--show-error", "--http2", "--max-time", "30"],
        ...["--header", `content-type: ${type}`, "--data-binary", `@${file}`],
        ...["--write-out", "\n%{http_code} %{http_version}"],
        `${ingest.url}${path}`,
      ]);
      const [status, version] = lines.at(-1)?.split(" ") ?? [];
      assert.equal(version, "1.1");
      assert.match(`${status} ${lines.join(" ")}`, answer);
    }
    const stored = (await ingest.rows()).map((row) => row.columns.raw);
    assert.deepEqual(stored.sort(), [...ROWS].sort());
  },
});
