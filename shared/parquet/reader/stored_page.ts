/** A page as it is stored, of which as much is unpacked as is wanted. */

import { readZstdStart, unpackZstd } from "../../base/unpack_zstd.ts";
import { checkPage, type PageHeader, readPageHeader } from "./page_header.ts";
import { PageReader } from "./unpack.ts";

/** A page of whose content a beginning is wanted. */
export interface PageSource {
  readonly header: PageHeader;
  /** What `read` makes of the page, of which it needs about this share from its beginning. */
  upTo<T>(share: number, read: (body: PageReader) => T): T;
}

/** A page that was unpacked as a whole. */
export class UnpackedPage implements PageSource {
  readonly header: PageHeader;
  readonly #body: Uint8Array;

  constructor(header: PageHeader, body: Uint8Array) {
    this.header = header;
    this.#body = body;
  }

  upTo<T>(_share: number, read: (body: PageReader) => T): T {
    return read(new PageReader(this.#body));
  }
}

/** A page's bytes as they are in the file. */
export class StoredPage implements PageSource {
  readonly header: PageHeader;
  readonly #body: Uint8Array;
  readonly #isPacked: boolean;

  /** `isSummed`: the file's writer gave each page a sum. */
  constructor(
    bytes: Uint8Array,
    { isPacked, isSummed }: { readonly isPacked: boolean; readonly isSummed: boolean },
  ) {
    this.header = readPageHeader(bytes, 0);
    const { bodyAt, byteLength } = this.header;
    if (bodyAt + byteLength > bytes.length) throw new Error("a page is cut");
    this.#body = bytes.subarray(bodyAt, bodyAt + byteLength);
    // The header has no sum of its own: what it says is held against what else is known.
    if (isSummed && (this.header.crc === undefined || bodyAt + byteLength !== bytes.length)) {
      throw new Error("a page's header is damaged");
    }
    checkPage(this.header, this.#body);
    this.#isPacked = isPacked;
  }

  /** All of it, in memory of its own. */
  unpacked(): UnpackedPage {
    const { header } = this;
    const body = this.#isPacked ? unpackZstd(this.#body, header.plainBytes) : this.#plain().slice();
    return new UnpackedPage(header, body);
  }

  upTo<T>(share: number, read: (body: PageReader) => T): T {
    const { plainBytes } = this.header;
    if (!this.#isPacked) return read(new PageReader(this.#plain()));
    const ahead = this.header.values * HEAD_BYTES_PER_VALUE * (1 - share);
    const wanted = Math.ceil(plainBytes * share * SHARE_SPARE + ahead) + SPARE_BYTES;
    return readZstdStart(
      this.#body,
      { bytes: plainBytes, wanted: wanted < plainBytes * WHOLE_SHARE ? wanted : plainBytes },
      (start) => read(new PageReader(start)),
    );
  }

  #plain(): Uint8Array {
    const { plainBytes } = this.header;
    if (this.#body.length !== plainBytes) throw new Error(`a page of ${this.#body.length} bytes`);
    return this.#body;
  }
}

/** From this share on a page is unpacked as a whole, which spares a copy. */
const WHOLE_SHARE = 0.85;
/** How much more of a page is unpacked than its rows take on average. */
const SHARE_SPARE = 1.01;
const SPARE_BYTES = 4 * 1024;
/** What of all values lies before the first: lengths, of which each takes a byte as a rule. */
const HEAD_BYTES_PER_VALUE = 1;
