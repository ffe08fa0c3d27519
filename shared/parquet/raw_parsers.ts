/**
 * What `hyparquet` is given so that a footer's statistics stay the numbers and bytes that they are.
 */
export const RAW_PARSERS = {
  timestampFromMilliseconds: same,
  timestampFromMicroseconds: same,
  timestampFromNanoseconds: same,
  dateFromDays: same,
  stringFromBytes: same,
};

function same<T>(value: T): T {
  return value;
}
