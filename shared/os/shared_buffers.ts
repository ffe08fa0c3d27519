/**
 * Shared memory that is used again and again: for rows that several threads read in turn.
 *
 * Every thread that was sent a shared buffer holds on to it until its own collector runs, which the
 * buffer's size does not make any sooner. So buffers are not left to the collectors: what was given
 * back is what is taken next.
 */

/** Buffers that are kept while nobody uses them. */
const IDLE_MAX = 2;
/** Sizes are multiples of it, so that the next one of about the same size fits. */
const STEP_BYTES = 4 * 1024 * 1024;

export class SharedBuffers {
  /** Smallest first. */
  #idle: SharedArrayBuffer[] = [];
  #takenBytes = 0;

  /** Bytes of all buffers, also of those that nobody uses. */
  get bytes(): number {
    return this.#idle.reduce((sum, { byteLength }) => sum + byteLength, this.#takenBytes);
  }

  /** `byteLength` bytes of any content; the caller's until they are given back. */
  take(byteLength: number): Uint8Array<SharedArrayBuffer> {
    const at = this.#idle.findIndex((buffer) => buffer.byteLength >= byteLength);
    const [found] = at < 0 ? [] : this.#idle.splice(at, 1);
    // One that is too small is in the way of a larger one.
    if (found === undefined) this.#idle.pop();
    const size = Math.ceil(byteLength / STEP_BYTES) * STEP_BYTES;
    const buffer = found ?? new SharedArrayBuffer(size);
    this.#takenBytes += buffer.byteLength;
    return new Uint8Array(buffer, 0, byteLength);
  }

  /** Takes back what `take` gave: nobody may read it any more. */
  give({ buffer }: Uint8Array<SharedArrayBuffer>): void {
    this.#takenBytes -= buffer.byteLength;
    this.#idle = [...this.#idle, buffer].sort((a, b) => a.byteLength - b.byteLength)
      .slice(-IDLE_MAX);
  }

  /** Lets go of what nobody uses. */
  drop(): void {
    this.#idle = [];
  }
}
