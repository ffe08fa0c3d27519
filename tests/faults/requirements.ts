/** What a run needs of the machine, and why something cannot run on it. */

import { succeeds } from "./commands.ts";

interface Requirement {
  readonly name: string;
  readonly remedy: string;
  readonly isMet: () => boolean | Promise<boolean>;
}

const REQUIREMENTS: readonly Requirement[] = [
  {
    name: "Linux",
    remedy: "run it on Linux",
    isMet: () => Deno.build.os === "linux",
  },
  { name: "root", remedy: "run it as root, or with sudo", isMet: () => Deno.uid() === 0 },
  {
    name: "/dev/fuse",
    remedy:
      "load the kernel's module (modprobe fuse), or start the container with --device /dev/fuse",
    isMet: () => opens("/dev/fuse"),
  },
  {
    name: "loop devices",
    remedy: "load the kernel's module (modprobe loop), or start the container with --privileged",
    isMet: () => opens("/dev/loop-control"),
  },
  ...[
    { program: "unshare", from: "util-linux" },
    { program: "losetup", from: "mount" },
    { program: "ip", from: "iproute2" },
    { program: "mkfs.ext4", from: "e2fsprogs" },
  ].map(({ program, from }): Requirement => ({
    name: program,
    remedy: `apt-get install ${from}`,
    isMet: () => succeeds(program, "-V"),
  })),
];

/** What is missing, each with its remedy; nothing when a run can begin. */
export async function missingHere(): Promise<readonly string[]> {
  const missing: string[] = [];
  for (const { name, remedy, isMet } of REQUIREMENTS) {
    if (!await isMet()) missing.push(`${name} is missing: ${remedy}`);
  }
  return missing;
}

function opens(path: string): boolean {
  try {
    Deno.openSync(path, { read: true, write: true }).close();
    return true;
  } catch {
    return false;
  }
}
