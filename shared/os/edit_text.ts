/**
 * Lets the user edit a text with an editor. From a checkout only those of the permission set `cli`
 * in `deno.json` can be started.
 */

import { messageOf, OperatingError } from "../base/errors.ts";

/**
 * Edits with the command line `editor`, which gets a file's path behind it. Returns the text as it
 * was saved; undefined where it is what it was, or the editor failed by its
 * own account. Errors: `invalid_argument` where the editor cannot be started.
 */
export async function editText(
  text: string,
  editor: string,
): Promise<string | undefined> {
  const [program = "", ...args] = editor.trim().split(/\s+/);
  const folder = await Deno.makeTempDir({ prefix: "svc-sql-" });
  const file = `${folder}/statement.sql`;
  try {
    await Deno.writeTextFile(file, text === "" ? "" : `${text}\n`);
    const { success } = await new Deno.Command(program, {
      args: [...args, file],
      ...{ stdin: "inherit", stdout: "inherit", stderr: "inherit" },
    }).spawn().status;
    const edited = (await Deno.readTextFile(file)).trimEnd();
    return success && edited !== text.trimEnd() && edited !== "" ? edited : undefined;
  } catch (cause) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot edit with ${JSON.stringify(program)}: ${messageOf(cause)}; name an editor in EDITOR`,
      { cause },
    );
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}
