import { strict as assert } from "node:assert";
import fc from "fast-check";
import { splitStatements } from "./statements.ts";

Deno.test({
  name: "splitStatements cuts at semicolons outside of quotes and comments",
  fn() {
    const cases: [string, string[], string, boolean][] = [
      ["", [], "", true],
      ["SELECT 1", [], "SELECT 1", false],
      ["SELECT 1;", ["SELECT 1"], "", true],
      [" SELECT 1 ;\n SELECT 2;\n", ["SELECT 1", "SELECT 2"], "\n", true],
      ["SELECT 1; SELECT", ["SELECT 1"], " SELECT", false],
      [";;  ;", [], "", true],
      ["SELECT ';';", ["SELECT ';'"], "", true],
      ["SELECT 'it''s;';", ["SELECT 'it''s;'"], "", true],
      ['SELECT "a;""b";', ['SELECT "a;""b"'], "", true],
      ["SELECT $$a;b$$;", ["SELECT $$a;b$$"], "", true],
      ["SELECT $x$a;$$;b$x$;", ["SELECT $x$a;$$;b$x$"], "", true],
      ["SELECT 1 -- no; end\n;", ["SELECT 1 -- no; end"], "", true],
      ["SELECT /* ; */ 1;", ["SELECT /* ; */ 1"], "", true],
      ["-- only a comment\n;", [], "", true],
      ["-- a comment", [], "-- a comment", true],
      ["SELECT 'open;", [], "SELECT 'open;", false],
      ["SELECT /* open;", [], "SELECT /* open;", false],
      ["SELECT $$ open;", [], "SELECT $$ open;", false],
      ["SELECT '--';", ["SELECT '--'"], "", true],
    ];
    for (const [text, statements, rest, restIsBlank] of cases) {
      assert.deepEqual(splitStatements(text), { statements, rest, restIsBlank }, text);
    }
  },
});

Deno.test({
  name: "splitStatements gives the same statements however the text arrives",
  fn() {
    const token = fc.constantFrom("a", ";", "'", '"', "--", "\n", "/*", "*/", " ", "$$", "$t$");
    fc.assert(fc.property(fc.array(token, { maxLength: 30 }), fc.nat(), (tokens, at) => {
      const text = tokens.join("");
      const cut = text.length === 0 ? 0 : at % text.length;
      // A cut inside of `--`, `/*`, `''` or `$t$` shows the first part alone as something else.
      fc.pre(!/[-/*'"$t\r]$/.test(text.slice(0, cut)));
      const first = splitStatements(text.slice(0, cut));
      const second = splitStatements(first.rest + text.slice(cut));
      const whole = splitStatements(text);
      assert.deepEqual([...first.statements, ...second.statements], whole.statements);
      assert.equal(second.rest, whole.rest);
    }));
  },
});
