/**
 * A program built from a Go module, as the module proxy of the machine's Go has it. Its module is a
 * requirement of a small module of our own. So its replacements count as well only when they are
 * copied; those that point into its own folder cannot be.
 */

import { join } from "node:path";
import { OperatingError } from "../../../../shared/base/errors.ts";
import { runTool } from "./run_tool.ts";

export interface GoProgram {
  readonly module: string;
  readonly version: string;
  /** Below the module. */
  readonly package: string;
}

interface GoMod {
  readonly Go?: string;
  readonly Replace?: readonly {
    readonly Old: { readonly Path: string; readonly Version?: string };
    readonly New: { readonly Path: string; readonly Version?: string };
  }[];
}

const DOWNLOAD_SECS_MAX = 300;
/** Loki takes this machine's two cores 15 minutes while others use them. */
const BUILD_SECS_MAX = 3_600;

/** The path of the executable in `folder`, which is there; it is built unless it was before. */
export async function buildGoProgram(
  program: GoProgram,
  folder: string,
  tell: (line: string) => void,
): Promise<string> {
  const { module, version } = program;
  const executable = join(folder, `program-${version}`);
  if (await isFile(executable)) return executable;
  tell(`${module} ${version}: fetching the module`);
  const go = { cwd: folder, secs: DOWNLOAD_SECS_MAX };
  const downloaded = JSON.parse(
    await runTool("go", ["mod", "download", "-json", `${module}@${version}`], go),
  );
  const mod: GoMod = JSON.parse(
    await runTool("go", ["mod", "edit", "-json", String(downloaded.GoMod)], go),
  );
  await Deno.writeTextFile(join(folder, "go.mod"), goModText(program, mod));
  tell(`${module} ${version}: building, which takes minutes`);
  const building = `${executable}.new`;
  await runTool(
    "go",
    ["build", "-mod=mod", "-o", building, `${module}/${program.package}`],
    { cwd: folder, secs: BUILD_SECS_MAX },
  );
  await Deno.rename(building, executable);
  return executable;
}

/** The module that requires the program's and takes over what can be of its replacements. */
export function goModText({ module, version }: GoProgram, mod: GoMod): string {
  const replacements = (mod.Replace ?? []).flatMap(({ Old, New }) =>
    New.Version === undefined ? [] : [
      `replace ${[Old.Path, Old.Version].filter(Boolean).join(" ")} => ${New.Path} ${New.Version}`,
    ]
  );
  return [
    "module bench",
    "",
    `go ${mod.Go ?? "1.24"}`,
    "",
    `require ${module} ${version}`,
    "",
    ...replacements,
    "",
  ].join("\n");
}

async function isFile(path: string): Promise<boolean> {
  try {
    return (await Deno.stat(path)).isFile;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw new OperatingError("unavailable", `Cannot look at ${path}: ${error}`);
  }
}
