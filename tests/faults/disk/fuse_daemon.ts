/**
 * `fuse_daemon.ts <image> <mount point>`: a process whose file system has two files. `disk` is the
 * block device's bytes, over `image` with a volatile write cache. `control` takes one command as
 * JSON a write, and reads as the report of the last one:
 *
 *     {"do":"cut","cut":"sectors","seed":7,"at":"flush","count":3}
 *         the power ends when the third flush from now with something to do is asked for,
 *         "write": behind the third write, "now": at once
 *     {"do":"picture","to":"/path",…}     a copy of what such a cut would leave; the disk goes on
 *     {"do":"lie"}                        flushes are answered, and not carried out
 *     {"do":"break"}                      what was written stays, nothing more is taken
 *     {"do":"on"}                         the power comes back; what was not kept is gone
 *
 * One thread takes one request after the other, so a command stands between two writes. It ends
 * when the mount does. It calls `open`, `mount`, `read` and `write` of libc: a mount takes the
 * number of an open file, which the runtime does not tell.
 */

import { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import {
  answerOf,
  attributesBody,
  entryBody,
  Errno,
  type FuseRequest,
  initBody,
  nameOf,
  Opcode,
  openBody,
  parseRequest,
  readRange,
  REQUEST_BYTES_MAX,
  ROOT_NODE,
  writeBody,
  writtenBytes,
} from "./fuse_protocol.ts";
import { ImageFile } from "./image_file.ts";
import { type Cut, type CutReport, VolatileCache } from "./volatile_cache.ts";

export interface Moment {
  readonly cut: Cut;
  readonly seed: number;
  readonly at: "flush" | "write" | "now";
  readonly count: number;
}

export type MomentCommand =
  | { readonly do: "cut" } & Moment
  | { readonly do: "picture"; readonly to: string } & Moment;

export type DiskCommand =
  | MomentCommand
  | { readonly do: "lie" }
  | { readonly do: "break" }
  | { readonly do: "on" };

const DISK_NODE = 2;
const CONTROL_NODE = 3;
/** What a reader of `control` may ask for at most. */
export const REPORT_BYTES_MAX = 4_096;
const O_RDWR = 2;

const LIBC = {
  open: { parameters: ["buffer", "i32"], result: "i32" },
  mount: { parameters: ["buffer", "buffer", "buffer", "u64", "buffer"], result: "i32" },
  read: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  write: { parameters: ["i32", "buffer", "usize"], result: "isize" },
  __errno_location: { parameters: [], result: "pointer" },
} as const;

class Disk {
  readonly #image: ImageFile;
  readonly #cache: VolatileCache;
  #report: unknown = {};
  /** How often `disk` is open: a device in front of it, or none. */
  #opens = 0;
  /** A command that waits for its moment, and how many come before it. */
  #waiting: { readonly command: MomentCommand; left: number } | undefined;

  constructor(image: ImageFile) {
    this.#image = image;
    this.#cache = new VolatileCache(image, image);
  }

  /** The answer's body, an error's number, or undefined for a request that gets no answer. */
  answer(request: FuseRequest): Uint8Array | number | undefined {
    switch (request.opcode) {
      case Opcode.INIT:
        return initBody();
      case Opcode.LOOKUP:
        return this.#lookup(nameOf(request));
      case Opcode.GETATTR:
      case Opcode.SETATTR:
        return attributesBody(request.node, this.#sizeOf(request.node));
      case Opcode.OPEN:
        if (request.node === DISK_NODE) this.#opens += 1;
        return openBody();
      case Opcode.OPENDIR:
        return openBody();
      case Opcode.READ:
        return this.#read(request);
      case Opcode.WRITE:
        return this.#write(request);
      case Opcode.FSYNC:
        return request.node !== DISK_NODE || this.#flush() ? new Uint8Array() : Errno.EIO;
      case Opcode.RELEASE:
        if (request.node === DISK_NODE) this.#opens -= 1;
        return new Uint8Array();
      case Opcode.FLUSH:
      case Opcode.RELEASEDIR:
      case Opcode.DESTROY:
        return new Uint8Array();
      case Opcode.FORGET:
      case Opcode.BATCH_FORGET:
      case Opcode.INTERRUPT:
        return undefined;
      default:
        return Errno.ENOSYS;
    }
  }

  #sizeOf(node: number): number | undefined {
    if (node === ROOT_NODE) return undefined;
    return node === DISK_NODE ? this.#image.sizeBytes : REPORT_BYTES_MAX;
  }

  #lookup(name: string): Uint8Array | number {
    const node = { disk: DISK_NODE, control: CONTROL_NODE }[name];
    if (node === undefined) return Errno.ENOENT;
    return entryBody(node, this.#sizeOf(node) ?? 0);
  }

  #read(request: FuseRequest): Uint8Array {
    const { offset, bytes } = readRange(request);
    if (request.node === CONTROL_NODE) {
      return new TextEncoder().encode(JSON.stringify(this.#report)).subarray(offset);
    }
    const into = new Uint8Array(Math.max(0, Math.min(bytes, this.#image.sizeBytes - offset)));
    this.#cache.read(offset, into);
    return into;
  }

  #write(request: FuseRequest): Uint8Array | number {
    const { offset, bytes } = writtenBytes(request);
    if (request.node === CONTROL_NODE) {
      this.#report = this.#obey(JSON.parse(new TextDecoder().decode(bytes)));
    } else if (!this.#cache.write(offset, bytes)) return Errno.EIO;
    else this.#pass("write");
    return writeBody(bytes.byteLength);
  }

  #flush(): boolean {
    if (this.#cache.unflushedBytes > 0) this.#pass("flush");
    return this.#cache.flush();
  }

  /** One of the moments that a command may wait for. */
  #pass(moment: Moment["at"]): void {
    const waiting = this.#waiting;
    if (waiting?.command.at !== moment || (waiting.left -= 1) > 0) return;
    this.#waiting = undefined;
    this.#report = this.#carryOut(waiting.command);
  }

  #obey(command: DiskCommand): unknown {
    this.#waiting = undefined;
    if (command.do === "lie") {
      this.#cache.lies = true;
      return {};
    }
    if (command.do === "on") {
      // What a device of before writes late must not reach the disk of afterwards.
      if (this.#opens > 0) return { waits: true };
      this.#cache.powerOn();
      return {};
    }
    if (command.do === "break") {
      this.#cache.flush();
      return this.#cache.cutPower("none", new SeededRandom(0));
    }
    if (command.at === "now") return this.#carryOut(command);
    this.#waiting = { command, left: command.count };
    return { waits: true };
  }

  #carryOut(command: MomentCommand): CutReport {
    const random = new SeededRandom(command.seed);
    if (command.do === "cut") return this.#cache.cutPower(command.cut, random);
    using copy = this.#image.copyTo(command.to);
    return this.#cache.keep(command.cut, random, copy);
  }
}

/** Mounts, and serves until the mount ends. */
function serve(imagePath: string, mountPoint: string): void {
  using image = ImageFile.open(imagePath);
  const disk = new Disk(image);
  const libc = Deno.dlopen("libc.so.6", LIBC).symbols;
  const errno = () => {
    const place = libc.__errno_location();
    return place === null ? 0 : new Deno.UnsafePointerView(place).getInt32();
  };
  const device = libc.open(textBytes("/dev/fuse"), O_RDWR);
  if (device < 0) throw new Error(`cannot open /dev/fuse: error ${errno()}`);
  const options = `fd=${device},rootmode=40000,user_id=0,group_id=0`;
  const [source, target, type] = [
    textBytes("svc-faults"),
    textBytes(mountPoint),
    textBytes("fuse"),
  ];
  if (libc.mount(source, target, type, 0n, textBytes(options)) !== 0) {
    throw new Error(`cannot mount ${mountPoint} as FUSE: error ${errno()}`);
  }
  const buffer = new Uint8Array(REQUEST_BYTES_MAX);
  for (;;) {
    const bytes = Number(libc.read(device, buffer, BigInt(buffer.byteLength)));
    if (bytes < 0) {
      const failure = errno();
      if (failure === Errno.ENODEV) return;
      if (([Errno.EINTR, Errno.EAGAIN, Errno.ENOENT] as number[]).includes(failure)) continue;
      throw new Error(`cannot read /dev/fuse: error ${failure}`);
    }
    const request = parseRequest(buffer.subarray(0, bytes));
    const result = disk.answer(request);
    if (result === undefined) continue;
    const answer = answerOf(request.unique, result);
    libc.write(device, answer, BigInt(answer.byteLength));
  }
}

function textBytes(text: string): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(`${text}\0`);
}

if (import.meta.main) {
  const [image = "", mountPoint = ""] = Deno.args;
  serve(image, mountPoint);
}
