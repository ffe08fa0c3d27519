/**
 * `attr_get(attributes, name)`: the text value of one attribute, NULL when it is absent or null.
 * See docs/api/query.md#functions. Text that is no JSON has no attributes, for example text with
 * half a surrogate pair: a single such row must not fail a statement.
 *
 * The name becomes a JSON Pointer, in which dots and quotes are ordinary. A literal name is folded
 * to a constant when the statement is bound, so a call costs what `json_extract_string` costs. That
 * needs DuckDB's own `replace`: the dialect's may fail, and what may fail is not folded.
 */
export const ATTR_GET = `CREATE MACRO attr_get(attributes, name) AS
  json_extract_string(TRY_CAST(attributes AS JSON), '/' || system.main.replace(system.main.replace(CAST(name AS VARCHAR), '~', '~0'), '/', '~1'))`;
