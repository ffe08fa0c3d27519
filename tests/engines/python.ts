/** A Python that has the packages of `requirements.txt`, for tests: none where nobody made it. */

import { isInstalled } from "../clients/programs.ts";

const FOLDER = Deno.env.get("SVC_TEST_PYTHON") ?? "/var/tmp/svc-test-python";
const PYTHON = `${FOLDER}/bin/python`;

export const HAS_PYTHON = await isInstalled(PYTHON);

/** Whether it is there with these packages: an older one may lack some of `requirements.txt`. */
export async function hasPackages(names: readonly string[]): Promise<boolean> {
  if (!HAS_PYTHON) return false;
  const { success } = await new Deno.Command(PYTHON, {
    args: ["-c", `import ${names.join(", ")}`],
    stdout: "null",
    stderr: "null",
  }).output();
  return success;
}

/** Why tests that need it are ignored. */
export const NO_PYTHON = `ignored: no ${PYTHON}, see tests/engines/README.md`;

/** What a script prints. Errors: an `Error` with what it wrote to its standard error. */
export async function runPython(script: string, args: readonly string[]): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(PYTHON, {
    args: [new URL(script, import.meta.url).pathname, ...args],
    // Packages may not look at this user's own settings, nor leave files behind.
    env: { PYTHONDONTWRITEBYTECODE: "1" },
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`${script} ${args.join(" ")}: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}
