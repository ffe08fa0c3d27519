/** The texts of a search: tags and durations. */

/** Go's durations, which the server reads: `1.5s`, `200ms`, `1h30m`; a bare number has no unit. */
const GO_DURATION = /^(?:\d+(?:\.\d+)?(?:ns|us|µs|ms|s|m|h))+$/;

/** Whether the server reads the text as a duration; an empty one is none. */
export function isDuration(text: string): boolean {
  return text === "" || text === "0" || GO_DURATION.test(text);
}

/** What is wrong with a text of tags; `start` and `end` are places in it. */
export class TagsError extends Error {
  override readonly name = "TagsError";
}

const TAG = /\s*(?:"((?:[^"\\]|\\.)*)"|([^\s="]+))=(?:"((?:[^"\\]|\\.)*)"|([^\s"]*))(?=\s|$)/y;

/** Reads `error=true http.route="/a b"`. Errors: `TagsError` that shows the rest it cannot read. */
export function parseTags(text: string): ReadonlyMap<string, string> {
  const tags = new Map<string, string>();
  TAG.lastIndex = 0;
  const end = text.trimEnd().length;
  let at = 0;
  while (at < end) {
    TAG.lastIndex = at;
    const match = TAG.exec(text);
    if (match === null) {
      const rest = text.slice(at).trim().slice(0, 40);
      throw new TagsError(`Write tags as key=value key2="two words": cannot read ${rest}`);
    }
    const [, quotedKey, key = "", quotedValue, value = ""] = match;
    tags.set(unquoted(quotedKey) ?? key, unquoted(quotedValue) ?? value);
    at = TAG.lastIndex;
  }
  return tags;
}

/** Writes what `parseTags` reads. */
export function tagsText(tags: ReadonlyMap<string, string>): string {
  return [...tags].map(([key, value]) => `${quoted(key)}=${quoted(value)}`).join(" ");
}

function unquoted(text: string | undefined): string | undefined {
  return text?.replaceAll(/\\(.)/gs, "$1");
}

function quoted(text: string): string {
  return /^[^\s="\\]+$/.test(text) ? text : `"${text.replaceAll(/["\\]/g, String.raw`\$&`)}"`;
}
