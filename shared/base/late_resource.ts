/** A resource that is opened when it is first needed, and again when that failed or it rested. */

export class LateResource<T extends AsyncDisposable> implements AsyncDisposable {
  readonly #open: () => Promise<T>;
  #opened: Promise<T> | undefined;

  constructor(open: () => Promise<T>) {
    this.#open = open;
  }

  get(): Promise<T> {
    return this.#opened ??= this.#open().catch((error) => {
      this.#opened = undefined;
      throw error;
    });
  }

  /** Closes it, if it is open, until it is needed again. Nobody may be using it. */
  async rest(): Promise<void> {
    const opening = this.#opened;
    this.#opened = undefined;
    const opened = await opening?.catch(() => undefined);
    await opened?.[Symbol.asyncDispose]();
  }

  /** Closes it, if it is open. */
  async [Symbol.asyncDispose](): Promise<void> {
    const opened = await this.#opened?.catch(() => undefined);
    await opened?.[Symbol.asyncDispose]();
  }
}
