/** Arrays of one dimension in PostgreSQL's text format. */

/**
 * The items of `{1,NULL,"a b"}`; undefined: it is none, has dimensions, or more than `itemsMax`
 * items.
 */
export function parseArrayText(text: string, itemsMax: number): (string | null)[] | undefined {
  const trimmed = text.trim();
  if (!trimmed.startsWith("{") || !trimmed.endsWith("}") || trimmed.length < 2) return undefined;
  const inner = trimmed.slice(1, -1);
  if (/^[ \t-\r]*$/.test(inner)) return [];
  const items: (string | null)[] = [];
  let at = 0;
  for (;;) {
    ITEM.lastIndex = at;
    const found = ITEM.exec(inner);
    if (found === null || items.length >= itemsMax) return undefined;
    const [whole, quoted, plain = ""] = found;
    const isNull = quoted === undefined && plain.toLowerCase() === "null";
    items.push(isNull ? null : unescaped(quoted ?? plain));
    at += whole.length;
    if (at === inner.length) return items;
    if (inner[at] !== ",") return undefined;
    at += 1;
  }
}

/** Blanks around an item count for nothing unless they are quoted. */
const ITEM =
  /[ \t-\r]*(?:"((?:[^"\\]|\\.)*)"|((?:[^ \t-\r{}",\\]|\\.)+(?:[ \t-\r]+(?:[^ \t-\r{}",\\]|\\.)+)*))[ \t-\r]*/ys;

function unescaped(text: string): string {
  return text.replaceAll(/\\(.)/gs, "$1");
}
