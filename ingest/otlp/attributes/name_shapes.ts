/**
 * What the attributes of the record before looked like: records of a request mostly name the same
 * attributes in the same order. An attribute whose wire bytes up to its value equal those at the
 * same place of that record has the same name. Its JSON text is then copied instead of parsed,
 * hashed and escaped again.
 *
 * Invariants: places refer to the request's bytes and to what was written for it; `clear` forgets
 * them when either goes away. The names remembered at any time are those of one record's beginning,
 * so no two of them meet.
 */

/** Attributes of a record that are remembered. */
const PLACES_MAX = 32;

export class NameShapes {
  /**
   * Where the bytes `KEY length key VALUE` of each place begin in the request, and how many there
   * are.
   */
  readonly #wireAt = new Int32Array(PLACES_MAX);
  readonly #wireLength = new Int32Array(PLACES_MAX);
  /** Where `"key":` begins and ends in the output, with the comma in front of all but the first. */
  readonly #jsonStart = new Int32Array(PLACES_MAX);
  readonly #jsonEnd = new Int32Array(PLACES_MAX);
  /** Where the name begins in the request; it ends before the last of the wire bytes. */
  readonly #keyStart = new Int32Array(PLACES_MAX);
  #places = 0;

  clear(): void {
    this.#places = 0;
  }

  /** Forgets all places from this one on. */
  keep(places: number): void {
    this.#places = Math.min(this.#places, places);
  }

  /** How many attributes are remembered, from the first place on. */
  get places(): number {
    return this.#places;
  }

  /** Length of the wire bytes at `at` when they equal those remembered for `place`, else 0. */
  match(place: number, view: DataView, at: number, end: number): number {
    if (place >= this.#places) return 0;
    const known = this.#wireAt[place] as number;
    const length = this.#wireLength[place] as number;
    if (at + length > end) return 0;
    // At least four bytes: the last word overlaps the one before it.
    const last = length - 4;
    for (let i = 0; i < last; i += 4) {
      if (view.getInt32(at + i, true) !== view.getInt32(known + i, true)) return 0;
    }
    return view.getInt32(at + last, true) === view.getInt32(known + last, true) ? length : 0;
  }

  wireLength(place: number): number {
    return this.#wireLength[place] as number;
  }

  keyStart(place: number): number {
    return this.#keyStart[place] as number;
  }

  keyEnd(place: number): number {
    return (this.#wireAt[place] as number) + (this.#wireLength[place] as number) - 1;
  }

  jsonStart(place: number): number {
    return this.#jsonStart[place] as number;
  }

  jsonEnd(place: number): number {
    return this.#jsonEnd[place] as number;
  }

  /** Remembers an attribute; places are filled from the first, and later ones forgotten. */
  remember(place: number, shape: NameShape): void {
    if (place > this.#places || place >= PLACES_MAX || shape.wireLength < 4) return;
    this.#places = place + 1;
    this.#wireAt[place] = shape.wireAt;
    this.#wireLength[place] = shape.wireLength;
    this.#jsonStart[place] = shape.jsonStart;
    this.#jsonEnd[place] = shape.jsonEnd;
    this.#keyStart[place] = shape.keyStart;
  }
}

export interface NameShape {
  readonly wireAt: number;
  readonly wireLength: number;
  readonly jsonStart: number;
  readonly jsonEnd: number;
  readonly keyStart: number;
}
