/**
 * Rows of a row group; the last of a file may have fewer.
 *
 * With half a million log rows of 410 bytes a file was 0.4 % larger than with groups of 122,880, `LIKE` and `GROUP BY` scans
 * took the same time, and reading a file's newest rows costs in proportion to the group (11 ms for one of 41,000 rows, 4 ms
 * for one of 8,500).
 */
export const ROW_GROUP_ROWS = 65_536;
