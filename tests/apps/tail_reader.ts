/** A reader of `GET /api/v1/tail`, by the rules of Server-Sent Events. For tests. */

export interface TailEvent {
  readonly name: string;
  // deno-lint-ignore no-explicit-any
  readonly data: any;
}

export interface TailOptions {
  /** The address's query. */
  readonly query?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** The id of the last event that was read. */
  readonly lastId?: string;
}

export class TailReader implements AsyncDisposable {
  readonly #leaving = new AbortController();
  readonly #reader: ReadableStreamDefaultReader<string>;
  #text = "";
  #lastId: string;
  /** An event that somebody stopped waiting for is the next one's. */
  #waiting: Promise<TailEvent | undefined> | undefined;

  private constructor(body: ReadableStream<Uint8Array<ArrayBuffer>>, lastId: string) {
    this.#reader = body.pipeThrough(new TextDecoderStream()).getReader();
    this.#lastId = lastId;
  }

  /** Errors: `<status> <body>` for a refusal; those of `fetch`. */
  static async connect(
    url: string,
    { query = "", headers = {}, lastId = "" }: TailOptions = {},
  ): Promise<TailReader> {
    const resumed: Readonly<Record<string, string>> = lastId === ""
      ? {}
      : { "last-event-id": lastId };
    const response = await fetch(`${url}/api/v1/tail?${query}`, {
      headers: { ...headers, ...resumed },
    });
    if (!response.ok || response.body === null) {
      throw new Error(`${response.status} ${await response.text()}`);
    }
    const reader = new TailReader(response.body, lastId);
    // The first event has no rows: it says where the tail begins.
    await reader.next();
    return reader;
  }

  get lastId(): string {
    return this.#lastId;
  }

  /** The next event; undefined when the stream has ended or broke. Comments are passed over. */
  async next(): Promise<TailEvent | undefined> {
    this.#waiting ??= this.#read();
    const event = await this.#waiting;
    this.#waiting = undefined;
    return event;
  }

  async #read(): Promise<TailEvent | undefined> {
    for (;;) {
      const end = this.#text.indexOf("\n\n");
      if (end >= 0) {
        const lines = this.#text.slice(0, end).split("\n");
        this.#text = this.#text.slice(end + 2);
        const event = this.#eventOf(lines);
        if (event !== undefined) return event;
        continue;
      }
      const read = await this.#reader.read().catch(() => ({ done: true, value: undefined }));
      if (read.done || read.value === undefined) return undefined;
      this.#text += read.value;
    }
  }

  /** Texts of the column `raw` until there are `count`, or none came for `ms`. */
  async raws(count: number, ms = 60_000): Promise<string[]> {
    const found: string[] = [];
    let timer: ReturnType<typeof setTimeout> | undefined;
    try {
      while (found.length < count) {
        const late = new Promise<undefined>((resolve) =>
          timer = setTimeout(() => resolve(undefined), ms)
        );
        const event = await Promise.race([this.next(), late]);
        clearTimeout(timer);
        if (event === undefined) break;
        if (event.name === "rows") found.push(...rawsOf(event));
      }
    } finally {
      clearTimeout(timer);
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#leaving.abort();
    await this.#reader.cancel().catch(() => {});
  }

  #eventOf(lines: readonly string[]): TailEvent | undefined {
    const fields = new Map(
      lines.filter((line) => !line.startsWith(":")).map((line) => {
        const colon = line.indexOf(": ");
        return [line.slice(0, colon), line.slice(colon + 2)];
      }),
    );
    this.#lastId = fields.get("id") ?? this.#lastId;
    const data = fields.get("data");
    if (data === undefined) return undefined;
    return { name: fields.get("event") ?? "message", data: JSON.parse(data) };
  }
}

/** Texts of the column `raw`. */
export function rawsOf({ data: { columns, rows } }: TailEvent): string[] {
  const at = columns.indexOf("raw");
  return rows.map((row: readonly unknown[]) => String(row[at]));
}
