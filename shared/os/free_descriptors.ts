/**
 * How many files and sockets this process may still open. The system's limit stands in a file that
 * no permission set short of all lets a process read, so it is found by trying.
 */

/** Enough for anybody's start: a process that may open so many is not counted further. */
const DESCRIPTORS_COUNTED = 4_096;

let known: number | undefined;

/**
 * Counts up to `DESCRIPTORS_COUNTED`; undefined: at least so many, or nothing could be opened to
 * count by (a compiled binary has its sources inside). Takes some 20 ms the first time, in which
 * nothing else of this process can open a file; afterwards it is remembered.
 */
export function freeDescriptors(): number | undefined {
  const path = import.meta.filename;
  known ??= path === undefined ? Infinity : count(path);
  return known < DESCRIPTORS_COUNTED ? known : undefined;
}

function count(path: string): number {
  const files: Disposable[] = [];
  try {
    while (files.length < DESCRIPTORS_COUNTED) files.push(Deno.openSync(path));
  } catch (error) {
    if (!isShort(error)) return Infinity;
  } finally {
    for (const file of files) file[Symbol.dispose]();
  }
  return files.length;
}

/** Whether the process (EMFILE) or the machine (ENFILE) has no descriptor left. */
function isShort(error: unknown): boolean {
  const { code } = error as { readonly code?: unknown };
  return code === "EMFILE" || code === "ENFILE";
}
