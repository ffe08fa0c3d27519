/** Every bound of the engine and what happens past it. */

/** Characters of a statement; longer is refused. */
export const STATEMENT_LENGTH_MAX = 262_144;
/** JSON nesting of the parsed statement (an expression level takes two); deeper is refused. */
export const STATEMENT_DEPTH_MAX = 400;
/** Characters that one call of `repeat`, `lpad` or `rpad` makes; more fails the statement. */
export const TEXT_MADE_MAX = 65_536;
/**
 * Characters that one call of `replace` or `regexp_replace` may add in the worst case, besides a
 * text of up to 16 for each match. More fails the statement.
 */
export const TEXT_REPLACED_MAX = 1_048_576;
/**
 * Words that one call of `match_terms` and its like looks for, and their characters together; more
 * are refused.
 */
export const WORDS_MAX = 256;
export const WORDS_LENGTH_MAX = 8_192;
/**
 * Words that are looked for by their stems at once. Each is a pattern of 9 KB that each thread
 * compiles, in some 5 ms.
 */
export const STEMS_MAX = 32;
/**
 * Characters of a text that is cut into words, because the words looked for are no literal. A
 * longer text fails the statement.
 */
export const TEXT_CUT_MAX = 8_192;
/**
 * Elements of a list that an expression is applied to. The expression may make a list as long for
 * each of them.
 */
export const LIST_MAPPED_MAX = 4_096;
/** Elements that one call of `flatten` makes; more fails the statement. */
export const LIST_FLATTENED_MAX = 1_048_576;
/**
 * Statements that run at once; more wait in line within their own deadline. More than this finish
 * no sooner: they only crowd out the thread that answers. With 200 mixed statements on two cores
 * the slowest `/healthz` took 26 ms with two a core, and 59 ms with three. It took 234 ms with four
 * and 420 ms with eight; all were done in equal time.
 */
export const LIGHT_STATEMENTS_PER_CORE = 3;
export const LIGHT_STATEMENTS_MIN = 4;
/**
 * Estimated seconds past which a statement is expensive and waits for a scheduler slot among its
 * like.
 */
export const CHEAP_SECS_MAX = 0.1;
/** Expensive statements that run at once: one a core, but two at least and three at most. */
export const DEAR_STATEMENTS_MIN = 2;
export const DEAR_STATEMENTS_MAX = 3;
/**
 * Bytes of a memory pool that is divided, where expensive statements have a DuckDB of their own. A
 * smaller pool is not divided.
 */
export const DIVIDED_POOL_BYTES_MIN = 805_306_368;
/** Cheap statements then have one part in so many of the memory pool and of the spill space. */
export const LIGHT_SHARE_DIVISOR = 4;
/**
 * Connections beyond those of statements that run. They are for statements that lend their slot to
 * others: streams whose readers pause, and what waits for an object store that hangs. Eight
 * connections take 16 ms of a process's start.
 */
export const LENT_SLOTS_MAX = 16;
/**
 * A stream whose reader pauses for longer gives its slot back until more is wanted, in
 * milliseconds.
 */
export const PAUSE_MS_MIN = 100;
/** Statements in that line, in all and of one tenant. One more is refused with 429. */
export const WAITERS_MAX = 1_024;
export const WAITERS_PER_KEY_MAX = 256;
/**
 * Bytes of converted WAL segments in the cache directory. The least recently used idle ones go
 * first.
 */
export const DELTA_CACHE_BYTES_MAX = 1_073_741_824;
/**
 * Memory for what frames of WAL segments say, which is enough for some 10,000,000 rows. For others
 * just their number is kept, so they are converted for a histogram and searched for a trace.
 */
export const COUNTED_FRAMES_BYTES_MAX = 33_554_432;
/**
 * Bytes of data files with rows that another engine deleted, which one statement has written
 * without these rows; more is refused. The second is how many bytes of such files are kept.
 */
export const REMAINING_BYTES_MAX = 536_870_912;
export const REMAINING_CACHE_BYTES_MAX = 1_073_741_824;
/** Files of an object store whose layout is remembered; the least recently used go first. */
export const FOOTERS_KEPT_MAX = 4096;
/** Footers that one statement reads at the same time. */
export const FOOTER_READS_MAX = 16;
/**
 * Rows (LIMIT + OFFSET) up to which a newest-first or oldest-first scan picks its row groups. With
 * more it scans all.
 */
export const ORDERED_ROWS_MAX = 1_000_001;
/**
 * Seconds a client should wait after the memory pool or the spill cap was exhausted. See
 * docs/api/query.md#ndjson-answer.
 */
export const POOL_RETRY_AFTER_SECS = 5;
/** How often planning starts over when a file or segment it had listed is gone. */
export const PLAN_ATTEMPTS_MAX = 3;
/**
 * Statements whose tree and columns are kept for the next time; the least recently used go first.
 */
export const STATEMENTS_KEPT_MAX = 256;
/** Characters of a statement, and of its tree, that are kept. */
export const KEPT_STATEMENT_LENGTH_MAX = 8_192;
export const KEPT_TREE_LENGTH_MAX = 65_536;
/** Bound statements that a connection keeps for the next time; each may hold a data file open. */
export const PREPARED_KEPT_MAX = 4;
/** Bound statements without a data file that a connection keeps for the next time. */
export const QUESTIONS_KEPT_MAX = 16;
/**
 * Bytes that a connection makes ahead of its reader; then the statement waits. DuckDB counts 16
 * bytes a row, whatever its text holds: this is 65,536 rows.
 */
export const STREAM_BUFFER_BYTES = 1_048_576;
/**
 * Rows of one table that are read out of their pages, and what their values take by estimate. More
 * are scanned.
 */
export const FEW_ROWS_MAX = 4_096;
export const FEW_ROWS_BYTES_MAX = 2_097_152;
/** Parts of files whose pages one statement reads at the same time. */
export const FEW_ROWS_READS_MAX = 8;
/**
 * About how many bytes of counts of columns with many values are kept in the cache directory. The
 * least recently asked go first.
 */
export const WIDE_ANSWERS_BYTES_MAX = 1_073_741_824;
/**
 * An answer of at most so many rows in memory is made as a whole, which spares it a thread's hop
 * for each chunk.
 */
export const WHOLE_ROWS_MAX = 16_384;
/**
 * A scan of one table that reads at most so much is not measured: its figures are those of its
 * plan. Measuring takes 1 to 2.5 ms. With more rows progress is worth telling, and with more bytes
 * it may spill.
 */
export const SMALL_SCAN_ROWS_MAX = 131_072;
export const SMALL_SCAN_BYTES_MAX = 4_194_304;
/**
 * A step of a scan in order of time that reads at most so many rows leaves one thread for those who
 * send its rows. That one would mostly wait (`duckdb/awaited_result.ts`).
 */
export const SHORT_STEP_ROWS_MAX = 131_072;
/**
 * Files whose rows are merged at the same time to be written as JSON from their pages
 * (`json_rows/`). A page of each column is in memory.
 */
export const JSON_ROWS_FILES_MAX = 8;
/** Streams that may have this many rows are run without a LIMIT. */
export const UNLIMITED_ROWS_MIN = 100_000;
/**
 * Characters of a pattern that is matched as a regular expression, repetitions counted each time. A
 * larger pattern is refused.
 */
export const PATTERN_SIZE_MAX = 2_048;
/** Characters of such a pattern that is no constant: DuckDB reads it anew for each row. */
export const PATTERN_ROW_MAX = 256;
/** How often the bytes of one part may be in a value that an expression makes; more is refused. */
export const VALUE_GROWTH_MAX = 1_024;
/**
 * How often the bytes of a stored column may be in a value that is not measured when it is made.
 */
export const STORED_GROWTH_MAX = 64;
/**
 * Bytes of a value that is made of what the statement itself made before, where it is made of more
 * than one such part.
 */
export const VALUE_MADE_MAX = 1_048_576;
/** Bytes that lambdas may copy from outside of them for all elements of a list, or look at. */
export const LAMBDA_COPIED_MAX = 1_048_576;
export const LAMBDA_READ_MAX = 16_777_216;
/**
 * Lambdas within lambdas, and elements of a list to which each of so many is applied. Deeper ones
 * are refused.
 */
export const LAMBDA_DEPTH_MAX = 4;
export const LAMBDA_ELEMENTS_MAX = [4_096, 256, 40, 16] as const;
/** Bytes of one argument times bytes of another, where each is compared with each. */
export const PAIRS_COMPARED_MAX = 8_388_608;
/** Bytes of a text times bytes of another in which it is looked for. */
export const PAIRS_SEARCHED_MAX = 67_108_864;
/**
 * Characters that one call of `repeat`, `lpad`, `rpad` or `replace` makes for each element of a
 * list.
 */
export const TEXT_MADE_IN_LIST_MAX = 256;
/**
 * Expressions that a statement has more once macros and names are written out. More are refused:
 * 32,768 took 10 s.
 */
export const EXPANDED_NODES_MAX = 8_192;
/**
 * Members that structs within structs may have, where each SELECT makes them of those of another.
 * More are refused.
 */
export const STRUCT_MEMBERS_MAX = 4_096;
/**
 * How long a statement may go on after it was interrupted, in milliseconds; then the DuckDB process
 * that runs it is ended. `STUCK_MS_MIN` holds where the process took `STUCK_CPU_MS_MIN` of
 * processor time meanwhile. So a process that merely waits for a processor is not taken for one
 * that cannot be interrupted. `STUCK_MS_MAX` holds in any case.
 */
export const STUCK_MS_MIN = 2_000;
export const STUCK_CPU_MS_MIN = 1_000;
export const STUCK_MS_MAX = 30_000;
/**
 * A DuckDB process that has told nothing for so long, in milliseconds, does not answer. After
 * `SILENT_MS_END` it is ended.
 */
export const SILENT_MS_MAX = 3_000;
export const SILENT_MS_END = 15_000;
/**
 * The DuckDB process of expensive statements starts so many milliseconds after the server, which
 * answers meanwhile, or with the first of them. It ends after so many milliseconds without one.
 * The next one waits some 0.3 s for another; longer where others want all processors.
 */
export const DEAR_FIRST_MS = 3_000;
export const DEAR_IDLE_MS_MAX = 300_000;
/**
 * Bytes that a DuckDB process may take beyond its part of the memory pool and what it took at its
 * start. Past them its statements are interrupted. With twice as many, or with no fewer after
 * `RESIDENT_MS_MAX`, the process is ended.
 */
export const RESIDENT_HEADROOM_BYTES_MIN = 536_870_912;
export const RESIDENT_HEADROOM_DIVISOR = 4;
export const RESIDENT_MS_MAX = 1_000;
/**
 * How long a DuckDB process may take to open, in milliseconds: at the server's start, and later,
 * when there is no other to be had. It takes 0.2 s, but waits for processors with the priority that
 * it has. `ENGINE_CLOSE_MS_MAX` is how long it may take to close.
 */
export const ENGINE_OPEN_MS_MAX = 20_000;
export const ENGINE_REOPEN_MS_MAX = 120_000;
export const ENGINE_CLOSE_MS_MAX = 2_000;
/**
 * A DuckDB process that ended within this time of its start is replaced after a pause. The pause
 * doubles up to the last.
 */
export const ENGINE_STEADY_MS = 30_000;
export const ENGINE_PAUSE_MS_MIN = 250;
export const ENGINE_PAUSE_MS_MAX = 10_000;
/**
 * A server is not ready when all of its slots of a kind are held for so long after their deadlines,
 * in milliseconds.
 */
export const OVERDUE_MS_MAX = 500;
/**
 * How long a statement waits for a DuckDB process that is being replaced, in milliseconds. After
 * that it is 503.
 */
export const REPLACED_WAIT_MS_MAX = 15_000;
/** Data files of a folder of which is remembered what was verified: some 400 bytes each. */
export const VERIFIED_FILES_MAX = 16_384;
/**
 * Damaged files that are remembered, so that statements leave them out, and for how long, in
 * milliseconds. After that a file is tried again: it may have been restored.
 */
export const DAMAGED_FILES_MAX = 4_096;
export const DAMAGED_MS_MAX = 60_000;
/** How often a statement begins anew because of files that turn out to be damaged. */
export const DAMAGED_ATTEMPTS_MAX = 16;
/** Columns that a summary counts together, the minute among them. */
export const DIMS_MAX = 2;
