/** The library that lies to a role about the kernel (`shim.c`), built where a C compiler is. */

import { join } from "node:path";
import { run } from "../commands.ts";

const COMPILERS = ["/usr/bin/cc", "/usr/bin/gcc", "/usr/bin/clang"];

/** Why it cannot be built here. */
export function shimMissing(): string | undefined {
  if (compiler() !== undefined) return undefined;
  return "it needs a C compiler: apt-get install gcc libc6-dev";
}

/** Builds it in `folder`; the library's path. */
export async function buildShim(folder: string): Promise<string> {
  const command = compiler();
  if (command === undefined) throw new Error(shimMissing());
  const library = join(folder, "shim.so");
  const source = new URL("shim.c", import.meta.url).pathname;
  await run(command, "-shared", "-fPIC", "-O2", "-o", library, source, "-ldl");
  return library;
}

function compiler(): string | undefined {
  return COMPILERS.find((path) => {
    try {
      return Deno.statSync(path).isFile;
    } catch {
      return false;
    }
  });
}
