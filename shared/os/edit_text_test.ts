import { strict as assert } from "node:assert";
import { editText } from "./edit_text.ts";

/** An editor that runs this on its file. */
async function withEditor(script: string, test: (editor: string) => Promise<void>): Promise<void> {
  const folder = await Deno.makeTempDir({ prefix: "svc-editor-test-" });
  const program = `${folder}/editor`;
  try {
    await Deno.writeTextFile(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
    await test(program);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

Deno.test({
  name: "editText gives what was saved, and nothing where that is what it was",
  ignore: Deno.build.os === "windows",
  async fn() {
    await withEditor('test "$1" = -w && echo "AND more" >> "$2"', async (editor) => {
      assert.equal(await editText("SELECT 1", `${editor} -w`), "SELECT 1\nAND more");
    });
    for (const script of ["true", 'echo x > "$2"; exit 1', ': > "$2"']) {
      await withEditor(script, async (editor) => {
        assert.equal(await editText("SELECT 1", `${editor} -w`), undefined, script);
      });
    }
  },
});

Deno.test({
  name: "editText says which editor cannot be started, and what to do",
  async fn() {
    await assert.rejects(editText("", "/nosuch/editor"), {
      message: /^Cannot edit with "\/nosuch\/editor": .*; name an editor in EDITOR$/,
    });
  },
});
