/**
 * What pages and comments refer to, and whether it is there. Pure: `links_test.ts` gives it the
 * workspace's files.
 *
 * Checked are links of .md pages, pages with a heading wherever they are written, and names of
 * files of the repository. Links into the web are not followed, and code in fences is not read.
 */

/** Texts by path from the root of the workspace; a file that is no text has none. */
export type Tree = ReadonlyMap<string, string>;

export interface Reference {
  /** From 1. */
  readonly line: number;
  /**
   * The reference as it is written: `docs/api/query.md#limits`, `import_rules.ts`, `import_*.ts`.
   */
  readonly target: string;
  /** A link goes from its page's folder alone; a name may start at any folder above it. */
  readonly kind: "link" | "name";
}

/** Why `reference` of the file `from` leads nowhere, or undefined when it leads somewhere. */
export function brokenReference(
  from: string,
  { target, kind }: Reference,
  tree: Tree,
): string | undefined {
  const [path = "", anchor] = target.split("#");
  const page = path === "" ? from : place(from, { path, kind }, tree);
  if (page === undefined) return `there is no ${path}`;
  if (anchor === undefined) return undefined;
  const text = tree.get(page);
  if (text === undefined || !page.endsWith(".md")) return `${page} has no headings`;
  return headingsOf(text).has(anchor) ? undefined : `${page} has no heading #${anchor}`;
}

/** The file or folder that is meant. A pattern means the first file that fits. */
function place(
  from: string,
  { path, kind }: { readonly path: string; readonly kind: Reference["kind"] },
  tree: Tree,
): string | undefined {
  let folder = folderOf(from);
  while (true) {
    const found = find(`${folder}${path}`, tree);
    if (found !== undefined) return found;
    if (kind === "link" || folder === "") return undefined;
    folder = folderOf(folder.slice(0, -1));
  }
}

function find(path: string, tree: Tree): string | undefined {
  const plain = withoutDots(path);
  if (tree.has(plain)) return plain;
  if (/[*…]/.test(plain)) {
    const pattern = plain.split(/[*…]+/).map(escaped).join("[^/]*");
    const whole = new RegExp(`^${pattern}$`);
    return [...tree.keys()].find((known) => whole.test(known));
  }
  const folder = plain.endsWith("/") || plain === "" ? plain : `${plain}/`;
  return [...tree.keys()].some((known) => known.startsWith(folder)) ? folder : undefined;
}

/** What a page refers to. */
export function referencesOfPage(text: string): Reference[] {
  let isCode = false;
  return text.split("\n").flatMap((line, at) => {
    if (line.trimStart().startsWith("```")) isCode = !isCode;
    return isCode ? [] : [...linksIn(line, at + 1), ...namesIn(line, at + 1)];
  });
}

/** What the comments of a source refer to. */
export function referencesOfSource(text: string): Reference[] {
  let isCode = false;
  return text.split("\n").flatMap((line, at) => {
    const comment = commentOf(line);
    if (comment.trim().startsWith("```")) isCode = !isCode;
    return isCode ? [] : namesIn(comment, at + 1);
  });
}

/** `[text](target)`; the text may begin on another line. */
function linksIn(line: string, at: number): Reference[] {
  return [...line.matchAll(/\]\(([^()\s]+)\)/g)]
    .map((match) => match[1] ?? "")
    .filter((target) => !/^[a-z]+:/.test(target))
    .map((target) => ({ line: at, target, kind: "link" }));
}

const TOP = "cli|compactor|deploy|docs|ingest|proto|query|shared|tests";
const EXTENSIONS = "json|md|proto|ts|yml";
/** A path from the root, in backticks or not. */
const FROM_ROOT = new RegExp(
  String.raw`(?<![\w./@-])(?:${TOP})/[\w./*…-]+\.(?:${EXTENSIONS})\b(?:#[\w-]+)?`,
  "g",
);
/** In backticks also a name from a folder near by, and a folder from the root. */
const IN_BACKTICKS = new RegExp(
  "`(" +
    String.raw`[\w./*…-]*[\w*…]\.(?:md|ts)(?:#[\w-]+)?` +
    String.raw`|(?:${TOP})/(?:[\w.-]+/)*[\w-]*` +
    ")`",
  "g",
);

function namesIn(text: string, at: number): Reference[] {
  const withoutLinks = text.replace(/\]\([^()\s]+\)/g, "]()");
  const quoted = [...withoutLinks.matchAll(IN_BACKTICKS)].map((match) => match[1] ?? "");
  const rest = withoutLinks.replace(IN_BACKTICKS, "");
  const plain = [...rest.matchAll(FROM_ROOT)].map(([target]) => target);
  return [...quoted, ...plain].map((target) => ({ line: at, target, kind: "name" }));
}

/** The comment of a line of TypeScript; a trailing one has a space on both sides of its slashes. */
function commentOf(line: string): string {
  if (/^\s*(\*|\/\*|\/\/)/.test(line)) return line;
  return / \/\/ (.*)$/.exec(line)?.[1] ?? "";
}

/** Anchors of a page's headings, as GitHub makes them: letters, digits, `_`, `-`. */
export function headingsOf(text: string): ReadonlySet<string> {
  const anchors = new Set<string>();
  let isCode = false;
  for (const line of text.split("\n")) {
    if (line.startsWith("```")) isCode = !isCode;
    const heading = isCode ? undefined : /^#{1,6} +(.*?) *#*$/.exec(line)?.[1];
    if (heading === undefined) continue;
    const base = anchorOf(heading);
    let anchor = base;
    for (let n = 1; anchors.has(anchor); n++) anchor = `${base}-${n}`;
    anchors.add(anchor);
  }
  return anchors;
}

function anchorOf(heading: string): string {
  return heading
    .replace(/\[([^\]]*)\]\([^)]*\)/g, "$1")
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\p{M}_ -]/gu, "")
    .replaceAll(" ", "-");
}

/** `shared/engine/../wal/./types.ts` is `shared/wal/types.ts`. */
function withoutDots(path: string): string {
  const kept: string[] = [];
  for (const part of path.split("/")) {
    if (part === "..") kept.pop();
    else if (part !== ".") kept.push(part);
  }
  return kept.join("/");
}

/** With its slash; empty for the root. */
function folderOf(path: string): string {
  return path.slice(0, path.lastIndexOf("/") + 1);
}

function escaped(text: string): string {
  return text.replace(/[.+?^${}()|[\]\\]/g, "\\$&");
}
