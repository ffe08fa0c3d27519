import assert from "node:assert/strict";
import { clientUrl, greeting } from "./greeting.ts";

const BINDS: { bind: string; url: string }[] = [
  { bind: "127.0.0.1:8088", url: "http://127.0.0.1:8088" },
  { bind: "0.0.0.0:8088", url: "http://127.0.0.1:8088" },
  { bind: ":8088", url: "http://127.0.0.1:8088" },
  { bind: "[::]:1", url: "http://[::1]:1" },
  { bind: "[::1]:1", url: "http://[::1]:1" },
  { bind: "logs.example:80", url: "http://logs.example:80" },
];

for (const { bind, url } of BINDS) {
  Deno.test({
    name: `clientUrl reaches ${bind} at ${url}`,
    fn: () => assert.equal(clientUrl(bind), url),
  });
}

Deno.test({
  name: "greeting's curl sends a log of this second, as a shell reads it",
  fn: async () => {
    const text = greeting(
      { ingestUrl: "http://127.0.0.1:18088", queryUrl: "http://127.0.0.1:18089" },
      { runner: "deno" },
    );
    const line = text.split("\n").find((candidate) => candidate.startsWith("  curl")) ?? "";
    const words = await shellWords(line);
    assert.equal(words[2], "http://127.0.0.1:18088/v1/logs");
    assert.equal(words[4], "content-type: application/json");
    const body = JSON.parse(words[6] ?? "");
    const record = body.resourceLogs[0].scopeLogs[0].logRecords[0];
    const ageMs = Date.now() - Number(BigInt(record.timeUnixNano) / 1_000_000n);
    assert.ok(ageMs >= 0 && ageMs < 5_000, `${ageMs} ms old`);
  },
});

Deno.test({
  name: "greeting names the endpoint only where svc sql would not ask there anyway",
  fn: async () => {
    const sql = async (queryUrl: string) => {
      const text = greeting({ ingestUrl: "http://127.0.0.1:1", queryUrl }, { runner: "deno" });
      const line = text.split("\n").find((candidate) => candidate.includes("svc sql")) ?? "";
      return await shellWords(line);
    };
    const query = "SELECT timestamp, source, raw FROM events WHERE source = 'hello'";
    assert.deepEqual(await sql("http://127.0.0.1:8089"), [
      "deno",
      "task",
      "-q",
      "svc",
      "sql",
      query,
    ]);
    assert.deepEqual((await sql("http://127.0.0.1:9")).slice(5), [
      "--endpoint",
      "http://127.0.0.1:9",
      query,
    ]);
  },
});

/** The words that a POSIX shell makes of a command line. */
async function shellWords(line: string): Promise<string[]> {
  const script = `set -- ${line.trim()}\nfor word; do printf '%s\\0' "$word"; done`;
  const { stdout } = await new Deno.Command("sh", { args: ["-c", script] }).output();
  return new TextDecoder().decode(stdout).split("\0").slice(0, -1);
}

Deno.test({
  name: "greeting has a psql command where PostgreSQL's protocol is on",
  fn: () => {
    const addresses = { ingestUrl: "http://127.0.0.1:1", queryUrl: "http://127.0.0.1:2" };
    const line = (pg: { pg?: string }) =>
      greeting({ ...addresses, ...pg }, { runner: "deno" }).split("\n")
        .find((one) => one.includes("psql"));
    assert.equal(
      line({ pg: "127.0.0.1:5433" }),
      "Ask with PostgreSQL's clients: psql -h 127.0.0.1 -p 5433",
    );
    assert.match(line({ pg: "[::]:5433" }) ?? "", /psql -h ::1 -p 5433$/);
    assert.equal(line({}), undefined);
  },
});

Deno.test({
  name: "greeting names OTLP/gRPC where it is on",
  fn: () => {
    const addresses = { ingestUrl: "http://127.0.0.1:1", queryUrl: "http://127.0.0.1:2" };
    const first = (otlpGrpc: { otlpGrpc?: string }) =>
      greeting({ ...addresses, ...otlpGrpc }, { runner: "deno" }).split("\n")[1];
    assert.match(
      first({ otlpGrpc: "127.0.0.1:4317" }) ?? "",
      /, OTLP\/gRPC at 127\.0\.0\.1:4317, /,
    );
    assert.doesNotMatch(first({}) ?? "", /gRPC/);
  },
});
