import assert from "node:assert/strict";
import { parseOptions } from "../shared/config/parse_options.ts";
import { configureLogging, resetLogging } from "../shared/logging/logging.ts";
import { RunningIngest } from "../tests/clients/running_ingest.ts";
import { OPTIONS } from "./mod.ts";
import { idleOptions, requireSense } from "./option_checks.ts";

const REDIS = "--ingest-rate-redis-url=redis://127.0.0.1";
const RATE = "--ingest-rate-per-sec=5";
const OIDC = "--oidc-issuer=https://id.example --oidc-audience=svc";
const CLAIM = `${OIDC} --oidc-tenant-claim=org`;
const TRUST = "--trust-scope-header";

function settingsOf(args: string) {
  return parseOptions(OPTIONS, args.split(" ").filter((word) => word !== ""));
}

/** Each refused, with all of the words. */
const SENSELESS: readonly { args: string; says: readonly string[]; drainsHere?: true }[] = [
  { args: "--ingest-rate-redis-url=nonsense", says: ["--ingest-rate-redis-url", "redis://"] },
  { args: "--query-url=127.0.0.1:8089", says: ["--query-url", "http://"] },
  { args: "--query-url=http://h/sql", says: ["--query-url"] },
  { args: `${RATE} --ingest-rate-redis-url=http://h`, says: ["--ingest-rate-redis-url"] },
  { args: "--es-compat-version=newest", says: ["--es-compat-version", '"newest"', "8.17.0"] },
  { args: "--es-compat-version=8.17", says: ["--es-compat-version"] },
  {
    args: "--allowed-tenants=acme,other",
    says: ["--allowed-tenants", "acme, other", "--oidc-tenant-claim", "--trust-scope-header"],
  },
  { args: "--remote-drain", drainsHere: true, says: ["--with-compactor", "--remote-drain"] },
];

for (const { args, says, drainsHere } of SENSELESS) {
  Deno.test({
    name: `requireSense refuses ${args}${drainsHere ? " with a drain here" : ""}`,
    fn() {
      const start = () => requireSense(settingsOf(args), { drainsHere: drainsHere ?? false });
      assert.throws(start, (error) => {
        assert.equal((error as { code?: unknown }).code, "invalid_argument");
        for (const words of says) assert.ok(String(error).includes(words), `${error}: ${words}`);
        return true;
      });
    },
  });
}

/** The flags that are warned of as without effect. */
const IDLE: readonly [args: string, flags: readonly string[]][] = [
  ["", []],
  [REDIS, ["ingest-rate-redis-url"]],
  ["--ingest-rate-burst=5", ["ingest-rate-burst"]],
  [`${RATE} --ingest-rate-burst=5 ${REDIS} --ingest-rate-redis-prefix=p`, []],
  [`${RATE} --ingest-rate-redis-prefix=p`, ["ingest-rate-redis-prefix"]],
  ["--ingest-rate-redis-prefix=p", ["ingest-rate-redis-prefix"]],
  ["--ingest-mem-sample-secs=5", ["ingest-mem-sample-secs"]],
  ["--ingest-mem-sample-secs=5 --ingest-mem-limit-mib=100", []],
  ["--disable-otlp-grpc --otlp-grpc-listen=127.0.0.1:1", ["otlp-grpc-listen"]],
  ["--disable-otlp-grpc", []],
  [`${OIDC} --auth-tokens=a`, ["auth-tokens"]],
  [`${CLAIM} ${TRUST}`, ["trust-scope-header"]],
  ["--max-tenants=3", ["max-tenants"]],
  ["--allowed-tenants=default,acme", ["allowed-tenants"]],
  [`${TRUST} --max-tenants=3 --allowed-tenants=acme`, []],
  [`${CLAIM} --max-tenants=3 --allowed-tenants=acme`, []],
  ["--wal-active-mirror-interval-secs=5", ["wal-active-mirror-interval-secs"]],
  [
    "--wal-active-mirror-interval-secs=5 --warehouse-url=s3://b --wal-mirror-prefix=",
    ["wal-active-mirror-interval-secs"],
  ],
  ["--wal-active-mirror-interval-secs=5 --warehouse-url=s3://b", []],
];

for (const [args, flags] of IDLE) {
  Deno.test({
    name: `idleOptions of "${args}" are ${flags.join(", ") || "none"}`,
    fn() {
      const settings = settingsOf(args);
      requireSense(settings, { drainsHere: false });
      const told = idleOptions(settings);
      assert.deepEqual(told.map((text) => /^--([a-z-]+) has no effect: ./.exec(text)?.[1]), flags);
    },
  });
}

Deno.test({
  name:
    "an ingest server warns of an option without effect, and does not start with a senseless one",
  async fn() {
    const lines: string[] = [];
    await configureLogging({ level: "info", writeLine: (line) => lines.push(line) });
    try {
      await using _ingest = await RunningIngest.start(["--ingest-rate-burst=5"]);
      await assert.rejects(RunningIngest.start(["--allowed-tenants=acme"]), /--trust-scope-header/);
    } finally {
      await resetLogging();
    }
    const warnings = lines.filter((line) => line.includes("WRN ingest --ingest-rate-burst has no"));
    assert.equal(warnings.length, 1, lines.join("\n"));
  },
});
