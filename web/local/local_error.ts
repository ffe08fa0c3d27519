/** What DuckDB in the page says, for people who did not know that it is another one. */

const EXTENSION = /required extension '(\w+)'|exists in the (\w+) extension/;
const EXTENSION_REMEDY: Readonly<Record<string, string>> = {
  json: "Read what you need of the JSON on the server, and keep that: " +
    "SELECT attr_get(attributes, 'name') AS name, …",
  icu: "Times are TIMESTAMPs in UTC here: write TIMESTAMP '2026-11-20 00:00:00' " +
    "instead of a time with a zone, and now()::TIMESTAMP instead of current_date",
};
const UNKNOWN_TABLE =
  /Catalog Error: Table with name "?([^"\n]+?)"? does not exist!(?:\nDid you mean .*)?/;
const FUNCTION_OF_ZONE = /given name and argument types '[^']*TIMESTAMP WITH TIME ZONE/;

/** Makes the message of a statement that ran here; `kept` are the tables that are here. */
export function localMessage(message: string, kept: readonly string[]): string {
  const told = message.replace(/\n {4}at [^]*$/, "").trim();
  const [, first, second] = EXTENSION.exec(told) ?? [];
  const extension = first ?? second;
  if (extension !== undefined) {
    const remedy = EXTENSION_REMEDY[extension] ??
      "Run this part on the server, and keep its result";
    return `This needs DuckDB's extension ${extension}, and the page never loads extensions. ` +
      `${remedy}.`;
  }
  if (FUNCTION_OF_ZONE.test(told)) {
    return told.replace("\n", `\n${EXTENSION_REMEDY["icu"]}.\n`);
  }
  return told.replace(UNKNOWN_TABLE, (_, name: string) => unknownTable(name, kept));
}

function unknownTable(name: string, kept: readonly string[]): string {
  const here = kept.length === 0
    ? "No table is kept here"
    : `Kept here: ${kept.map((table) => `local.${table}`).join(", ")}`;
  return `Table "${name}" is not in this browser. A statement over local tables runs here and ` +
    `cannot read the server's: run SELECT … FROM ${name} first, keep its result, and join that. ` +
    `${here}.`;
}
