import assert from "node:assert/strict";
import fc from "fast-check";
import { UsageError } from "../base/errors.ts";
import type { OptionTable } from "./options.ts";
import { helpText, parseOptions, parseProgram } from "./parse_options.ts";

const TABLE = {
  dataDir: {
    kind: "text",
    flag: "data-dir",
    env: "SVC_DATA_DIR",
    placeholder: "DIR",
    default: "./data",
    help: "Root of local data.",
  },
  maxEvents: {
    kind: "integer",
    flag: "wal-max-events",
    env: "SVC_WAL_MAX_EVENTS",
    placeholder: "N",
    default: 4096,
    min: 1,
    max: 1_000_000,
    help: "Roll a segment after this many events.",
  },
  format: {
    kind: "text",
    flag: "format",
    placeholder: "FORMAT",
    default: "table",
    choices: ["table", "json"],
    help: "Rendering.",
  },
  trust: { kind: "switch", flag: "trust", env: "SVC_TRUST", help: "Trust the header." },
  tokens: { kind: "list", flag: "tokens", env: "SVC_TOKENS", placeholder: "A,B", help: "Tokens." },
  secrets: {
    kind: "list",
    flag: "secrets",
    env: "SVC_SECRETS",
    placeholder: "A,B",
    itemRequired: true,
    help: "None lets anybody in.",
  },
  url: { kind: "text", flag: "url", env: "SVC_URL", placeholder: "URL", help: "Where." },
  prefix: {
    kind: "text",
    flag: "prefix",
    env: "SVC_PREFIX",
    placeholder: "TEXT",
    emptyCounts: true,
    help: "Empty for none.",
  },
  wiring: { kind: "switch", flag: "wiring", hidden: true, help: "Internal." },
} as const satisfies OptionTable;

const DEFAULTS = {
  dataDir: "./data",
  maxEvents: 4096,
  format: "table",
  trust: false,
  tokens: [],
  secrets: [],
  url: undefined,
  prefix: undefined,
  wiring: false,
};

const TAKEN: { argv?: string[]; env?: Record<string, string>; want: Record<string, unknown> }[] = [
  { want: {} },
  { env: { SVC_WAL_MAX_EVENTS: "7" }, want: { maxEvents: 7 } },
  { argv: ["--wal-max-events", "9"], env: { SVC_WAL_MAX_EVENTS: "7" }, want: { maxEvents: 9 } },
  { argv: ["--wal-max-events", "9"], env: { SVC_WAL_MAX_EVENTS: "no" }, want: { maxEvents: 9 } },
  { argv: ["--wal-max-events=1"], want: { maxEvents: 1 } },
  { argv: ["--wal-max-events", "1000000"], want: { maxEvents: 1_000_000 } },
  { env: { SVC_WAL_MAX_EVENTS: "", SVC_URL: "", SVC_TOKENS: "" }, want: {} },
  { env: { SVC_PREFIX: "" }, want: { prefix: "" } },
  { argv: ["--prefix", "a"], env: { SVC_PREFIX: "" }, want: { prefix: "a" } },
  { argv: ["--format", "json"], want: { format: "json" } },
  { argv: ["--trust"], want: { trust: true } },
  { argv: ["--trust=yes"], want: { trust: true } },
  { argv: ["--trust=maybe"], env: { SVC_TRUST: "no" }, want: {} },
  { argv: ["--trust=no"], env: { SVC_TRUST: "yes" }, want: {} },
  { argv: ["--trust", "--trust=no"], env: { SVC_TRUST: "yes" }, want: {} },
  { argv: ["--trust=no", "--trust"], want: { trust: true } },
  { env: { SVC_TRUST: "On" }, want: { trust: true } },
  { env: { SVC_TRUST: "2" }, want: {} },
  { argv: ["--tokens", "a,,b ,"], want: { tokens: ["a", "b"] } },
  { argv: ["--tokens", "a", "--tokens", "b,c"], want: { tokens: ["a", "b", "c"] } },
  { argv: ["--tokens", "a"], env: { SVC_TOKENS: "z" }, want: { tokens: ["a"] } },
  { argv: ["--url", ""], env: { SVC_URL: "http://x" }, want: { url: "" } },
];

for (const { argv = [], env = {}, want } of TAKEN) {
  Deno.test({
    name: `parseOptions takes ${JSON.stringify({ argv, env })}`,
    fn: () =>
      assert.deepEqual(parseOptions(TABLE, argv, (name) => env[name]), { ...DEFAULTS, ...want }),
  });
}

const REFUSED: { argv?: string[]; env?: Record<string, string>; says: RegExp }[] = [
  {
    argv: ["--wal-max-events", "0"],
    says: /^Cannot take --wal-max-events 0: give a whole number from 1 to 1000000$/,
  },
  { argv: ["--wal-max-events", "1000001"], says: /--wal-max-events 1000001: .* to 1000000$/ },
  { argv: ["--wal-max-events", "1.5"], says: /--wal-max-events 1\.5: give a whole number/ },
  { argv: ["--wal-max-events", "0x10"], says: /--wal-max-events 0x10: give a whole number/ },
  { argv: ["--wal-max-events", "a b"], says: /--wal-max-events "a b": give a whole number/ },
  { env: { SVC_WAL_MAX_EVENTS: "many" }, says: /^Cannot take SVC_WAL_MAX_EVENTS many: give/ },
  { argv: ["--secrets", ","], says: /^Cannot take --secrets without an item: give at least one/ },
  { env: { SVC_SECRETS: "" }, says: /^Cannot take SVC_SECRETS without an item: give at least one/ },
  { argv: ["--format", "xml"], says: /^Cannot take --format xml: give one of table, json$/ },
  { argv: ["--wal-max-event", "1"], says: /--wal-max-event.*Did you mean --wal-max-events\?/ },
  { argv: ["--wal-max-events"], says: /--wal-max-events <N>.*missing/ },
  { argv: ["stray"], says: /too many arguments/ },
];

for (const { argv = [], env = {}, says } of REFUSED) {
  Deno.test({
    name: `parseOptions refuses ${JSON.stringify({ argv, env })}`,
    fn: () =>
      assert.throws(
        () => parseOptions(TABLE, argv, (name) => env[name]),
        (error) => error instanceof UsageError && says.test(error.message),
      ),
  });
}

Deno.test({
  name: "parseOptions names flag and variable of a required option that is absent",
  fn: () => {
    const table = {
      sql: {
        kind: "text",
        flag: "sql",
        env: "SVC_SQL",
        placeholder: "SQL",
        required: true,
        help: "",
      },
    } as const satisfies OptionTable;
    assert.throws(() => parseOptions(table, []), /without --sql: give --sql <SQL> or set SVC_SQL/);
    assert.deepEqual(parseOptions(table, ["--sql", "SELECT 1"]), { sql: "SELECT 1" });
  },
});

Deno.test({
  name: "parseOptions asks the environment only for names in its table",
  fn: () => {
    const asked = new Set<string>();
    parseOptions(TABLE, ["--trust"], (name) => {
      asked.add(name);
      return undefined;
    });
    assert.deepEqual([...asked].sort(), [
      "SVC_DATA_DIR",
      "SVC_PREFIX",
      "SVC_SECRETS",
      "SVC_TOKENS",
      "SVC_TRUST",
      "SVC_URL",
      "SVC_WAL_MAX_EVENTS",
    ]);
  },
});

Deno.test({
  name: "parseOptions takes exactly the whole numbers of the range",
  fn: () =>
    fc.assert(
      fc.property(fc.maxSafeInteger(), (value) => {
        const parse = () => parseOptions(TABLE, [`--wal-max-events=${value}`]).maxEvents;
        if (value >= 1 && value <= 1_000_000) assert.equal(parse(), value);
        else assert.throws(parse, UsageError);
      }),
    ),
});

Deno.test({
  name: "parseProgram passes operands and stops reading flags after --",
  fn: () => {
    const program = { name: "svc sql", summary: "Ask.", options: TABLE, operands: "[query]" };
    const invocation = parseProgram(program, ["--trust", "--", "--trust=no"], () => undefined);
    assert.ok(invocation.kind === "run");
    assert.deepEqual(invocation.operands, ["--trust=no"]);
    assert.equal(invocation.settings.trust, true);
  },
});

Deno.test({
  name: "parseProgram prints help with every visible flag, default and variable",
  fn: () => {
    const program = { name: "svc sql", summary: "Ask a server.", options: TABLE, version: "0.1.0" };
    const invocation = parseProgram(program, ["--help"], () => undefined);
    assert.ok(invocation.kind === "print");
    assert.equal(invocation.text, helpText(program));
    const text = invocation.text.replaceAll(/\s+/g, " ");
    assert.match(text, /Usage: svc sql/);
    assert.match(text, /Ask a server\./);
    for (const spec of Object.values(TABLE) as OptionTable[string][]) {
      assert.equal(text.includes(`--${spec.flag}`), spec.hidden !== true, spec.flag);
      if (spec.env !== undefined) assert.ok(text.includes(`env ${spec.env}`), spec.env);
    }
    assert.match(text, /default 4096; env SVC_WAL_MAX_EVENTS/);
    assert.match(text, /one of table, json; default table/);
    const version = parseProgram(program, ["--version"], () => undefined);
    assert.deepEqual(version, { kind: "print", text: "0.1.0\n" });
  },
});
