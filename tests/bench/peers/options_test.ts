import assert from "node:assert/strict";
import { join } from "node:path";
import { parseOptions } from "../../../shared/config/parse_options.ts";
import { goModText } from "./obtain/go_program.ts";
import { pomText } from "./obtain/maven_jars.ts";
import { OPTIONS, planOf } from "./options.ts";
import { SYSTEMS } from "./systems/registry.ts";

function plan(...args: readonly string[]) {
  return planOf(parseOptions(OPTIONS, args));
}

Deno.test({
  name: "planOf without options: all systems, shapes and questions",
  fn: () => {
    const { rows, systems, questions } = plan();
    assert.deepEqual([...rows.keys()], ["services", "lines", "wide"]);
    assert.deepEqual(systems, SYSTEMS.map(({ name }) => name));
    assert.equal(questions.length, 13);
  },
});

Deno.test({
  name: "planOf rows of named shapes choose these shapes, one number is for all that are chosen",
  fn: () => {
    assert.deepEqual([...plan("--rows", "wide=80000,services=2000000").rows], [
      ["services", 2_000_000],
      ["wide", 80_000],
    ]);
    assert.deepEqual([...plan("--rows", "40000", "--shapes", "lines").rows], [["lines", 40_000]]);
    assert.deepEqual(plan("--systems", "loki,svc").systems, ["svc", "loki"]);
  },
});

for (
  const [args, said] of [
    [["--rows", "1500"], /--rows 1500: it takes a multiple of 1000 from 40000 on/],
    [["--rows", "services=many"], /Cannot use --rows services=many/],
    [["--rows", "events=80000"], /--rows events: choose from services, lines, wide/],
    [["--systems", "splunk"], /--systems splunk: choose from svc/],
    [["--questions", "why"], /--questions why: choose from range/],
  ] as const
) {
  Deno.test({
    name: `planOf refuses ${args.join(" ")}`,
    fn: () => assert.throws(() => plan(...args), said),
  });
}

Deno.test({
  name: "OPTIONS each one has its row in the README",
  fn: async () => {
    const page = await Deno.readTextFile(join(import.meta.dirname ?? ".", "README.md"));
    const rows = [...page.matchAll(/^\| `--([\w-]+)/gm)].map(([, flag]) => flag);
    assert.deepEqual(rows, Object.values(OPTIONS).map(({ flag }) => flag));
  },
});

Deno.test({
  name: "goModText takes over replacements by modules and leaves out those by folders",
  fn: () => {
    const text = goModText({ module: "m.org/a", version: "v1.2.3", package: "cmd/a" }, {
      Go: "1.26.5",
      Replace: [
        { Old: { Path: "m.org/b" }, New: { Path: "m.org/fork", Version: "v2.0.0" } },
        {
          Old: { Path: "m.org/c", Version: "v1.0.0" },
          New: { Path: "m.org/c", Version: "v1.0.1" },
        },
        { Old: { Path: "m.org/a/inner" }, New: { Path: "./inner" } },
      ],
    });
    assert.equal(
      text,
      "module bench\n\ngo 1.26.5\n\nrequire m.org/a v1.2.3\n\n" +
        "replace m.org/b => m.org/fork v2.0.0\nreplace m.org/c v1.0.0 => m.org/c v1.0.1\n",
    );
  },
});

Deno.test({
  name: "pomText names the artifact as a dependency",
  fn: () => {
    const text = pomText({ group: "g.org", artifact: "a", version: "1.2" }).replace(/\s+/g, "");
    assert.ok(
      text.includes(
        "<dependency><groupId>g.org</groupId><artifactId>a</artifactId><version>1.2</version>",
      ),
    );
  },
});
