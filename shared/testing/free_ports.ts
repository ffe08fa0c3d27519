/**
 * Ports for programs that a test starts. Port 0 is no help where the address must be known before
 * the program runs. Once that port is free again, the system hands it to the next program that asks
 * for any or that connects to another. These ports lie in blocks below those which Linux hands out
 * by itself (`ip_local_port_range`, from 32768). A process that takes from a block keeps its first
 * port bound, so that no other test process or thread takes from it too.
 */

const FIRST = 20_000;
const END = 32_768;
const BLOCK = 32;
const BLOCKS = Math.floor((END - FIRST) / BLOCK);

/** The ports of the block that are not given yet, and what keeps the block ours. */
let block: { readonly guard: Deno.Listener; next: number; readonly end: number } | undefined;

/** `count` ports of 127.0.0.1 where nothing listens, none given before by this process's thread. */
export function freePorts(count: number): number[] {
  return Array.from({ length: count }, freePort);
}

/** One port of 127.0.0.1 where nothing listens. */
export function freePort(): number {
  for (;;) {
    block = block !== undefined && block.next < block.end ? block : newBlock();
    const port = block.next;
    block.next += 1;
    const listener = listenAt(port);
    listener?.close();
    if (listener !== undefined) return port;
  }
}

/** A full block's guard stays until the thread ends: its ports are in use as long. */
function newBlock(): NonNullable<typeof block> {
  const start = Math.floor(Math.random() * BLOCKS);
  for (let i = 0; i < BLOCKS; i += 1) {
    const first = FIRST + (start + i) % BLOCKS * BLOCK;
    const guard = listenAt(first);
    if (guard === undefined) continue;
    guard.unref();
    return { guard, next: first + 1, end: first + BLOCK };
  }
  throw new Error(`no block of ${BLOCK} ports is free from ${FIRST} to ${END}`);
}

function listenAt(port: number): Deno.TcpListener | undefined {
  try {
    return Deno.listen({ hostname: "127.0.0.1", port });
  } catch (error) {
    if (error instanceof Deno.errors.AddrInUse) return undefined;
    throw error;
  }
}
