/** A package from the index of the machine's Python, in an environment of its own. */

import { join } from "node:path";
import { runTool } from "./run_tool.ts";

const SECS_MAX = 600;

/** The Python of `folder` that has `requirement`; both are made unless they are there. */
export async function installPythonPackage(
  requirement: string,
  folder: string,
  tell: (line: string) => void,
): Promise<string> {
  const python = join(folder, "venv/bin/python");
  const [name = ""] = requirement.split("==");
  const installed = await runTool(python, ["-c", `import ${name}`], { secs: 60 })
    .then(() => true, () => false);
  if (installed) return python;
  tell(`${requirement}: installing the package`);
  await runTool("python3", ["-m", "venv", join(folder, "venv")], { secs: SECS_MAX });
  await runTool(python, ["-m", "pip", "install", "--quiet", requirement], { secs: SECS_MAX });
  return python;
}
