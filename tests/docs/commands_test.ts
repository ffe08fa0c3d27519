/**
 * The commands of README.md, CONTRIBUTING.md and docs/: each is run in one local stack, or its page
 * says why not. What they print is compared with what the page shows, but for numbers.
 */

import assert from "node:assert/strict";
import { join } from "node:path";
import { toOtlp } from "../../cli/dev/seed_demo.ts";
import { workspacePath } from "../../cli/permissions.ts";
import { syntheticEvents } from "../../cli/synthetic_events.ts";
import { messageOf } from "../../shared/base/errors.ts";
import { freePorts } from "../../shared/testing/free_ports.ts";
import { DevStack } from "../apps/dev_stack.ts";
import { isInstalled } from "../clients/programs.ts";
import { type Block, type Command, pageBlocks } from "./page_blocks.ts";
import { shownPattern } from "./shown_output.ts";
import { runSession } from "./user_session.ts";

/** Where the pages say that things listen, in the order of `DevStack`'s ports. */
const PAGE_PORTS = [8088, 8089, 9100, 9101, 9105];
const RUNNER = "npx -y deno@2.9.6 task";
/** Enough that each kind of demo event is among them. */
const EVENTS = 500;
const EVENTS_AGE_NS = 60_000_000_000n;

interface Page {
  readonly path: string;
  readonly blocks: readonly Block[];
}

const pages = await readPages();
const absent = await isInstalled("curl") ? "" : " (ignored: curl is not installed)";

Deno.test({
  name: "each block of commands is run here, by a test that names its page, or says why not",
  fn: async () => {
    const marks = pages.flatMap(({ path, blocks }) => blocks.map(({ mark }) => ({ path, mark })));
    for (const { path, mark } of marks) {
      if (mark.kind !== "elsewhere") continue;
      const text = await Deno.readTextFile(workspacePath(mark.file));
      assert.ok(text.includes(path), `${mark.file} says nothing of ${path}`);
    }
    const kinds = Map.groupBy(marks, ({ mark }) => mark.kind);
    assert.deepEqual(kinds.get("stack")?.map(({ path }) => path), ["README.md"]);
    const run = kinds.get("run")?.length ?? 0;
    const notRun = kinds.get("not_run")?.length ?? 0;
    assert.ok(run > notRun, `${run} blocks are run, ${notRun} are not`);
  },
});

Deno.test({
  name: `what commands of the pages print is what the pages show${absent}`,
  ignore: absent !== "",
  fn: async (t) => {
    const folder = await Deno.makeTempDir({ prefix: "svc-docs-" });
    try {
      await Deno.mkdir(join(folder, "data"));
      const ports = freePorts(PAGE_PORTS.length);
      const stackCommand = onlyCommand("README.md", (command) => command.includes("task dev"));
      const options = stackCommand.text.replace(`${RUNNER} dev`, "").split(" ").filter(Boolean);
      await using stack = DevStack.on(join(folder, "data"), ports, options);
      assert.match(await stack.greeted("The stack is up"), greetingPattern(stackCommand.output));
      await sendEvents(ports[0] ?? 0);
      const prelude = onlyCommand("docs/install.md", (command) =>
        command.startsWith("alias ")).text;
      const byPage = new Map(PAGE_PORTS.map((port, at) => [port, ports[at] ?? 0]));
      for (const { path, blocks } of pages) {
        const commands = blocks.filter(({ mark }) => mark.kind === "run")
          .flatMap((block) => block.commands);
        if (commands.length === 0) continue;
        await t.step(path, async () => {
          const outcomes = await runSession(commands, { folder, ports: byPage, prelude });
          const faults = commands.flatMap((command, at) => {
            const fault = faultOf(command, outcomes[at]);
            return fault === undefined ? [] : [`${path}:${command.line}: ${fault}`];
          });
          assert.ok(faults.length === 0, faults.join("\n"));
        });
      }
    } finally {
      await Deno.remove(folder, { recursive: true });
    }
  },
});

/** README.md, CONTRIBUTING.md and what lies below `docs/`, but what tells of measurements. */
async function readPages(): Promise<Page[]> {
  const pages = ["README.md", "CONTRIBUTING.md", ...(await pagesBelow("docs/")).sort()];
  return await Promise.all(pages.map(readPage));
}

async function pagesBelow(folder: string): Promise<string[]> {
  const found: string[] = [];
  for await (const { name, isDirectory } of Deno.readDir(workspacePath(folder))) {
    if (name.endsWith(".md")) found.push(`${folder}${name}`);
    else if (isDirectory && name !== "measurements") {
      found.push(...await pagesBelow(`${folder}${name}/`));
    }
  }
  return found;
}

async function readPage(path: string): Promise<Page> {
  const text = await Deno.readTextFile(workspacePath(path));
  try {
    return { path, blocks: pageBlocks(text) };
  } catch (error) {
    throw new Error(`${path}: ${messageOf(error)}`);
  }
}

/** The one command of a page for which `isWanted` holds, run or not. */
function onlyCommand(path: string, isWanted: (command: string) => boolean): Command {
  const blocks = pages.find((page) => page.path === path)?.blocks ?? [];
  const found = blocks.flatMap(({ commands }) => commands).filter(({ text }) => isWanted(text));
  const [command] = found;
  assert.ok(command !== undefined && found.length === 1, `${path}: ${found.length} such commands`);
  return command;
}

/** The page's line with any ports. */
function greetingPattern(shown: string): RegExp {
  return shownPattern(shown.split("\n").find((line) => line.startsWith("The stack is up")) ?? "");
}

/** Rows in a table before the first command, so that answers do not depend on the demo's chance. */
async function sendEvents(port: number): Promise<void> {
  const firstNs = BigInt(Date.now()) * 1_000_000n - EVENTS_AGE_NS;
  const events = syntheticEvents({ seed: 1, firstNs }).take(EVENTS).toArray();
  const response = await fetch(`http://127.0.0.1:${port}/v1/logs?commit=force`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify(toOtlp(events)),
  });
  assert.equal(response.status, 200, await response.text());
}

function faultOf(
  { text, output }: Command,
  outcome: { readonly status: number; readonly printed: string } | undefined,
): string | undefined {
  if (outcome === undefined) return `it did not end: ${text}`;
  const { status, printed } = outcome;
  if (status !== 0) return `it ended with ${status}: ${text}\n${printed}`;
  if (shownPattern(output).test(printed)) return undefined;
  return `it printed something else: ${text}\n--- shown\n${output}\n--- printed\n${printed}`;
}
