import assert from "node:assert/strict";
import { relative } from "node:path";
import { PAGE_FOLDER } from "../query/ui/page_files.ts";
import { BINARIES, compileArguments } from "./compile.ts";
import { workspacePath } from "./permissions.ts";
import { ROLES } from "./role_places.ts";

const PLACE = { dataDir: "/srv/logs", out: "dist" };

Deno.test({
  name: "compileArguments builds svc and one binary per role from files that exist",
  fn: async () => {
    assert.deepEqual(
      BINARIES.flatMap((binary) => binary.role ?? []).toSorted(),
      [...ROLES].toSorted(),
    );
    for (const binary of BINARIES) {
      const args = compileArguments(binary, PLACE);
      assert.equal(args[0], "compile");
      assert.equal(args.at(-2), `dist/${binary.name}`);
      const entry = args.at(-1) ?? "";
      assert.ok((await Deno.stat(workspacePath(entry))).isFile, entry);
    }
  },
});

Deno.test({
  name: "compile.ts --help shows its options, and what it downloads",
  fn: async () => {
    const { code, stdout } = await new Deno.Command(Deno.execPath(), {
      args: ["run", "-A", "--no-check", "--quiet", workspacePath("cli/compile.ts"), "--help"],
    }).output();
    assert.equal(code, 0);
    assert.match(new TextDecoder().decode(stdout), /DENORT_BIN[^]*--data-dir[^]*--out/);
  },
});

Deno.test({
  name: "compileArguments puts every module of a thread into each binary",
  fn: async () => {
    const sources = await Promise.all(
      ["shared", "ingest", "query", "compactor", "cli"].map((folder) =>
        Array.fromAsync(filesBelow(folder))
      ),
    );
    const modules = sources.flat().filter((path) => path.endsWith("_worker.ts"));
    assert.ok(modules.length > 5);
    for (const binary of BINARIES) {
      const args = compileArguments(binary, PLACE);
      const included = args.filter((word, at) =>
        args[at - 1] === "--include" && /\.ts$/.test(word)
      );
      assert.deepEqual(included.toSorted(), modules.toSorted());
    }
  },
});

Deno.test({
  name:
    "compileArguments puts the page into the query server's binary, and packages of tests nowhere",
  fn: async () => {
    const page = relative(workspacePath("."), PAGE_FOLDER);
    for (const binary of BINARIES) {
      const args = compileArguments(binary, PLACE);
      const after = (flag: string) => args.filter((_, at) => args[at - 1] === flag);
      assert.equal(after("--include").includes(page), binary.role === "query", binary.name);
      // The compiler takes the packages of each folder below the workspace that has some.
      assert.ok(after("--exclude").includes("tests/node_modules"), binary.name);
    }
    const { tasks } = JSON.parse(await Deno.readTextFile(workspacePath("deno.json")));
    const steps: string[] = tasks.compile.split(" && ");
    const [install, build, compile] = ["deno install", "task --quiet web", "cli/compile.ts"]
      .map((words) => steps.findIndex((step) => step.includes(words)));
    assert.ok(install === 0 && build === 1 && compile === 2, tasks.compile);
  },
});

async function* filesBelow(folder: string): AsyncGenerator<string> {
  for await (const { name, isDirectory } of Deno.readDir(workspacePath(folder))) {
    if (isDirectory) yield* filesBelow(`${folder}/${name}`);
    else yield `${folder}/${name}`;
  }
}

Deno.test({
  name: "compileArguments bakes a role's own permissions for the chosen place into its binary",
  fn: () => {
    const flags = (name: string) => {
      const binary = BINARIES.find((candidate) => candidate.name === name);
      return compileArguments(binary ?? BINARIES[0] as typeof BINARIES[number], PLACE)
        .filter((word) => word.startsWith("--allow-"));
    };
    const ingest = flags("svc-ingest-server");
    assert.ok(ingest.includes("--allow-write=/srv/logs/wal"));
    assert.ok(!ingest.some((flag) => flag.startsWith("--allow-ffi")));
    const written = [
      "query-cache",
      "warehouse/svc/query_audit",
      "warehouse/svc/job_results",
      "warehouse/catalog.db",
      "warehouse/catalog.db-commits",
      "warehouse/jobs.db",
    ].map((place) => `/srv/logs/${place}`);
    assert.ok(flags("svc-query-server").includes(`--allow-write=${written.join(",")}`));
    for (const { name, role } of BINARIES) {
      const all = flags(name);
      // The role starts itself, which gains nothing: its permissions are built in.
      const run = role === "query" || role === "compactor"
        ? [`--allow-run=${workspacePath(`dist/${name}`)}`]
        : [];
      assert.deepEqual(all.filter((flag) => flag.startsWith("--allow-run")), run, name);
      assert.ok(!all.includes("--allow-all"), name);
      if (role !== undefined) {
        assert.ok(!all.includes("--allow-write") && !all.includes("--allow-net"));
      }
    }
  },
});

Deno.test({
  name:
    "compileArguments lets roles call what --calls names, a query server its peers, and no other",
  fn: () => {
    const calls = ["query-1:8089", "10.0.0.7"];
    const netOf = (role: string, given?: readonly string[]) => {
      const binary = BINARIES.find((one) => one.role === role);
      assert.ok(binary !== undefined);
      const place = given === undefined ? PLACE : { ...PLACE, calls: given };
      return compileArguments(binary, place).find((word) => word.startsWith("--allow-net="));
    };
    assert.equal(netOf("query"), "--allow-net=0.0.0.0:8089,127.0.0.1:9105");
    assert.equal(
      netOf("query", calls),
      "--allow-net=0.0.0.0:8089,127.0.0.1:9105,query-1:8089,10.0.0.7",
    );
    assert.equal(netOf("compactor", calls), "--allow-net=127.0.0.1:9101,query-1:8089,10.0.0.7");
  },
});
