/** Whether a client wants its answer in gzip: `Accept-Encoding`, RFC 9110 section 12.5.3. */

/** `gzip_alone`: the client refuses an answer as it is, however short. */
export type WantedCoding = "plain" | "gzip" | "gzip_alone";

const ELEMENT = /^([!#$%&'*+\-.^_`|~0-9a-z]+)(?:[ \t]*;[ \t]*q=(0(?:\.\d{0,3})?|1(?:\.0{0,3})?))?$/;

/**
 * What has the higher weight, gzip where they are equal. A client that takes neither has an answer
 * as it is, which section 12.4.1 allows: its statement has run. What cannot be read is ignored.
 */
export function wantedCoding(field: string | null): WantedCoding {
  if (field === null) return "plain";
  const weights = new Map<string, number>();
  for (const element of field.toLowerCase().split(",")) {
    const [, name, weight = "1"] = ELEMENT.exec(element.trim()) ?? [];
    if (name !== undefined) weights.set(name, Number(weight));
  }
  const others = weights.get("*");
  const gzip = weights.get("gzip") ?? weights.get("x-gzip") ?? others ?? 0;
  const plain = weights.get("identity") ?? (others === 0 ? 0 : undefined);
  if (gzip === 0 || gzip < (plain ?? 0)) return "plain";
  return plain === 0 ? "gzip_alone" : "gzip";
}
