/** Which scripts the first page needs, and that they are few. */

import { extname, join } from "node:path";
import type { Loader, Plugin } from "esbuild";

const FIRST_PAGE = "logs/logs_page.tsx";

/** What esbuild tells of the scripts that it made. */
export type Outputs = Readonly<
  Record<string, {
    readonly entryPoint?: string;
    readonly cssBundle?: string;
    readonly inputs: Readonly<Record<string, unknown>>;
    readonly imports: readonly { readonly path: string; readonly kind: string }[];
  }>
>;

const SHARED = "first-page";

export interface BuiltApart {
  /** Where the sources are. */
  readonly folder: string;
  /** What a build without the plugin made. */
  readonly outputs: Outputs;
  readonly readText: (path: string) => Promise<string>;
}

/**
 * Keeps what the first page shares with others in one script. A build without it makes a script of
 * each set of modules that the same pages use. These were eighteen, and browsers fetch six at a
 * time over HTTP/1.1. With it each page uses all of these modules, so that they are one set.
 */
export function oneChunk({ folder, outputs, readText }: BuiltApart): Plugin {
  const shared = new Map(
    firstScripts(outputs).filter((path) => outputs[path]?.entryPoint === undefined)
      .map((path) => [path, Object.keys(outputs[path]?.inputs ?? {})]),
  );
  // Packages are in it by those that use them.
  const imports = [...shared.values()].flat().filter((path) => !path.includes("node_modules"))
    .map((path) => `import ${JSON.stringify(join(folder, path))};\n`);
  // What a worker runs uses none of them, and must not: there is no document.
  const users = Object.entries(outputs).flatMap(([path, { entryPoint }]) => {
    const isUser = [...staticScripts(path, outputs)].some((one) => shared.get(one)?.length);
    return isUser && entryPoint !== undefined ? [join(folder, entryPoint)] : [];
  });
  return {
    name: SHARED,
    setup(build) {
      build.onResolve(
        { filter: new RegExp(`^${SHARED}$`) },
        () => ({ path: SHARED, namespace: SHARED }),
      );
      build.onLoad(
        { filter: /.*/, namespace: SHARED },
        () => ({ contents: imports.join(""), resolveDir: folder }),
      );
      build.onLoad({ filter: /\.tsx?$/ }, async ({ path }) => {
        if (!users.includes(path)) return undefined;
        // Last, so that nothing runs or is styled in another order.
        const contents = `${await readText(path)}\nimport "${SHARED}";\n`;
        return { contents, loader: extname(path).slice(1) as Loader };
      });
    },
  };
}

/** The scripts of the program and its first page, the program's first. */
export function firstScripts(outputs: Outputs): readonly string[] {
  const first = ["main.tsx", FIRST_PAGE].map((entryPoint) => {
    const found = Object.entries(outputs).find(([, output]) => output.entryPoint === entryPoint);
    if (found === undefined) throw new Error(`Cannot build the page: no ${entryPoint} came out`);
    return found[0];
  });
  return [...new Set(first.flatMap((path) => [...staticScripts(path, outputs)]))];
}

/** A script, and those that it cannot run without. */
function staticScripts(path: string, outputs: Outputs): ReadonlySet<string> {
  const found = new Set([path]);
  for (const one of found) {
    for (const { path, kind } of outputs[one]?.imports ?? []) {
      if (kind === "import-statement") found.add(path);
    }
  }
  return found;
}
