/** Randomness as an interface, so that tests can seed it. */

export interface Random {
  /** `count` random bytes. */
  bytes(count: number): Uint8Array;
  /** A number in [0, 1). */
  float(): number;
}

/** The runtime's cryptographic random numbers. */
export class SystemRandom implements Random {
  bytes(count: number): Uint8Array {
    return crypto.getRandomValues(new Uint8Array(count));
  }

  float(): number {
    return Math.random();
  }
}

/** UUID version 4 from `random`. */
export function uuidV4(random: Random): string {
  return uuidOf(random.bytes(16), 4);
}

/** UUID version 7: those of later milliseconds sort after those of earlier ones. */
export function uuidV7(random: Random, timeMs: number): string {
  const bytes = random.bytes(16);
  const time = new DataView(new ArrayBuffer(8));
  time.setBigUint64(0, BigInt(Math.floor(timeMs)) << 16n);
  bytes.set(new Uint8Array(time.buffer, 0, 6));
  return uuidOf(bytes, 7);
}

function uuidOf(bytes: Uint8Array, version: number): string {
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | (version << 4);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${
    hex.slice(20)
  }`;
}
