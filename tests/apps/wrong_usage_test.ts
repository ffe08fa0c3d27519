import assert from "node:assert/strict";
import { workspacePath } from "../../cli/permissions.ts";

/** Options that no start can obey: each ends with status 2 and one line that has the words. */
const CASES: readonly [entry: string, args: string, ...words: string[]][] = [
  ["ingest", "--bind 8088", '"8088" as --bind', "0.0.0.0:8088"],
  ["ingest", "--tls-cert c.pem", "--tls-cert alone", "--tls-key"],
  ["ingest", "--remote-drain", "--remote-drain", "--warehouse-url"],
  ["compactor", "--wal-only", "--role combined", "--role maintenance"],
  ["compactor", "--once --warehouse-url ftp://h/lake", '"ftp"', "s3://"],
  ["query", "--query-hot-caches", "--query-hot-caches alone", "--query-wal-buffer-dir"],
  ["query", "--oidc-issuer https://id.example", "--oidc-issuer alone", "--oidc-audience"],
  ["cli", "subscribe --table events --since yesterday", "--since yesterday", "RFC 3339"],
];

for (const [entry, args, ...words] of CASES) {
  Deno.test({
    name: `${entry}/main.ts ${args} ends with status 2 and one line`,
    async fn() {
      const cwd = await Deno.makeTempDir({ prefix: "svc-wrong-usage-" });
      try {
        const main = workspacePath(`${entry}/main.ts`);
        const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
          args: ["run", "-A", "--no-check", "--quiet", main, ...args.split(" ")],
          cwd,
        }).output();
        const notes = new TextDecoder().decode(stderr);
        assert.deepEqual([code, stdout.byteLength], [2, 0], notes);
        assert.match(notes, /^svc[a-z-]*: [^\n]+\n$/);
        for (const word of words) assert.ok(notes.includes(word), `${word}: ${notes}`);
      } finally {
        await Deno.remove(cwd, { recursive: true });
      }
    },
  });
}
