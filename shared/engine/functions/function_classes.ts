/**
 * What each allowed function can make of a byte. While DuckDB makes a value, it neither counts it
 * against its memory pool nor can be interrupted. So a statement's calls are judged by these
 * classes before it runs (`value_growth.ts`).
 *
 * `function_classes_test.ts` holds the table against DuckDB's own list, and measures each class.
 */

import { ALLOWED_FUNCTIONS } from "../gate/allowed_functions.ts";

export type FunctionClass =
  /** A number, a time, a truth, a name, a short text: its size does not depend on what goes in. */
  | { readonly kind: "fixed" }
  /** Not larger than its largest argument, a half more at most (upper case of a few scripts). */
  | { readonly kind: "same" }
  /** It is as large as all arguments together, and some bytes for each. */
  | { readonly kind: "sum" }
  /**
   * So many times as large as all arguments together. `usual` is the factor for ordinary texts,
   * where only some letters become more.
   */
  | { readonly kind: "times"; readonly factor: number; readonly usual: number }
  /** A list of parts of a text: together not larger than it, and 16 bytes for each. */
  | { readonly kind: "parts" }
  /** Its size is checked when it runs: `bounded_text.ts`. */
  | { readonly kind: "bounded" }
  /** Grows with the rows that it takes; the memory pool counts it. */
  | { readonly kind: "gathered" };

const words = (text: string) => text.trim().split(/\s+/);

const FIXED = words(`
  !__postfix !~~ !~~* % && * ** + - / // <-> <=> <@ @ @> ^ ^@ ~~ ~~* ~~~ add subtract multiply
  divide mod like_escape ilike_escape not_like_escape not_ilike_escape
  abs acos acosh asin asinh atan atan2 atanh bar bit_count cbrt ceil ceiling cos cosh cot degrees even exact_mean exp
  factorial fdiv floor fmod gamma gcd greatest_common_divisor isfinite isinf isnan lcm
  least_common_multiple lgamma ln log log10 log2 nextafter pi pow power radians random round round_even
  roundbankers sign signbit sin sinh sqrt tan tanh to_base trunc
  ascii bit_length char_length character_length chr contains ends_with formatreadabledecimalsize
  formatreadablesize format_bytes hamming hash instr jaccard jaro_similarity jaro_winkler_similarity len
  length length_grapheme md5 md5_number md5_number_lower md5_number_upper mismatches octet_length ord
  parse_formatted_bytes pg_size_pretty position prefix regexp_full_match regexp_matches regexp_like sha1
  sha256 starts_with strlen strpos suffix unicode get_bit bit_position
  age ago century current_date current_localtime current_localtimestamp date_add date_diff date_part
  date_sub date_trunc datediff datepart datesub datetrunc day dayname dayofmonth dayofweek dayofyear
  days_in_month decade epoch epoch_ms epoch_ns epoch_us era get_current_time get_current_timestamp hour
  isodow isoyear julian last_day make_date make_time make_timestamp make_timestamp_ms make_timestamp_ns
  make_timestamptz microsecond millennium millisecond minute month monthname nanosecond
  normalized_interval now quarter second strptime time_bucket timezone timezone_hour timezone_minute
  to_centuries to_days to_decades to_hours to_microseconds to_millennia to_milliseconds to_minutes
  to_months to_quarters to_seconds to_timestamp to_weeks to_years today transaction_timestamp try_strptime
  week weekday weekofyear year yearweek
  array_contains array_cosine_distance array_cosine_similarity array_cross_product array_distance
  array_dot_product array_has array_has_all array_has_any array_indexof array_inner_product array_length
  array_negative_dot_product array_negative_inner_product array_position array_unique
  list_approx_count_distinct list_avg list_bit_and list_bit_or list_bit_xor list_bool_and list_bool_or
  list_contains list_cosine_distance list_cosine_similarity list_count list_distance list_dot_product
  list_entropy list_has list_has_all list_has_any list_indexof list_inner_product list_kurtosis
  list_kurtosis_pop list_mad list_negative_dot_product list_negative_inner_product list_position
  list_product list_sem list_skewness list_stddev_pop list_stddev_samp list_sum list_unique list_var_pop
  list_var_samp
  cardinality map_contains map_contains_entry map_contains_value struct_contains struct_has
  struct_indexof struct_position
  json_array_length json_contains json_exists json_valid
  error gen_random_uuid uuid uuid_extract_timestamp uuid_extract_version uuidv4 uuidv7
  date_bin match match_any match_phrase match_prefix match_terms to_timestamp_nanos to_timestamp_micros
  to_timestamp_millis to_timestamp_seconds to_unixtime
  approx_count_distinct avg bit_and bit_or bit_xor bool_and bool_or corr count count_if count_star countif
  covar_pop covar_samp entropy favg fsum geomean geometric_mean kahan_sum kurtosis kurtosis_pop mad mean
  product regr_avgx regr_avgy regr_count regr_intercept regr_r2 regr_slope regr_sxx regr_sxy regr_syy sem
  skewness stddev stddev_pop stddev_samp sum sum_no_overflow sumkahan var_pop var_samp variance wavg
  weighted_avg cume_dist dense_rank ntile percent_rank rank rank_dense row_number
`);

const SAME = words(`
  greatest least lcase left left_grapheme lower ltrim nfc_normalize right right_grapheme rtrim split_part
  strip_accents substr substring substring_grapheme trim btrim ucase upper url_decode
  regexp_extract reverse decode set_bit & | ~ xor << >>
  array_distinct array_extract array_filter array_pop_back array_pop_front array_reverse
  array_reverse_sort array_select array_slice array_sort array_where element_at filter list_any_value
  list_distinct list_element list_extract list_filter list_first list_last list_max list_median list_min
  list_mode list_reverse list_reverse_sort list_select list_slice list_sort list_where unnest
  array_intersect list_intersect
  map_extract map_extract_value map_keys map_values struct_extract struct_extract_at struct_keys
  struct_values union_extract union_tag -> ->> json json_extract json_extract_path json_extract_path_text
  json_extract_string json_type json_value attr_get kv_extract
  coalesce constant_or_null ifnull nullif switch typeof nvl
  any_value approx_quantile arbitrary arg_max arg_max_null arg_max_nulls_last arg_min arg_min_null
  arg_min_nulls_last argmax argmin first last max max_by median min min_by mode quantile quantile_cont
  quantile_disc reservoir_quantile fill first_value lag last_value lead nth_value
`);

const SUM = words(`
  || concat concat_ws array_append array_cat array_concat array_prepend array_push_back array_push_front
  array_value array_zip list_append list_cat list_concat list_pack list_prepend list_value list_zip
  unpivot_list map map_concat map_entries map_from_entries row struct_concat struct_insert struct_pack
  struct_update union_value remap_struct
  list_aggr list_aggregate array_aggr array_aggregate aggregate list_string_agg list_histogram
  array_to_string array_to_string_comma_default
`);

const TIMES: Readonly<Record<number, readonly string[]>> = {
  2: words("base64 to_base64 hex to_hex json_merge_patch from_json from_json_strict"),
  // Bytes, each of which may be four letters where they are shown as text; a digit becomes `<*>`.
  4: words("encode log_pattern from_base64 from_binary from_hex unbin unhex"),
  // Numbers of eight bytes for elements of one; a list of texts for the letters of one.
  8: words("bin to_binary grade_up array_grade_up list_grade_up"),
  // A type's name for each member; the name of a month for two letters.
  32: words("json_structure strftime"),
};

/** Letters of these become up to eight, most stay one. */
const ESCAPED = words(`
  translate url_encode regexp_escape json_keys json_transform json_transform_strict
  array_to_json json_array json_object json_quote row_to_json to_json
`);

const PARTS = words(`
  regexp_extract_all regexp_split_to_array split str_split str_split_regex string_split string_split_regex
  string_to_array
`);

const BOUNDED = words(`
  repeat lpad rpad replace regexp_replace bounded_replacement flatten json_pretty
  apply array_apply array_transform list_apply list_transform
`);

const GATHERED = words(`
  approx_top_k array_agg bitstring_agg group_concat histogram histogram_exact json_group_array
  json_group_object json_group_structure list listagg string_agg
`);

const CLASSES: ReadonlyMap<string, FunctionClass> = new Map<string, FunctionClass>([
  ...classed(FIXED, { kind: "fixed" }),
  ...classed(SAME, { kind: "same" }),
  ...classed(SUM, { kind: "sum" }),
  ...Object.entries(TIMES).flatMap(([factor, names]) =>
    classed(names, { kind: "times", factor: Number(factor), usual: Number(factor) })
  ),
  ...classed(ESCAPED, { kind: "times", factor: 8, usual: 2 }),
  ...classed(PARTS, { kind: "parts" }),
  ...classed(BOUNDED, { kind: "bounded" }),
  ...classed(GATHERED, { kind: "gathered" }),
]);

function classed(names: readonly string[], one: FunctionClass): [string, FunctionClass][] {
  return names.map((name) => [name, one]);
}

/**
 * The class of an allowed function, by its name in lower case. Undefined: it is no allowed
 * function.
 */
export function functionClass(name: string): FunctionClass | undefined {
  return CLASSES.get(name);
}

/**
 * Names that are in no class, or in several, or are not allowed. A test says that there are none.
 */
export function misclassified(): string[] {
  const all = [FIXED, SAME, SUM, ...Object.values(TIMES), ESCAPED, PARTS, BOUNDED, GATHERED].flat();
  return [
    ...[...ALLOWED_FUNCTIONS].filter((name) => !CLASSES.has(name)),
    ...all.filter((name, at) => all.indexOf(name) !== at || !ALLOWED_FUNCTIONS.has(name)),
  ];
}
