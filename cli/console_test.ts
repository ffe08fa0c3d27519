import assert from "node:assert/strict";

interface Ran {
  readonly status: number;
  readonly output: string;
  readonly notes: string;
}

/** What the shell's `script` printed, in which `$svc` runs the command line. */
async function run(script: string): Promise<Ran> {
  const main = new URL("main.ts", import.meta.url).pathname;
  const env = { svc: `${Deno.execPath()} run -A --no-check --quiet ${main}` };
  const shell = new Deno.Command("bash", { args: ["-c", script], env });
  const { code, stdout, stderr } = await shell.output();
  const [output, notes] = [stdout, stderr].map((bytes) => new TextDecoder().decode(bytes));
  return { status: code, output: output ?? "", notes: notes ?? "" };
}

Deno.test({
  name: "a result that cannot be written ends a command with one line and status 1",
  async fn() {
    const { status, notes } = await run("$svc --version > /dev/full");
    assert.equal(status, 1);
    assert.match(notes, /^svc: Cannot write the output: [^\n]*space[^\n]*\n$/);
  },
});

Deno.test({
  name: "notes that cannot be written leave a command as it is",
  async fn() {
    assert.equal((await run("$svc nonesuch 2> /dev/full")).status, 2);
  },
});

Deno.test({
  name: "systemConsole styles what a terminal shows, unless NO_COLOR is set",
  async fn() {
    const file = new URL("console.ts", import.meta.url).pathname;
    const code = `import { systemConsole } from '${file}';
await systemConsole().output.write(String(systemConsole().output.isStyled));`;
    const script = await Deno.makeTempFile({ suffix: ".ts" });
    try {
      await Deno.writeTextFile(script, code);
      const print = `${Deno.execPath()} run -A --no-check --quiet ${script}`;
      // `script` runs it on a terminal of its own.
      const onTerminal = async (env: string) =>
        (await run(`script -qec "${env} ${print}" /dev/null`)).output;
      assert.equal(await onTerminal("NO_COLOR="), "true");
      assert.equal(await onTerminal("NO_COLOR=1"), "false");
      assert.equal((await run(`NO_COLOR= ${print}`)).output, "false");
    } finally {
      await Deno.remove(script);
    }
  },
});
