/**
 * The blocks of commands on a Markdown page. A block is fenced as `console` or `sh`; in a `console`
 * block a command begins with `$ `, and what follows it is its output. An HTML comment on the line
 * before a block says why it is not run, or who runs it instead.
 */

/** `run`: in the stack of `commands_test.ts`. `stack`: it starts that stack. */
export type Mark =
  | { readonly kind: "run" }
  | { readonly kind: "stack" }
  | { readonly kind: "elsewhere"; readonly file: string }
  | { readonly kind: "not_run"; readonly reason: string };

export interface Command {
  /** What a shell reads; several lines where a quote or a backslash leaves one open. */
  readonly text: string;
  /** What the page shows under it, without the line's end; empty where it shows nothing. */
  readonly output: string;
  /** Number of its first line on the page, from 1. */
  readonly line: number;
}

export interface Block {
  readonly mark: Mark;
  readonly commands: readonly Command[];
  readonly line: number;
}

/** What stands for any output in `shown_output.ts`: a page shows none of a script. */
const ANYTHING = "…";
const COMMAND_FENCES = ["console", "sh", "bash", "shell"];

/** Errors: a mark that is none of those above, a fence that is never closed. */
export function pageBlocks(text: string): Block[] {
  const lines = text.split("\n");
  const blocks: Block[] = [];
  for (let at = 0; at < lines.length; at += 1) {
    const fence = /^( *)```(\w*)\s*$/.exec(lines[at] ?? "");
    if (fence === null) continue;
    const [, indent = "", language = ""] = fence;
    const end = lines.indexOf(`${indent}\`\`\``, at + 1);
    if (end < 0) throw new Error(`line ${at + 1}: a fence that is never closed`);
    const body = lines.slice(at + 1, end).map((line) => line.slice(indent.length));
    if (COMMAND_FENCES.includes(language)) {
      const mark = markBefore(lines, at);
      const commands = language === "console"
        ? consoleCommands(body, at + 2)
        : [{ text: body.join("\n"), output: ANYTHING, line: at + 2 }];
      blocks.push({ mark, commands, line: at + 1 });
    } else if (body.some((line) => line.startsWith("$ "))) {
      throw new Error(`line ${at + 1}: a command in a fence that is none of commands`);
    }
    at = end;
  }
  return blocks;
}

function markBefore(lines: readonly string[], fence: number): Mark {
  const before = (lines[fence - 1]?.trim() || lines[fence - 2]?.trim()) ?? "";
  const comment = /^<!-- (.*) -->$/.exec(before)?.[1];
  if (comment === undefined) return { kind: "run" };
  if (comment === "starts the stack") return { kind: "stack" };
  const reason = /^not run: (.{10,})$/.exec(comment)?.[1];
  if (reason !== undefined) return { kind: "not_run", reason };
  const file = /^run by (\S+)$/.exec(comment)?.[1];
  if (file !== undefined) return { kind: "elsewhere", file };
  throw new Error(`line ${fence}: a mark that is none: ${comment}`);
}

function consoleCommands(body: readonly string[], firstLine: number): Command[] {
  const commands: Command[] = [];
  for (let at = 0; at < body.length;) {
    const line = firstLine + at;
    const first = body[at] ?? "";
    if (!first.startsWith("$ ")) throw new Error(`line ${line}: output without a command`);
    let text = first.slice(2);
    at += 1;
    while (isOpen(text) && at < body.length) {
      text += `\n${body[at]}`;
      at += 1;
    }
    const output: string[] = [];
    for (; at < body.length && !body[at]?.startsWith("$ "); at += 1) output.push(body[at] ?? "");
    commands.push({ text, output: output.join("\n"), line });
  }
  return commands;
}

/** Whether a shell would read on: within quotes, or behind a backslash at the end. */
function isOpen(text: string): boolean {
  let quote = "";
  for (let at = 0; at < text.length; at += 1) {
    const char = text[at];
    if (char === "\\" && quote !== "'") {
      if (at === text.length - 1) return true;
      at += 1;
    } else if (quote === "") {
      if (char === "'" || char === '"') quote = char;
    } else if (char === quote) quote = "";
  }
  return quote !== "";
}
