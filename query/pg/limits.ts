/** Bounds of PostgreSQL's protocol: what a client may make the server hold, and for how long. */

/** A message past this ends the session: the length of a statement's body over HTTP. */
export const MESSAGE_BYTES_MAX = 4 * 1024 * 1024;
/** A startup packet past this is refused, as PostgreSQL does. */
export const STARTUP_BYTES_MAX = 10_000;
/** The password message: the longest header of an HTTP request. */
export const PASSWORD_BYTES_MAX = 32_768;
/** From the connection to the end of its startup, TLS handshake and password included. */
export const STARTUP_MS_MAX = 10_000;
/** From the first byte of a message to its last. */
export const MESSAGE_MS_MAX = 60_000;
/** What is read ahead of a client while a statement of its runs. */
export const READ_AHEAD_BYTES = 65_536;
/** What is read with at first, and while nothing is there: an idle session holds so much. */
export const IDLE_READ_BYTES = 512;
/** What is written at once. */
export const WRITE_BYTES = 65_536;
/** Named statements of a session, and its portals. */
export const STATEMENTS_MAX = 1_024;
export const PORTALS_MAX = 64;
/** Portals of a session with rows still to come: each keeps a connection of DuckDB. */
export const SUSPENDED_PORTALS_MAX = 2;
/** Parameters of a statement, as of a request over HTTP. */
export const PARAMETERS_MAX = 1_000;
/** Columns of an answer: a message counts them in a signed number of 16 bits. */
export const COLUMNS_MAX = 32_767;
/** Statements of one simple query. */
export const STATEMENTS_PER_QUERY_MAX = 64;
/** What the memory that a session's statements and portals hold is counted with besides texts. */
export const STATEMENT_BYTES_MIN = 512;
/** How long a stop waits for statements in flight before it ends them. */
export const STOP_MS_MAX = 10_000;
/** How long their clients have to read why. */
export const CUT_MS_MAX = 2_000;
