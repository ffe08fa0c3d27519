/**
 * A file system of this kernel on a disk with a volatile cache: ext4 or xfs on a loop device on the
 * file of `fuse_daemon.ts`. Everything is below one folder. In a mount namespace of its own it all
 * goes away with the namespace's last process.
 */

import { join } from "node:path";
import { delay, run, succeeds, until } from "../commands.ts";
import { DenoFileSystem } from "../../../shared/os/deno_file_system.ts";
import type { SeededRandom } from "../../../shared/testing/seeded_random.ts";
import {
  type DiskCommand,
  type Moment,
  type MomentCommand,
  REPORT_BYTES_MAX,
} from "./fuse_daemon.ts";
import type { Cut, CutReport } from "./volatile_cache.ts";

export type FileSystem = "ext4" | "xfs";

const SIZE_MIB = 512;
const MAKE: Readonly<Record<FileSystem, readonly string[]>> = {
  // Nothing of the file system is left to be written later, which would flush at times of its own.
  ext4: ["mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"],
  xfs: ["mkfs.xfs", "-q", "-f"],
};

/** How long a flush or a write is waited for: past it the moment is now. */
const MOMENT_MS_MAX = 5_000;
const END_MS_MAX = 10_000;
/** Flushes, and writes, that pass at most before the moment. */
const MOMENTS_MAX = 24;

/** A moment at which something lies in the cache, mostly; what of it is kept. */
export function randomMoment(cut: Cut, random: SeededRandom): Moment {
  const at = random.chance(0.7) ? "flush" : random.chance(0.7) ? "write" : "now";
  return { cut, at, count: 1 + random.below(MOMENTS_MAX), seed: random.below(0xffff_ffff) };
}

export class VolatileDisk implements AsyncDisposable {
  /** Where the file system is while the power is on. */
  readonly mountPoint: string;
  readonly image: string;
  readonly #fuse: string;
  /** The bytes of the disk, and what it is told. */
  readonly #file: string;
  readonly #control: string;
  #daemon: Deno.ChildProcess | undefined;

  private constructor(folder: string, readonly fileSystem: FileSystem) {
    this.mountPoint = join(folder, "disk");
    this.image = join(folder, "image");
    this.#fuse = join(folder, "fuse");
    this.#file = join(this.#fuse, "disk");
    this.#control = join(this.#fuse, "control");
  }

  /** Makes an empty disk below `folder`, with its power on. */
  static async make(folder: string, fileSystem: FileSystem): Promise<VolatileDisk> {
    const disk = new VolatileDisk(folder, fileSystem);
    for (const path of [folder, disk.mountPoint, disk.#fuse]) {
      await Deno.mkdir(path, { recursive: true });
    }
    await Deno.writeFile(disk.image, new Uint8Array());
    await Deno.truncate(disk.image, SIZE_MIB * 1024 * 1024);
    const [command = "", ...args] = MAKE[fileSystem];
    await run(command, ...args, disk.image);
    await disk.#serve();
    await disk.powerOn();
    return disk;
  }

  /** Mounts what is on the platter, once nothing has it open. What was not flushed is gone. */
  async powerOn(): Promise<void> {
    await until(`${this.#file} is let go`, async () => !(await this.#command({ do: "on" })).waits);
    const device = await run("losetup", "--direct-io=on", "--show", "--find", this.#file);
    try {
      await run("mount", "-t", this.fileSystem, device, this.mountPoint);
    } finally {
      // A device in use goes with its last user: with the mount.
      await run("losetup", "--detach", device);
    }
  }

  /** Ends the power: what the cut keeps is on the image. Later writes and flushes fail. */
  cut(moment: Moment): Promise<CutReport> {
    return this.#at({ do: "cut", ...moment });
  }

  /** Copies to `path` what a power cut would leave. */
  picture(path: string, moment: Moment): Promise<CutReport> {
    return this.#at({ do: "picture", to: path, ...moment });
  }

  /** From now on flushes are answered and not carried out. */
  async lie(): Promise<void> {
    await this.#command({ do: "lie" });
  }

  /** From now on writes fail; the file system goes read-only. What was written stays. */
  async breakDown(): Promise<void> {
    await this.#command({ do: "break" });
  }

  /** Unmounts the file system; no process may have a file open there. */
  async detach(): Promise<void> {
    await until(`${this.mountPoint} is unmounted`, () => succeeds("umount", this.mountPoint));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const daemon = this.#daemon;
    if (daemon === undefined) return;
    await succeeds("umount", "--lazy", this.mountPoint);
    await succeeds("umount", "--lazy", this.#fuse);
    // It ends by itself when the loop device has let go of its file.
    const timer = setTimeout(() => daemon.kill("SIGKILL"), END_MS_MAX);
    await daemon.status;
    clearTimeout(timer);
  }

  /** Starts the process that is the disk. */
  async #serve(): Promise<void> {
    const daemon = new URL("fuse_daemon.ts", import.meta.url).pathname;
    const config = new URL("../../deno.json", import.meta.url).pathname;
    this.#daemon = new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "-A",
        "--no-check",
        "--quiet",
        "--config",
        config,
        daemon,
        this.image,
        this.#fuse,
      ],
      stdin: "null",
      stdout: "null",
      stderr: "inherit",
    }).spawn();
    await until(`${this.#file} is served`, () => new DenoFileSystem().exists(this.#file));
  }

  async #at(command: MomentCommand): Promise<CutReport> {
    const end = performance.now() + MOMENT_MS_MAX;
    let report = await this.#command(command);
    while (report.waits && performance.now() < end) {
      await delay(10);
      report = await this.#report();
    }
    return report.waits ? await this.#command({ ...command, at: "now" }) : report;
  }

  async #command(command: DiskCommand): Promise<Told> {
    await Deno.writeTextFile(this.#control, JSON.stringify(command), { create: false });
    return await this.#report();
  }

  async #report(): Promise<Told> {
    using file = await Deno.open(this.#control);
    // One read: the report may change before the next one.
    const bytes = new Uint8Array(REPORT_BYTES_MAX);
    const length = await file.read(bytes) ?? 0;
    return JSON.parse(new TextDecoder().decode(bytes.subarray(0, length)));
  }
}

/** The report of the last command; `waits` while its moment has not come. */
type Told = CutReport & { readonly waits?: boolean };
