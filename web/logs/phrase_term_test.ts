import { deepStrictEqual, strictEqual } from "node:assert/strict";
import fc from "fast-check";
import { parseSearch } from "../../shared/search/parse_search.ts";
import { phraseTerm } from "./phrase_term.ts";

Deno.test({
  name: "phraseTerm is read as a term for just that text",
  fn() {
    const text = fc.string({ unit: "grapheme", minLength: 1, maxLength: 12 })
      .map((given) => given.replaceAll("\0", "").trim()).filter((given) => given !== "");
    fc.assert(fc.property(text, (selected) => {
      const term = parseSearch(phraseTerm(selected) ?? "");
      strictEqual(term.kind, "term");
      if (term.kind !== "term") return;
      deepStrictEqual([term.field, term.match], [undefined, { kind: "text", text: selected }]);
    }));
    strictEqual(phraseTerm("OR"), '"OR"');
    strictEqual(phraseTerm("timeout"), "timeout");
    strictEqual(phraseTerm(" "), undefined);
  },
});
