/**
 * `attr_get(attributes, name)`: the text value of one attribute, NULL when it is absent or null. SPEC.md 4.2.
 *
 * The name becomes a JSON Pointer, in which dots and quotes are ordinary; with a literal name it is folded
 * to a constant when the statement is bound, so a call costs what `json_extract_string` costs.
 */
export const ATTR_GET = `CREATE MACRO attr_get(attributes, name) AS
  json_extract_string(attributes, '/' || replace(replace(name, '~', '~0'), '/', '~1'))`;
