/**
 * Stands between a client and a server of a test and troubles their connections. It cuts them
 * before a request or before its answer, or lets nothing pass for a while.
 */

export type Trouble =
  | "none"
  /** The next bytes of a client do not arrive: its connection breaks. */
  | "lose_request"
  /** The next bytes of a client arrive; its connection breaks instead of the answer. */
  | "lose_answer";

export class TcpProxy implements AsyncDisposable {
  readonly #listener: Deno.TcpListener;
  readonly #target: Deno.ConnectOptions;
  readonly #connections = new Set<Deno.TcpConn>();
  /** What befalls the next bytes of a client; `none` again once it has. */
  trouble: Trouble = "none";
  /** Milliseconds by which each answer is late. */
  answerDelayMs = 0;
  /** While it is set no byte passes, and connections stay open: a network that is parted. */
  #parted: PromiseWithResolvers<void> | undefined;
  /** How often trouble befell. */
  troubles = 0;

  private constructor(target: Deno.ConnectOptions) {
    this.#target = target;
    this.#listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    this.#accept();
  }

  static to(port: number): TcpProxy {
    return new TcpProxy({ hostname: "127.0.0.1", port });
  }

  get port(): number {
    return this.#listener.addr.port;
  }

  /** From now on no byte passes, and no connection is made or breaks. */
  part(): void {
    this.#parted ??= Promise.withResolvers();
  }

  /** What waited passes. */
  join(): void {
    this.#parted?.resolve();
    this.#parted = undefined;
  }

  async #accept(): Promise<void> {
    for await (const client of this.#listener) this.#join(client).catch(() => {});
  }

  async #join(client: Deno.TcpConn): Promise<void> {
    await this.#parted?.promise;
    const server = await Deno.connect(this.#target);
    const pair = [client, server];
    const cut = () => pair.forEach((one) => this.#close(one));
    pair.forEach((one) => this.#connections.add(one));
    let losesAnswer = false;
    const ask = this.#copy(client, server, () => {
      const { trouble } = this;
      if (trouble === "none") return true;
      this.trouble = "none";
      this.troubles += 1;
      if (trouble === "lose_answer") losesAnswer = true;
      return trouble === "lose_answer";
    });
    const answer = this.#copy(server, client, async () => {
      if (this.answerDelayMs > 0) {
        await new Promise((resolve) => setTimeout(resolve, this.answerDelayMs));
      }
      return !losesAnswer;
    });
    await Promise.race([ask, answer]);
    cut();
  }

  /** Until the end, an error, or bytes that may not `pass`. */
  async #copy(
    from: Deno.TcpConn,
    to: Deno.TcpConn,
    pass: () => boolean | Promise<boolean>,
  ): Promise<void> {
    try {
      for await (const bytes of from.readable.values({ preventCancel: true })) {
        await this.#parted?.promise;
        if (!await pass()) return;
        for (let at = 0; at < bytes.byteLength;) at += await to.write(bytes.subarray(at));
      }
    } catch {
      // Cut from the other side.
    }
  }

  #close(connection: Deno.TcpConn): void {
    if (!this.#connections.delete(connection)) return;
    try {
      connection.close();
    } catch {
      // Closed by its peer.
    }
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.join();
    this.#listener.close();
    for (const connection of [...this.#connections]) this.#close(connection);
    return Promise.resolve();
  }
}
