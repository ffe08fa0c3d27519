const UNITS = ["KiB", "MiB", "GiB", "TiB", "PiB"] as const;

/** `1.4 MiB` of a number of bytes: three digits, in the unit that fits. */
export function bytesText(bytes: number): string {
  if (bytes < 1_024) return `${Math.round(bytes)} B`;
  let scaled = bytes;
  let unit = "B";
  for (const larger of UNITS) {
    if (Math.round(scaled) < 1_024) break;
    scaled /= 1_024;
    unit = larger;
  }
  return `${scaled.toFixed(scaled < 9.95 ? 1 : 0)} ${unit}`;
}
