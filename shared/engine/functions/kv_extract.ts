/**
 * `kv_extract(raw, name)`: the value of `name=value` in text, NULL when there is none. See
 * docs/api/query.md#functions.
 *
 * The value is `"…"` (with `\"` and `\\` unescaped), `'…'`, or bare: up to white space, a comma,
 * semicolon, ampersand, quote or closing bracket. An empty value is an empty text. The name must
 * not continue to its left, so `id` does not match in `user_id=7`. The first match counts.
 */
const PATTERN = String.raw`'(?:^|[^\w.\-])' || regexp_escape(name::VARCHAR) || ` +
  String.raw`'=(?:"((?:[^"\\]|\\.)*)"|''([^'']*)''|([^\s,;&"''\)\]\}]*))'`;

export const KV_EXTRACT = `CREATE MACRO kv_extract(raw, name) AS
  CASE WHEN contains(raw::VARCHAR, (name || '=')::VARCHAR) AND regexp_matches(raw, ${PATTERN}) THEN
    regexp_replace(regexp_extract(raw, ${PATTERN}, 1), '\\\\(.)', '\\1', 'g')
    || regexp_extract(raw, ${PATTERN}, 2) || regexp_extract(raw, ${PATTERN}, 3)
  END`;
