/** Functions of other engines that statements have no function of that name for. */

/** What to write instead: an expression over the columns of `events`. */
const INSTEAD: readonly (readonly [names: string, instead: string])[] = [
  ["to_char date_format formatdatetime", "strftime(timestamp, '%Y-%m-%d %H:%M')"],
  ["to_date str_to_date parsedatetime", "strptime('2026-11-28', '%Y-%m-%d')"],
  ["tostartofsecond tostartofminute", "date_trunc('minute', timestamp)"],
  ["tostartofhour tostartofday", "date_trunc('hour', timestamp)"],
  ["tostartofinterval tostartoffiveminutes", "time_bucket(INTERVAL 5 MINUTE, timestamp)"],
  ["from_unixtime fromunixtimestamp", "to_timestamp(timestamp_ns / 1e9)"],
  ["unix_timestamp tounixtimestamp", "epoch(timestamp)"],
  ["dateadd adddate", "timestamp + INTERVAL 1 DAY"],
  ["getdate sysdate clock_timestamp statement_timestamp", "now()"],
  [
    "get_json_object json_extract_scalar json_query jsonextractstring jsonextract",
    "json_extract_string(attributes, '$.name')",
  ],
  ["json_object_keys jsonb_object_keys jsonextractkeys", "unnest(json_keys(attributes))"],
  [
    "json_array_elements jsonb_array_elements json_array_elements_text jsonb_array_elements_text",
    "unnest(json_extract(attributes, '$.list[*]'))",
  ],
  ["json_build_object jsonb_build_object", "json_object('name', host)"],
  ["percentile percentile_approx percentile_disc", "quantile_cont(timestamp_ns, 0.95)"],
  ["uniq uniqexact uniqcombined dc", "count(DISTINCT host)"],
  ["charindex locate", "instr(raw, 'part')"],
  ["splitbychar splitbystring split_string", "string_split(raw, ',')"],
  ["arrayjoin explode", "unnest([1, 2])"],
  ["hastoken match_all to_tsvector plainto_tsquery", "match_terms(raw, 'some words')"],
  ["multisearchany", "match_any(raw, 'some words')"],
  ["regexp_match regexp_substr rex", "regexp_extract(raw, 'id=(\\d+)', 1)"],
  ["regexp_count", "len(regexp_extract_all(raw, '\\d+'))"],
  ["~*", "regexp_matches(raw, 'pattern', 'i')"],
  ["!~*", "NOT regexp_matches(raw, 'pattern', 'i')"],
  ["isnull", "host IS NULL"],
  ["isnotnull", "host IS NOT NULL"],
  ["div intdiv", "timestamp_ns // 1000"],
  ["range generate_series", "FROM generate_series(1, 3)"],
];

export const FOREIGN_FUNCTIONS: ReadonlyMap<string, string> = new Map(
  INSTEAD.flatMap(([names, instead]) => names.split(" ").map((name) => [name, instead] as const)),
);
