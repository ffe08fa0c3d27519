/**
 * What each member of the workspace says it needs, against what its files import, and an
 * installation of one role alone. docs/install_roles.md tells users about it.
 */

import assert from "node:assert/strict";
import { BINARIES, THREADS } from "../../cli/compile.ts";
import { ROLES } from "../../cli/role_places.ts";
import denoJson from "../../deno.json" with { type: "json" };
import examplesJson from "../../examples/deno.json" with { type: "json" };
import { VERSION } from "../../shared/base/version.ts";
import testsJson from "../deno.json" with { type: "json" };
import { isTest, packagesOf, reachedFrom } from "./import_rules.ts";
import { readSources, ROOT } from "./sources.ts";

interface Member {
  /** Absent where no other workspace imports the member. */
  readonly version?: string;
  readonly exports?: string | Readonly<Record<string, string>>;
  readonly imports: Readonly<Record<string, string>>;
}

const SOURCES = await readSources();
const MEMBERS = new Map<string, Member>();
for (const path of denoJson.workspace) {
  const text = await Deno.readTextFile(new URL(`${path}/deno.json`, ROOT));
  MEMBERS.set(path.replace("./", ""), JSON.parse(text));
}
/** Declarations of a package that has none of its own: no file names them. */
const DECLARATIONS = ["@types/pg"];
/** Programs run what they import; the rest of a member's folder is imported by programs. */
const PROGRAMS = BINARIES.map(({ entry }) => entry);

Deno.test({
  name: "workspace has every folder of sources as a member, but that of tests",
  fn: () => {
    const folders = [...SOURCES.keys()].map((path) => path.split("/")[0]);
    assert.deepEqual([...MEMBERS.keys(), "tests"].toSorted(), [...new Set(folders)].toSorted());
    assert.deepEqual(testsJson.workspace, [], "tests/deno.json is the root of its own");
  },
});

for (const entry of PROGRAMS) {
  const name = entry.split("/")[0] ?? "";
  Deno.test({
    name: `workspace ${name}/deno.json names each package that its program reaches, and no other`,
    fn: () => {
      const reached = reachedFrom([entry], SOURCES);
      assert.ok(reached.size > 200, "the program was followed");
      assert.deepEqual(Object.keys(MEMBERS.get(name)?.imports ?? {}), packagesOf(reached, SOURCES));
    },
  });
}

for (const name of ["proto", "shared", "web"]) {
  Deno.test({
    name: `workspace ${name}/deno.json names each package that its files import, and no other`,
    fn: () => {
      const files = [...SOURCES.keys()].filter((path) =>
        path.startsWith(`${name}/`) && !path.startsWith("shared/testing/") && !isTest(path)
      );
      const named = Object.keys(MEMBERS.get(name)?.imports ?? {});
      assert.deepEqual(
        named.filter((specifier) => !DECLARATIONS.includes(specifier)),
        packagesOf(files, SOURCES, { types: true }),
      );
    },
  });
}

Deno.test({
  name: "workspace every file of a member finds its packages among that member's imports",
  fn: () => {
    const wrong = [...SOURCES.keys()].flatMap((file) => {
      const member = MEMBERS.get(file.split("/")[0] ?? "");
      if (member === undefined || isTest(file) || file.startsWith("shared/testing/")) return [];
      return packagesOf([file], SOURCES, { types: true })
        .filter((specifier) => !(specifier in member.imports))
        .map((specifier) => `${file}: ${specifier}`);
    });
    assert.deepEqual(wrong, []);
  },
});

Deno.test({
  name: "workspace svc/wal needs no package, and svc/wal/arrow just Arrow",
  fn: () => {
    const needed = (file: string) =>
      packagesOf(reachedFrom([`shared/wal/${file}`], SOURCES), SOURCES);
    assert.deepEqual(needed("open_wal_consumer.ts"), []);
    assert.deepEqual(needed("record_batch.ts"), ["apache-arrow"]);
  },
});

Deno.test({
  name: "threads that make data files load no package: it would take longer than their own code",
  fn: () => {
    for (const thread of ["derived/file", "derived/derive", "parquet/parquet"]) {
      const reached = reachedFrom([`shared/${thread}_worker.ts`], SOURCES);
      assert.ok(reached.size > 30, `${thread} was read`);
      assert.deepEqual(packagesOf(reached, SOURCES), [], thread);
    }
  },
});

Deno.test({
  name: "workspace every thread that a program starts is one that binaries contain",
  fn: () => {
    const started = [...reachedFrom(PROGRAMS, SOURCES)].filter((file) => /_worker\.ts$/.test(file));
    assert.deepEqual(started.toSorted(), THREADS.toSorted());
  },
});

Deno.test({
  name: "workspace has one version of each package, tests included, and one of its own",
  fn: () => {
    const known: Readonly<Record<string, string>> = testsJson.imports;
    for (const [name, { imports, version, exports = {} }] of MEMBERS) {
      // The page runs in a browser: no test loads its packages.
      if (name === "web") continue;
      const ofTests = Object.fromEntries(Object.keys(imports).map((key) => [key, known[key]]));
      assert.deepEqual(ofTests, imports, `${name}/deno.json and tests/deno.json`);
      assert.equal(version ?? VERSION, VERSION, `the version in ${name}/deno.json`);
      for (const path of typeof exports === "string" ? [exports] : Object.values(exports)) {
        assert.ok(SOURCES.has(`${name}/${path.replace("./", "")}`), `${name} exports ${path}`);
      }
    }
    for (const [name, place] of Object.entries(examplesJson.imports)) {
      assert.equal(place, known[name], `${name} in examples/deno.json`);
    }
    assert.deepEqual(testsJson.compilerOptions, denoJson.compilerOptions);
    assert.deepEqual(testsJson.unstable, denoJson.unstable);
  },
});

for (const role of ROLES) {
  Deno.test({
    name: `workspace ${role}/deno.lock has the versions and digests of deno.lock`,
    fn: async () => {
      const [own, whole] = await Promise.all([lockOf(`${role}/deno.lock`), lockOf("deno.lock")]);
      const taken = Object.keys(own).map((name) => [name, whole[name]]);
      assert.deepEqual(
        own,
        Object.fromEntries(taken),
        "docs/install_roles.md says how to renew it",
      );
      assert.ok(taken.length > 40 && taken.length < Object.keys(whole).length, `${taken.length}`);
    },
  });

  Deno.test({
    name: `workspace task install of ${role} brings what its program needs to start, and no more`,
    fn: async () => {
      const folder = await Deno.makeTempDir({ prefix: "one-role-" });
      try {
        await copyOf(role, folder);
        // From the packages that the whole installation left in the cache.
        await run(["task", "--cwd", `${folder}/${role}`, "install", "--cached-only"]);
        const installed = await packagesIn(`${folder}/node_modules`);
        assert.deepEqual(installed, Object.keys(MEMBERS.get(role)?.imports ?? {}));
        const help = await run([
          ...["run", "--quiet", "--no-prompt", "--cached-only", "-A"],
          ...[`${folder}/${role}/main.ts`, "--help"],
        ], { DENO_DIR: `${folder}/empty-cache` });
        assert.match(help, /^Usage: /);
      } finally {
        await Deno.remove(folder, { recursive: true });
      }
    },
  });
}

/** What a lock file says of each package, by name and version. */
async function lockOf(path: string): Promise<Record<string, unknown>> {
  return JSON.parse(await Deno.readTextFile(new URL(path, ROOT))).npm;
}

/** The files of a clone that a role's machine needs. */
async function copyOf(role: string, folder: string): Promise<void> {
  const configurations = [...MEMBERS.keys()].map((name) => `${name}/deno.json`);
  const files = [
    ...["deno.json", "deno.lock", "deno.role.json", `${role}/deno.lock`, ...configurations],
    ...reachedFrom([`${role}/main.ts`], SOURCES),
  ];
  for (const file of files) {
    const to = new URL(file, `file://${folder}/`);
    await Deno.mkdir(new URL(".", to), { recursive: true });
    await Deno.copyFile(new URL(file, ROOT), to);
  }
}

async function run(args: readonly string[], env: Record<string, string> = {}): Promise<string> {
  const { code, stdout, stderr } = await new Deno.Command(Deno.execPath(), {
    args: [...args],
    env,
  }).output();
  assert.equal(code, 0, new TextDecoder().decode(stderr));
  return new TextDecoder().decode(stdout);
}

/** Packages that a program can name: `@scope/name` and `name`. */
async function packagesIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { name } of Deno.readDir(folder)) {
    if (name.startsWith(".")) continue;
    if (!name.startsWith("@")) names.push(name);
    else {for await (const inner of Deno.readDir(`${folder}/${name}`)) {
        names.push(`${name}/${inner.name}`);
      }}
  }
  return names.toSorted();
}
