/**
 * The format of Server-Sent Events.
 * Source: https://html.spec.whatwg.org/multipage/server-sent-events.html
 */

/** An event; `name` is `message` where the server names none. */
export interface ServerEvent {
  readonly name: string;
  readonly data: string;
  /** The last id that the server gave, this event's or an earlier one's. */
  readonly id: string | undefined;
}

/** Makes events of the pieces of a connection's text, and keeps the id over connections. */
export class EventParser {
  /** What the server asks to wait before the next connection. */
  retryMs: number | undefined;
  #pending = "";
  #name = "";
  #data: string[] = [];
  #id: string | undefined;

  constructor(public lastId: string | undefined) {
    this.#id = lastId;
  }

  /** A connection begins: what the last one left unfinished is dropped. */
  begin(): void {
    this.#pending = "";
    this.#name = "";
    this.#data = [];
    this.#id = this.lastId;
  }

  /** The events that `text` completes. */
  *push(text: string): Generator<ServerEvent> {
    const lines = (this.#pending + text).split("\n");
    this.#pending = lines.pop() ?? "";
    for (const line of lines) {
      const event = this.#take(line.endsWith("\r") ? line.slice(0, -1) : line);
      if (event !== undefined) yield event;
    }
  }

  #take(line: string): ServerEvent | undefined {
    if (line === "") return this.#finish();
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#name = value;
    if (field === "data") this.#data.push(value);
    if (field === "id" && !value.includes("\0")) this.#id = value;
    if (field === "retry" && /^\d{1,9}$/.test(value)) this.retryMs = Number(value);
    return undefined;
  }

  #finish(): ServerEvent | undefined {
    this.lastId = this.#id;
    const [name, data] = [this.#name === "" ? "message" : this.#name, this.#data];
    this.#name = "";
    this.#data = [];
    return data.length === 0 ? undefined : { name, data: data.join("\n"), id: this.lastId };
  }
}
