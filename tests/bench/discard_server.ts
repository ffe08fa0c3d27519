/**
 * Reads whatever it is sent and does nothing with it: what a load on the machine does to others
 * without the server under load.
 *
 * Usage: `discard_server.ts`; its port on stdout. Ends with the process that started it.
 */

const listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
Deno.stdout.writeSync(new TextEncoder().encode(String(listener.addr.port)));
for await (const conn of listener) discard(conn);

async function discard(conn: Deno.Conn): Promise<void> {
  const into = new Uint8Array(256 * 1024);
  try {
    while (await conn.read(into) !== null);
    conn.close();
  } catch {
    // The sender closed it.
  }
}
