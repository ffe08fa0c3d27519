/**
 * What the maps of the message before looked like. The first map of a message mostly has the names
 * of the first one of the message before, in the same order, and so on. Such a map needs neither a
 * look-up nor a hash of its names: no two of them meet, and their JSON text is copied.
 *
 * Names are of one request, in whose bytes they lie; their JSON text is kept here.
 */

import { ByteBuilder } from "../../../shared/columns/byte_builder.ts";
import { writeJsonString } from "../../../shared/columns/json_writer.ts";
import type { WireReader } from "../wire/wire_reader.ts";
import { NameShapes } from "./name_shapes.ts";

/** Maps of a message that are remembered. */
const MAPS_MAX = 64;
/** Bytes of names' JSON text that are kept; past them all is forgotten. */
const TEXT_BYTES_MAX = 64 * 1024;
const COMMA = 0x2c;
const COLON = 0x3a;

/** Where a name lies in a request: `KEY length key VALUE`, of which the key is a part. */
export interface NamePlace {
  readonly wireAt: number;
  readonly keyStart: number;
  readonly keyEnd: number;
}

export class MapNames {
  readonly #reader: WireReader;
  readonly #maps: NameShapes[] = [];
  readonly #text = new ByteBuilder();
  #number = 0;

  constructor(reader: WireReader) {
    this.#reader = reader;
  }

  /** Starts a request: what is known of another one's bytes is forgotten. */
  startRequest(): void {
    this.#forget();
    this.#number = 0;
  }

  startMessage(): void {
    this.#number = 0;
  }

  /** The names of the map that begins; undefined where the message has too many. */
  next(): NameShapes | undefined {
    const number = this.#number;
    if (number === MAPS_MAX) return undefined;
    this.#number = number + 1;
    return this.#maps[number] ??= new NameShapes();
  }

  /**
   * Remembers the name at that place of a map of which no two names meet, where all names before it
   * are remembered.
   */
  remember(map: NameShapes, place: number, { wireAt, keyStart, keyEnd }: NamePlace): void {
    if (this.#text.length + keyEnd - keyStart > TEXT_BYTES_MAX) this.#forget();
    const text = this.#text;
    const jsonStart = text.length;
    if (place > 0) text.byte(COMMA);
    writeJsonString(text, this.#reader.view, keyStart, keyEnd);
    text.byte(COLON);
    const wireLength = keyEnd + 1 - wireAt;
    map.remember(place, { wireAt, wireLength, jsonStart, jsonEnd: text.length, keyStart });
  }

  /** Appends the name at that place of a map, with what stands around it in JSON. */
  write(out: ByteBuilder, map: NameShapes, place: number): void {
    out.copy(this.#text.view, map.jsonStart(place), map.jsonEnd(place));
  }

  #forget(): void {
    for (const map of this.#maps) map.clear();
    this.#text.clear();
  }
}
