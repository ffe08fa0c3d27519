import assert from "node:assert/strict";

/** Status and stderr of the shell's `script`, in which `$svc` runs the command line. */
async function run(script: string): Promise<{ readonly status: number; readonly notes: string }> {
  const main = new URL("main.ts", import.meta.url).pathname;
  const env = { svc: `${Deno.execPath()} run -A --no-check --quiet ${main}` };
  const { code, stderr } = await new Deno.Command("bash", { args: ["-c", script], env }).output();
  return { status: code, notes: new TextDecoder().decode(stderr) };
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
