import { ok, rejects, strictEqual } from "node:assert/strict";
import { isOperatingError } from "../../base/errors.ts";
import { EngineLab } from "../../testing/engine_lab.ts";

/**
 * `«` stands before what is wrong, in texts that run as they are and in those that are written
 * anew.
 */
const WRONG: readonly string[] = [
  // These fail while they run.
  "SELECT host,\n  raw«::INTEGER\nFROM events WHERE raw <> '5'",
  "SELECT approx_distinct(host),\n  sum(raw«::INTEGER) FROM svc.events",
  "SELECT «nope FROM events",
  "SELECT host,\n       «nope\nFROM events\nWHERE raw = ''",
  "SELECT host FROM events WHERE raw = '' AND «nope > 1 LIMIT 5",
  "SELECT host -- a comment\n, «nope FROM events",
  "SELECT 'Zürich 東京 🦕', «nope FROM events",
  "SELECT host FROM svc.events WHERE «nope = 1",
  "SELECT count(*) FROM svc.events AS e JOIN svc.events AS f ON e.host = «f.nope",
  "SELECT approx_distinct(host), «nope FROM events GROUP BY ALL",
  "SELECT approx_distinct(host),\n  «length(1, 2, 3)\nFROM events",
  "WITH a AS (\n  SELECT «nope FROM svc.events\n) SELECT * FROM a",
  "SELECT host FROM events WHERE host IN (SELECT «nope FROM svc.events)",
  "SELECT regexp_replace(raw, 'a', host), «nope FROM events",
  "SELECT 'a;b', «nope FROM events",
  `SELECT approx_distinct(host), ${"'Zürich 東京', ".repeat(50)}«nope FROM events`,
  `SELECT approx_distinct(host), «nope${", 'Zürich 東京'".repeat(50)} FROM events`,
];

Deno.test({
  name: "inCallersText points at the place in the statement as it was sent",
  fn: async (t) => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: 1_790_000_000_000_000_000n, raw: "no number" }]);
    for (const marked of WRONG) {
      const at = marked.indexOf("«");
      const sql = marked.replace("«", "");
      const line = marked.slice(0, at).split("\n").length;
      for (const defaultOrder of [false, true]) {
        await t.step(`${defaultOrder ? "ordered " : ""}${marked}`, async () => {
          await rejects(lab.query(sql, { defaultOrder }), (error) => {
            ok(isOperatingError(error) && error.reason === "statement_failed", String(error));
            const shown = /^(LINE (\d+): )(.*)\n( *)\^/m.exec(error.message);
            ok(shown !== null, error.message);
            const [, label = "", number, text = "", spaces = ""] = shown;
            strictEqual(Number(number), line, error.message);
            ok(text.length < 150, `${text.length} characters are shown`);
            // Two columns are one character here.
            const shownText = text.replaceAll(/[東京🦕]/gu, "$&_");
            const pointed = [...shownText].slice(spaces.length - label.length).join("");
            const wanted = marked.slice(at + 1).split("\n")[0] ?? "";
            ok(pointed.startsWith(wanted.slice(0, 4)), `${error.message}\n${pointed}`);
            return true;
          });
        });
      }
    }
  },
});

Deno.test({
  name: "inCallersText quotes nothing of what a fast path made of a statement",
  fn: async () => {
    await using lab = await EngineLab.open();
    await lab.commit([{ ns: 1_790_000_000_000_000_000n, raw: "one" }], { derived: true });
    for (const host of ["1", "'web'::INTEGER"]) {
      const sql = `SELECT count(*) FROM events WHERE host <> 'x' AND host = ${host}`;
      await using prepared = await lab.prepare(sql);
      strictEqual(prepared.servedBy, "tier1_inline");
      await rejects(lab.query(sql), (error) => {
        ok(isOperatingError(error) && error.reason === "statement_failed", String(error));
        const [, quoted = ""] = /^LINE \d+: (?:\.\.\.)?(.*?)(?:\.\.\.)?$/m.exec(error.message) ??
          [];
        ok(sql.includes(quoted), error.message);
        ok(/^Conversion Error: Could not convert string '\w+' to INT32/.test(error.message));
        return true;
      });
    }
  },
});

Deno.test({
  name:
    "an error names a few of the functions that would fit, the nearest first, and how many more there are",
  fn: async () => {
    await using lab = await EngineLab.open();
    for (const sql of ["SELECT true + 1 FROM range(1)", "SELECT host + 1 FROM events"]) {
      for (const defaultOrder of [false, true]) {
        await rejects(lab.query(sql, { defaultOrder }), (error) => {
          ok(isOperatingError(error));
          const listed = error.message.split("\n").filter((line) => line.startsWith("\t+"));
          strictEqual(listed[0], "\t+(INTEGER, INTEGER) -> INTEGER", error.message);
          strictEqual(listed.length, 5);
          ok(/^\tand \d+ more$/m.test(error.message), error.message);
          return true;
        });
      }
    }
  },
});
