/**
 * Shows each role refused what it must not do, and granted what it must:
 * docs/decisions.md#permissions-of-a-role.
 */

import assert from "node:assert/strict";
import { BINARIES, compileArguments } from "../../cli/compile.ts";
import {
  permissionFlags,
  permissionsOf,
  processArguments,
  runtimeEnvironment,
  runtimeFlags,
  workspacePath,
} from "../../cli/permissions.ts";
import { placesOf, type Role, ROLES } from "../../cli/role_places.ts";
import cliJson from "../../cli/deno.json" with { type: "json" };
import denoJson from "../../deno.json" with { type: "json" };
import { freePort } from "../../shared/testing/free_ports.ts";
import type { Attempt } from "./permission_probe.ts";

interface Expectation {
  readonly granted: (data: string) => readonly Attempt[];
  readonly refused: (data: string) => readonly Attempt[];
}

const PACKAGE_FILE = workspacePath("node_modules/parquet-wasm/package.json");
const AUDIT_SOURCE = workspacePath("query/audit/audit_worker.ts");
const LIBRARY = workspacePath("node_modules/no-such-library.node");

/** What no role may do. `{data}/secret` is a file beside the folders that roles work in. */
const NEVER = (data: string): readonly Attempt[] => [
  ["read", "/etc/passwd"],
  ["read", `${data}/secret`],
  ["read", workspacePath("deno.json")],
  ["list", data],
  ["write", `${data}/new`],
  ["write", workspacePath("node_modules/new")],
  ["remove", `${data}/secret`],
  ["run", "/bin/true"],
  ["ffi", "/lib/libc.so.6"],
  ["env", "HOME"],
  ["env", "PATH"],
  ["sys", "hostname"],
  ["connect", "127.0.0.1:1"],
  ["listen", "127.0.0.1:0"],
];

const EXPECTED: Readonly<Record<Role, Expectation>> = {
  ingest: {
    granted: (data) => [
      ["write", `${data}/wal/segment`],
      ["read", `${data}/wal/segment`],
      ["remove", `${data}/wal/segment`],
      ["read", `${data}/warehouse/catalog.db`],
      ["read", `${data}/warehouse/catalog.db-commits`],
      ["read", workspacePath("shared/wal/frame_worker.ts")],
      ["read", workspacePath("ingest/otlp/decode_worker.ts")],
      ["env", "SVC_WAREHOUSE_URL"],
    ],
    refused: (data) => [
      ["write", `${data}/warehouse/events.parquet`],
      ["read", `${data}/warehouse/events.parquet`],
      ["write", `${data}/warehouse/catalog.db`],
      ["write", `${data}/warehouse/catalog.db-commits`],
      ["write", `${data}/query-cache/spill`],
      ["read", PACKAGE_FILE],
      ["ffi", LIBRARY],
    ],
  },
  compactor: {
    granted: (data) => [
      ["read", `${data}/wal/kept`],
      ["write", `${data}/wal/moved`],
      ["write", `${data}/warehouse/events.parquet`],
      ["read", `${data}/warehouse/events.parquet`],
      ["write", `${data}/warehouse/catalog.db`],
      ["write", `${data}/compactor-scratch/copy.parquet`],
      ["read", PACKAGE_FILE],
      ["run", Deno.execPath()],
      ["env", "SVC_CATALOG_URI"],
    ],
    refused: (data) => [
      // DuckDB is loaded in processes of its own.
      ["ffi", LIBRARY],
      ["read", `${data}/query-cache/spill`],
      ["write", `${data}/query-cache/spill`],
    ],
  },
  query: {
    granted: (data) => [
      ["read", `${data}/wal/kept`],
      ["read", `${data}/warehouse/kept.parquet`],
      ["write", `${data}/query-cache/spill`],
      ["remove", `${data}/query-cache/spill`],
      ["write", `${data}/warehouse/svc/query_audit/new.parquet`],
      ["remove", `${data}/warehouse/svc/query_audit/new.parquet`],
      ["write", `${data}/warehouse/svc/job_results/new.parquet`],
      ["remove", `${data}/warehouse/svc/job_results/new.parquet`],
      ["write", `${data}/warehouse/catalog.db`],
      ["write", `${data}/warehouse/catalog.db-commits`],
      ["write", `${data}/warehouse/jobs.db`],
      ["read", PACKAGE_FILE],
      ["read", AUDIT_SOURCE],
      ["run", Deno.execPath()],
      ["env", "SVC_QUERY_MAX_ROWS"],
    ],
    refused: (data) => [
      // DuckDB is loaded in processes of its own.
      ["ffi", LIBRARY],
      ["write", `${data}/wal/segment`],
      ["remove", `${data}/wal/kept`],
      ["write", `${data}/warehouse/events.parquet`],
      ["remove", `${data}/warehouse/kept.parquet`],
      ["write", `${data}/warehouse/.tmp/new`],
      ["write", `${data}/warehouse/svc/events.parquet`],
      ["write", `${data}/warehouse/svc/query_audit.parquet`],
      ["write", `${data}/warehouse/other/query_audit/new.parquet`],
      ["write", `${data}/warehouse/other/job_results/new.parquet`],
      ["write", `${data}/warehouse/svc/job_results.parquet`],
      ["write", `${data}/warehouse/jobs.db-wal`],
      ["write", `${data}/warehouse/catalog.db-wal`],
      ["write", `${data}/warehouse/catalog.db-shm`],
    ],
  },
};

for (const role of ROLES) {
  Deno.test({
    name: `permissionsOf ${role} refuses what it must not do and grants what it must`,
    fn: async () => {
      const data = await makeData();
      try {
        const granted = EXPECTED[role].granted(data);
        const refused = [...EXPECTED[role].refused(data), ...NEVER(data)];
        const outcomes = await probe(role, data, [...granted, ...refused]);
        const wrong = [...granted, ...refused]
          .filter((_, at) => outcomes[at] !== at < granted.length)
          .map((attempt) => attempt.join(" "));
        assert.deepEqual(wrong, [], "let through although refused was due, or the other way round");
        assert.equal(await Deno.readTextFile(`${data}/wal/kept`), "kept");
      } finally {
        await Deno.remove(data, { recursive: true });
      }
    },
  });

  Deno.test({
    name: `permissionsOf ${role} equals its named set in deno.json for ./data`,
    fn: () => {
      const places = placesOf(role, { dataDir: "./data", root: "." });
      const { run = [], ...named } = permissionsOf(role, places);
      assert.deepEqual(named, denoJson.permissions[role]);
      // Where the runtime is, the task finds out.
      const granted = /--allow-run=(.*?\)) /.exec(denoJson.tasks[role])?.[1];
      const runtime = "$(deno eval 'console.log(Deno.execPath())')";
      assert.equal(granted, run.length === 0 ? undefined : runtime);
      assert.deepEqual(run, run.length === 0 ? [] : [Deno.execPath()]);
    },
  });
}

Deno.test({
  name: "permissionsOf ingest grants the listeners named by its options and no others",
  fn: async () => {
    const data = await makeData();
    try {
      const [chosen, other] = [freePort(), freePort()];
      const args = ["--bind", `127.0.0.1:${chosen}`, `--metrics-bind=127.0.0.1:0`];
      const attempts: readonly Attempt[] = [
        ["listen", `127.0.0.1:${chosen}`],
        ["listen", "127.0.0.1:0"],
        ["listen", `127.0.0.1:${other}`],
      ];
      assert.deepEqual(await probe("ingest", data, attempts, args), [true, true, false]);
    } finally {
      await Deno.remove(data, { recursive: true });
    }
  },
});

Deno.test({
  name: "permissionsOf compactor with --catalog-claim touches no WAL",
  fn: async () => {
    const data = await makeData();
    try {
      const attempts: readonly Attempt[] = [
        ["read", `${data}/warehouse/kept.parquet`],
        ["write", `${data}/warehouse/events.parquet`],
        ["read", `${data}/wal/kept`],
        ["write", `${data}/wal/moved`],
      ];
      assert.deepEqual(await probe("compactor", data, attempts, ["--catalog-claim"]), [
        true,
        true,
        false,
        false,
      ]);
    } finally {
      await Deno.remove(data, { recursive: true });
    }
  },
});

for (const role of ["ingest", "query"] as const) {
  Deno.test({
    name: `permissionsOf ${role} grants its TLS files and issuer when named, to read and to call`,
    fn: () => grantsWhatIsNamed(role),
  });
}

async function grantsWhatIsNamed(role: Role): Promise<void> {
  const data = await makeData();
  try {
    using issuer = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    using other = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    await Deno.writeTextFile(`${data}/cert.pem`, "kept");
    const args = [
      "--oidc-issuer",
      `http://127.0.0.1:${issuer.addr.port}/realm`,
      `--tls-cert=${data}/cert.pem`,
    ];
    const attempts: readonly Attempt[] = [
      ["connect", `127.0.0.1:${issuer.addr.port}`],
      ["read", `${data}/cert.pem`],
      ["connect", `127.0.0.1:${other.addr.port}`],
      ["read", `${data}/secret`],
      ["write", `${data}/cert.pem`],
    ];
    assert.deepEqual(await probe(role, data, attempts, args), [
      true,
      true,
      false,
      false,
      false,
    ]);
  } finally {
    await Deno.remove(data, { recursive: true });
  }
}

const SERVICES: [args: string[], services: string[]][] = [
  [[], []],
  [["--oidc-issuer", "https://issuer.example/realm"], ["issuer.example:443"]],
  [["--oidc-issuer=http://issuer.example:8080"], ["issuer.example:8080"]],
  [["--ingest-rate-redis-url", "redis://user:secret@redis.example/1"], ["redis.example:6379"]],
  [["--ingest-rate-redis-url", "rediss://redis.example:7000"], ["redis.example:7000"]],
  [["--ingest-rate-redis-url", "redis://[::1]:7000"], ["[::1]:7000"]],
  [["--query-url", "http://query.example:8089"], ["query.example:8089"]],
  [
    ["--ingest-rate-redis-url", "redis://r", "--oidc-issuer", "https://i"],
    ["i:443", "r:6379"],
  ],
];

for (const [args, services] of SERVICES) {
  Deno.test({
    name: `placesOf ${args.join(" ")} calls ${services.join(" and ") || "nobody"}`,
    fn: () => {
      const called = (role: Role) => placesOf(role, { dataDir: "/d", root: "/r", args }).services;
      assert.deepEqual(called("ingest"), services);
      // The query server shares no budget: it calls its issuer alone.
      assert.deepEqual(called("query"), services.filter((name) => name.startsWith("i")));
      assert.deepEqual(called("compactor"), []);
    },
  });
}

const CATALOGS: [args: string[], services: string[]][] = [
  [["--catalog-uri", "postgres://svc:secret@db.example/svc"], ["db.example:5432"]],
  [["--catalog-uri=postgresql://db.example:6432/svc"], ["db.example:6432"]],
  [["--catalog-uri", "sqlite:///c/catalog.db"], []],
];

for (const [args, services] of CATALOGS) {
  Deno.test({
    name: `placesOf a catalog at ${services[0] ?? "a file"} lets every role reach just that`,
    fn: () => {
      for (const role of ROLES) {
        const places = placesOf(role, { dataDir: "/d", root: "/r", args });
        assert.deepEqual(places.services, services, role);
        assert.deepEqual(places.environment, services.length > 0 ? ["SVC_*", "PG*"] : ["SVC_*"]);
      }
    },
  });
}

const S3_VARIABLES = { AWS_REGION: "eu-west-1" };

const WAREHOUSES: readonly [
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  services: readonly string[],
][] = [
  [["--warehouse-url", "file:///w"], S3_VARIABLES, []],
  [["--warehouse-url", "s3://lake/a"], S3_VARIABLES, [
    "lake.s3.eu-west-1.amazonaws.com:443",
    "s3.eu-west-1.amazonaws.com:443",
  ]],
  [[], { SVC_WAREHOUSE_URL: "s3://lake", AWS_ENDPOINT_URL: "http://s3.local:9000" }, [
    "s3.local:9000",
  ]],
];

for (const [args, env, services] of WAREHOUSES) {
  Deno.test({
    name: `placesOf lets a role reach its warehouse: ${args.join(" ")} ${JSON.stringify(env)}`,
    fn() {
      for (const role of ROLES) {
        const places = placesOf(role, { dataDir: "/d", root: "/r", args, env });
        assert.deepEqual(places.services, services, role);
        const environment = services.length > 0 ? ["SVC_*", "AWS_*"] : ["SVC_*"];
        assert.deepEqual(places.environment, environment);
      }
    },
  });
}

const CATALOG_FILES = ["/d/warehouse/catalog.db", "/d/warehouse/catalog.db-commits"];
const JOBS_FILE = "/d/warehouse/jobs.db";
const RESULTS = "/d/warehouse/svc/job_results";
const ACME_RESULTS = "/d/warehouse/acme/job_results";

const MIRRORED: readonly [
  args: readonly string[],
  sys: readonly string[],
  env?: Readonly<Record<string, string>>,
][] = [
  [[], ["statfs"]],
  [["--warehouse-url", "file:///w"], ["statfs", "setPriority"]],
  [["--warehouse-url", "file:///w", "--wal-mirror-prefix="], ["statfs"]],
  [["--warehouse-url", "file:///w"], ["statfs"], { SVC_WAL_MIRROR_PREFIX: "" }],
  [["--wal-mirror-prefix", "copies"], ["statfs", "setPriority"]],
];

for (const [args, sys, env = {}] of MIRRORED) {
  Deno.test({
    name: `permissionsOf ingest lets it ${sys.join(" and ")}: ${args.join(" ")} ${
      JSON.stringify(env)
    }`,
    fn() {
      const places = placesOf("ingest", { dataDir: "/d", root: "/r", args, env });
      assert.deepEqual(permissionsOf("ingest", places).sys, sys);
    },
  });
}

const QUERY_WRITES: readonly [
  args: readonly string[],
  env: Readonly<Record<string, string>>,
  places: readonly string[],
][] = [
  [[], {}, ["/d/warehouse/svc/query_audit", RESULTS, ...CATALOG_FILES, JOBS_FILE]],
  [["--tenant-namespace", "acme"], { SVC_TENANT_NAMESPACE: "other" }, [
    "/d/warehouse/acme/query_audit",
    ACME_RESULTS,
    ...CATALOG_FILES,
    JOBS_FILE,
  ]],
  [[], { SVC_TENANT_NAMESPACE: "acme", SVC_CATALOG_URI: "postgres://h/d" }, [
    "/d/warehouse/acme/query_audit",
    ACME_RESULTS,
  ]],
  [["--audit-disabled"], {}, [RESULTS, ...CATALOG_FILES, JOBS_FILE]],
  [["--audit-disabled", "--jobs-postgres-uri=postgres://h/d"], {}, [RESULTS, ...CATALOG_FILES]],
  [[], { SVC_QUERY_AUDIT_DISABLED: "true", SVC_CATALOG_URI: "postgres://h/d" }, [RESULTS]],
  [[], { SVC_QUERY_AUDIT_DISABLED: "no" }, [
    "/d/warehouse/svc/query_audit",
    RESULTS,
    ...CATALOG_FILES,
    JOBS_FILE,
  ]],
];

for (const [args, env, written] of QUERY_WRITES) {
  Deno.test({
    name: `placesOf lets query write ${written.join(" and ")}: ${args.join(" ")} ${
      JSON.stringify(env)
    }`,
    fn() {
      const places = placesOf("query", { dataDir: "/d", root: "/r", args, env });
      assert.deepEqual(permissionsOf("query", places).write, ["/d/query-cache", ...written]);
    },
  });
}

Deno.test({
  name: "set cli may load DuckDB's library in the version that is installed, and no other",
  fn() {
    const [, version] = /@(1[^@]*)$/.exec(cliJson.imports["@duckdb/node-bindings"]) ?? [];
    const { ffi } = denoJson.permissions.cli;
    for (const folder of ffi) {
      assert.match(folder, /^\.\/node_modules\/\.deno\/@duckdb\+node-bindings-[a-z0-9-]+@[^/]+$/);
      assert.ok(folder.endsWith(`@${version}`), folder);
    }
    const sets = Object.entries(denoJson.permissions).filter(([, set]) => "ffi" in set);
    assert.deepEqual(sets.map(([name]) => name), ["cli"]);
  },
});

Deno.test({
  name: "permissionsOf grants the file of a SQLite catalog outside of the warehouse",
  fn() {
    const args = ["--catalog-uri", "sqlite:///c/catalog.db?mode=rwc"];
    const grants = (role: Role) =>
      permissionsOf(role, placesOf(role, { dataDir: "/d", root: "/r", args }));
    const file = "/c/catalog.db";
    assert.ok(grants("ingest").read?.includes(file));
    assert.ok(!grants("ingest").write?.some((place) => file.startsWith(place)));
    assert.ok(grants("query").read?.includes("/c"));
    for (const written of [file, "/c/jobs.db"]) {
      assert.ok(grants("query").write?.includes(written), written);
    }
    for (const kind of ["read", "write"] as const) {
      assert.ok(grants("compactor")[kind]?.includes("/c"), kind);
    }
  },
});

Deno.test({
  name: "placesOf lets the query server alone reach the database of --jobs-postgres-uri",
  fn() {
    const env = { SVC_JOBS_POSTGRES_URI: "postgres://svc:secret@jobs.example/svc" };
    for (const role of ROLES) {
      const places = placesOf(role, { dataDir: "/d", root: "/r", env });
      assert.deepEqual(places.services, role === "query" ? ["jobs.example:5432"] : [], role);
      assert.deepEqual(places.environment, role === "query" ? ["SVC_*", "PG*"] : ["SVC_*"]);
    }
  },
});

Deno.test({
  name: "placesOf takes files and services from the environment where no flag names them",
  fn: () => {
    const env = {
      SVC_OIDC_ISSUER: "https://issuer.example",
      SVC_INGEST_RATE_REDIS_URL: "",
      SVC_INGEST_TLS_CERT: "/cert",
      SVC_INGEST_TLS_KEY: "/key",
      SVC_QUERY_TLS_CERT: "/query-cert",
    };
    const options = { dataDir: "/d", root: "/r", env };
    const places = placesOf("ingest", { ...options, args: ["--tls-key=/other"] });
    assert.deepEqual(places.services, ["issuer.example:443"]);
    assert.deepEqual(places.tlsFiles, ["/cert", "/other"]);
    assert.deepEqual(placesOf("query", options).tlsFiles, ["/query-cert"]);
    assert.deepEqual(placesOf("query", options).services, ["issuer.example:443"]);
    const words = processArguments("ingest", "/d", [], env);
    assert.ok(words.some((word) => /^--allow-net=.*,issuer\.example:443$/.test(word)));
  },
});

Deno.test({
  name: "placesOf refuses a service that is no URL without repeating its password",
  fn: () => {
    for (const url of ["user:secret@host", "ftp://user:secret@host", "redis:///secret"]) {
      assert.throws(
        () => placesOf("ingest", { dataDir: "/d", root: "/r", args: ["--oidc-issuer", url] }),
        /^(?!.*secret).*whose URL does not name one host/s,
      );
    }
    for (const uri of ["postgres:///secret", "postgres://user:secret@h1,h2/d"]) {
      assert.throws(
        () => placesOf("ingest", { dataDir: "/d", root: "/r", args: ["--catalog-uri", uri] }),
        /^(?!.*secret).*--catalog-uri.*postgres:\/\/host/s,
      );
    }
  },
});

Deno.test({
  name: "processArguments keeps other options of the role and refuses a path with a comma",
  fn: () => {
    const words = processArguments("query", "/d", ["--threads", "2"]);
    assert.deepEqual(words.slice(-6), [
      "--data-dir",
      "/d",
      "--query-wal-buffer-dir",
      "/d/wal",
      "--threads",
      "2",
    ]);
    assert.ok(words.includes("--no-prompt"));
    assert.throws(() => processArguments("query", "/a,b", []), /without a comma/);
  },
});

Deno.test({
  name: "every way to start a role tells its runtime the same",
  async fn() {
    const page = await Deno.readTextFile(workspacePath("docs/operate.md"));
    for (const role of ROLES) {
      const flags = runtimeFlags(role);
      const compiled = BINARIES.filter((binary) => binary.role === role)
        .map((binary) => compileArguments(binary, { dataDir: "/d", out: "dist" }));
      const commands = [...page.matchAll(/^\$ (?:.*\\\n)*.*/gm)].map(([text]) => text)
        .filter((text) => text.includes(` ${role}/main.ts`));
      assert.ok(commands.length > 0, role);
      const started = [
        processArguments(role, "/d", []),
        ...compiled,
        ...[...commands, denoJson.tasks[role]].map((text) => text.split(/\s+/)),
      ];
      for (const words of started) {
        assert.deepEqual(words.filter((word) => word.startsWith("--v8-flags")), flags, `${words}`);
      }
      const variables = Object.entries(runtimeEnvironment(role)).map(([name, value]) =>
        `${name}=${value}`
      );
      const unit = await Deno.readTextFile(
        workspacePath(`deploy/systemd/svc-${role}.service`),
      );
      for (const text of [denoJson.tasks[role], unit]) {
        const words = text.split(/[\s=]*Environment=|\s+/);
        assert.deepEqual(words.filter((word) => word.startsWith("MALLOC_")), variables, text);
      }
    }
  },
});

Deno.test({
  name:
    "the command of query/ACCESS.md, which replaces kinds of the set query, names all that was in them",
  async fn() {
    const page = await Deno.readTextFile(workspacePath("query/ACCESS.md"));
    const { read, net } = denoJson.permissions.query;
    for (const [flag, needed] of [["read", read], ["net", net]] as const) {
      const granted = new RegExp(`--allow-${flag}=(\\S+)`).exec(page)?.[1]?.split(",") ?? [];
      assert.deepEqual(needed.filter((place) => !granted.includes(place)), [], flag);
    }
  },
});

async function probe(
  role: Role,
  dataDir: string,
  attempts: readonly Attempt[],
  args: readonly string[] = [],
): Promise<boolean[]> {
  const places = placesOf(role, { dataDir, root: workspacePath("."), args });
  const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [
      "run",
      "--quiet",
      "--no-prompt",
      ...permissionFlags(permissionsOf(role, places)),
      workspacePath("tests/workspace/permission_probe.ts"),
      JSON.stringify(attempts),
    ],
  }).output();
  const said = new TextDecoder().decode(stdout);
  if (said === "") throw new Error(new TextDecoder().decode(stderr));
  return JSON.parse(said);
}

async function makeData(): Promise<string> {
  const data = await Deno.makeTempDir({ prefix: "svc-permissions-" });
  const folders = [
    "wal",
    "warehouse/svc/query_audit",
    "warehouse/svc/job_results",
    "query-cache",
    "compactor-scratch",
  ];
  for (const folder of folders) {
    await Deno.mkdir(`${data}/${folder}`, { recursive: true });
  }
  for (const file of ["secret", "wal/kept", "warehouse/kept.parquet", "warehouse/catalog.db"]) {
    await Deno.writeTextFile(`${data}/${file}`, "kept");
  }
  return data;
}
