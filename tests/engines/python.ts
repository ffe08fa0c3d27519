/** A Python that has the packages of `requirements.txt`, for tests: none where nobody made it. */

import { isInstalled } from "../clients/programs.ts";
import { TalkingProcess } from "./talking_process.ts";

const FOLDER = Deno.env.get("SVC_TEST_PYTHON") ?? "/var/tmp/svc-test-python";
const PYTHON = `${FOLDER}/bin/python`;

export const HAS_PYTHON = await isInstalled(PYTHON);

const FIND =
  "import importlib.util, sys; sys.exit(not all(map(importlib.util.find_spec, sys.argv[1:])))";

/**
 * Whether it is there with these packages: an older one may lack some of `requirements.txt`. They
 * are looked for and not loaded, which takes up to a second of processor time each.
 */
export async function hasPackages(names: readonly string[]): Promise<boolean> {
  if (!HAS_PYTHON) return false;
  const { success } = await new Deno.Command(PYTHON, {
    args: ["-c", FIND, ...names],
    stdout: "null",
    stderr: "null",
  }).output();
  return success;
}

/** Why tests that need it are ignored. */
export const NO_PYTHON = `ignored: no ${PYTHON}, see tests/engines/README.md`;

const pathOf = (script: string) => new URL(script, import.meta.url).pathname;
/** Packages may not look at this user's own settings, nor leave files behind. */
const ENVIRONMENT = { PYTHONDONTWRITEBYTECODE: "1" };

/** What a script prints. Errors: an `Error` with what it wrote to its standard error. */
export async function runPython(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): Promise<string> {
  const { success, stdout, stderr } = await new Deno.Command(PYTHON, {
    args: [pathOf(script), ...args],
    env: { ...ENVIRONMENT, ...env },
  }).output();
  const decoder = new TextDecoder();
  if (!success) throw new Error(`${script} ${args.join(" ")}: ${decoder.decode(stderr)}`);
  return decoder.decode(stdout);
}

/**
 * A script that is talked to while it runs. PyIceberg takes 2 s of processor time to load, so a
 * test that asks often asks one process.
 */
export function startPython(
  script: string,
  args: readonly string[],
  env: Readonly<Record<string, string>> = {},
): TalkingProcess {
  return new TalkingProcess(PYTHON, [pathOf(script), ...args], { ...ENVIRONMENT, ...env });
}
