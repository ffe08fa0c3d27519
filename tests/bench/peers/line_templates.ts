/**
 * Made-up log lines in the manner of eight systems, for machines without a folder of real ones. A
 * place in braces is filled from the number of the line: `{ip}`, `{port}` of five digits, `{n}`,
 * `{hex}`, `{host}`, `{user}`, `{uuid}` and `{clock}`.
 */

export const LINE_TEMPLATES: Readonly<Record<string, readonly string[]>> = {
  webserver: [
    "[{clock}] [notice] worker {n} joined the pool, slot {n} of 256, config /srv/web/conf/site.conf",
    "[{clock}] [error] upstream {host}:{port} closed the connection while reading {n} bytes",
    "[{clock}] [warn] client {ip} sent a request line of {n} bytes; the limit is 8190",
    "[{clock}] [error] directory index of /srv/web/static/{hex} is not allowed for client {ip}",
  ],
  supercomputer: [
    "- {n} R{n}-M1-N{n} {clock} RAS KERNEL INFO {n} single bit errors corrected in bank {hex}",
    "- {n} R{n}-M0-N{n} {clock} RAS KERNEL FATAL tree receiver {n} lost its packet, state 0x{hex}",
    "- {n} R{n}-M1-L{n} {clock} RAS APP ERROR ciod could not open {user}/run/job.{hex}: no such file",
    "- {n} R{n}-M0-N{n} {clock} NULL DISCOVERY WARNING node card {uuid} answers after {n} ms",
  ],
  blockstore: [
    "{clock} {n} INFO store.BlockReceiver: receiving blk_{hex}{hex} from {ip}:{port} to {ip}:50010",
    "{clock} {n} INFO store.Responder: responder {n} of blk_{hex}{hex} is done",
    "{clock} {n} WARN store.DataServer: {ip}:50010 failed to serve blk_{hex}{hex} to {ip}",
    "{clock} {n} INFO store.NameTable: added {ip}:50010 to blk_{hex}{hex}, size 67108864, replicas {n}",
  ],
  batchjobs: [
    "{clock} INFO [scheduler-{n}] jobs.allocator.ContainerAllocator: headroom=<memory:{n}, cores:{n}>, pending {n}",
    "{clock} INFO [handler {n} on {port}] jobs.tracker.Attempts: progress of attempt_{hex}_m_{n} is 0.{n}",
    "{clock} WARN [renewer:{user}@{host}] jobs.files.LeaseRenewer: lease of client_{hex} is {n} seconds late",
    "{clock} ERROR [committer] jobs.tracker.Tasks: task_{hex}_r_{n} failed on {host}: {n} fetch failures of map output",
  ],
  hostsystem: [
    "{clock} {host} sshd(pam_unix)[{n}]: authentication failure; logname= uid=0 euid=0 tty=ssh ruser= rhost={ip} user={user}",
    "{clock} {host} ftpd[{n}]: connection from {ip} ({host}) closed after {n} seconds",
    "{clock} {host} kernel: eth{n}: link is up at 1000 Mbit/s, full duplex, flow control {hex}",
    "{clock} {host} su(pam_unix)[{n}]: session opened for user {user} by (uid={n})",
  ],
  remoteshell: [
    "{clock} {host} sshd[{n}]: Failed password for invalid user {user} from {ip} port {port} ssh2",
    "{clock} {host} sshd[{n}]: Received disconnect from {ip}: 11: Bye Bye [preauth]",
    "{clock} {host} sshd[{n}]: pam_unix(sshd:auth): authentication failure; logname= uid=0 tty=ssh rhost={ip}",
    "{clock} {host} sshd[{n}]: Accepted publickey for {user} from {ip} port {port} ssh2: ED25519 {hex}",
  ],
  cloudcontrol: [
    '{clock} {n} INFO compute.api.server [req-{uuid} {hex}{hex} - - -] {ip} "GET /v2/{hex}/servers/detail HTTP/1.1" status: 200 len: {n} time: 0.{n}',
    "{clock} {n} INFO compute.virt.driver [req-{uuid} {hex}{hex} - - -] [instance: {uuid}] instance spawned in {n} ms on {host}",
    "{clock} {n} WARNING compute.image.cache [req-{uuid}] unknown base file /var/lib/compute/_base/{hex}{hex}{hex}",
    "{clock} {n} INFO compute.claims [req-{uuid}] [instance: {uuid}] total memory: {n} MB, used: {n} MB, limit unlimited",
  ],
  dataflow: [
    "{clock} INFO storage.BlockManager: found block part_{n}_{n} on this executor, {n} bytes",
    "{clock} INFO executor.Backend: got assigned task {n} of stage {n} by {host}",
    "{clock} ERROR shuffle.Fetcher: could not fetch {n} blocks of shuffle {n} from {host}:{port}, retry {n}",
    "{clock} INFO memory.Store: block broadcast_{n} stored as bytes, {n} KiB of {n} MiB free",
  ],
};
