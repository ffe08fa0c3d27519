/** Whether sockets are served beside work that takes all of the thread: for tests only. */

/** How often a byte goes to another socket of this thread and back while `work` goes on. */
export async function echoesDuring(work: () => Promise<void>): Promise<number> {
  using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
  const [one, other] = await Promise.all([
    Deno.connect({ hostname: "127.0.0.1", port: listener.addr.port }),
    listener.accept(),
  ]);
  let echoes = 0;
  const echo = async () => {
    const byte = new Uint8Array(1);
    while (await other.read(byte) !== null) await other.write(byte);
  };
  const ask = async () => {
    const byte = new Uint8Array(1);
    for (await one.write(byte); await one.read(byte) !== null; await one.write(byte)) echoes += 1;
  };
  const peers = Promise.allSettled([echo(), ask()]);
  await work();
  const during = echoes;
  one.close();
  await peers.finally(() => other.close());
  return during;
}
