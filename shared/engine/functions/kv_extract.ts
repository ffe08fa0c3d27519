/**
 * `kv_extract(raw, name)`: the value of `name=value` in text, NULL when there is none. See
 * docs/api/query.md#functions.
 *
 * The value is `"…"` (with `\"` and `\\` unescaped), `'…'`, or bare: up to white space, a comma,
 * semicolon, ampersand, quote or closing bracket. An empty value is an empty text. The name must
 * not continue to its left, so `id` does not match in `user_id=7`. The first match counts.
 *
 * One expression finds the value, of which the first is taken. Each further match would cost as
 * much again, and `regexp_extract` does not tell an empty value from none. The expression without
 * quotes is for texts that have none behind the name, which are most.
 */
const NAME = String.raw`'(?:^|[^\w.\-])' || regexp_escape(name::VARCHAR)`;
const BARE = String.raw`[^\s,;&"''\)\]\}]*`;
const ANY = String.raw`"(?:[^"\\]|\\.)*"|''[^'']*''|${BARE}`;

const holds = (value: string) => `contains(raw::VARCHAR, (name || '${value}')::VARCHAR)`;
const found = (value: string) => `regexp_extract_all(raw, ${NAME} || '=(${value})', 1)`;

export const KV_EXTRACT = `CREATE MACRO kv_extract(raw, name) AS CASE WHEN ${holds("=")} THEN
  CASE WHEN ${holds('="')} OR ${holds("=''")}
    THEN system.main.list_transform(${found(ANY)}[:1], lambda value: CASE
      WHEN value LIKE '"%' THEN regexp_replace(value[2:-2], '\\\\(["\\\\])', '\\1', 'g')
      WHEN value LIKE '''%' THEN value[2:-2] ELSE value END)[1]
    ELSE ${found(BARE)}[1] END
  END`;
