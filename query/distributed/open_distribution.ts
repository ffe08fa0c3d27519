/** Builds what shares statements with other servers from the settings. */

import type { AuthMode } from "../../shared/auth/authenticator.ts";
import { tokenDigest } from "../../shared/auth/bearer_tokens.ts";
import { messageOf, OperatingError, UsageError } from "../../shared/base/errors.ts";
import { textOf } from "../../shared/base/bytes.ts";
import { VERSION } from "../../shared/base/version.ts";
import type { Settings } from "../../shared/config/options.ts";
import type { SpreadingEngine } from "../../shared/engine/shards/spread.ts";
import type { Engine } from "../../shared/engine/types.ts";
import type { Clock } from "../../shared/os/clock.ts";
import type { ReadableFiles } from "../../shared/os/file_system.ts";
import { resolveName } from "../../shared/os/resolve_name.ts";
import { SystemRandom, uuidV4 } from "../../shared/os/random.ts";
import type { Admission } from "../admission/admission.ts";
import type { QueryMetrics } from "../metrics/metrics.ts";
import { Distribution } from "./distribute.ts";
import type { DISTRIBUTED_OPTIONS } from "./distributed_flags.ts";
import { FanOutSlots } from "./fan_out_slots.ts";
import { PeerClient } from "./peer_client.ts";
import { peerNames } from "./peer_names.ts";
import type { PeerDesk } from "./peer_routes.ts";
import { PEER_STATES } from "./peer_state.ts";
import { Peers } from "./peers.ts";

export interface DistributionSettings extends Settings<typeof DISTRIBUTED_OPTIONS> {
  readonly tlsCert?: string | undefined;
}

interface DistributionParts {
  /** Ends the greetings. */
  readonly starting: AsyncDisposableStack;
  readonly engine: Engine & Partial<SpreadingEngine>;
  readonly admission: Admission;
  readonly metrics: QueryMetrics;
  readonly clock: Clock;
  readonly files: Pick<ReadableFiles, "readFile">;
  readonly auth: AuthMode;
}

/** Errors: `invalid_argument` for settings that do not go together, and for a file of no use. */
export async function openDistribution(
  settings: DistributionSettings,
  { starting, engine, admission, metrics, clock, files, auth }: DistributionParts,
): Promise<{ readonly distribution: Distribution; readonly desk: PeerDesk }> {
  const { coordinatorToken: token, distributeBytesMin: bytesMin } = settings;
  const hasPeers = settings.peers.length > 0 || settings.peersDns !== undefined;
  if (hasPeers && auth !== "open" && token === undefined) throw tokenMissing();
  const greeting = { instance_id: uuidV4(new SystemRandom()), version: VERSION };
  const ca = settings.peerTlsCa === undefined ? undefined : await pemOf(settings.peerTlsCa, files);
  const isTls = settings.tlsCert !== undefined;
  const client = starting.use(new PeerClient({ token, isTls, ca }));
  const peers = hasPeers
    ? starting.use(
      new Peers({
        ...{ client, clock, self: greeting, names: peerNames(settings) },
        resolve: resolveName,
      }),
    )
    : undefined;
  for (const state of PEER_STATES) {
    metrics.peers.readAtScrape(() => peers?.count(state) ?? 0, { state });
  }
  const distribution = new Distribution({
    ...{ engine, peers, client, admission, metrics, clock, bytesMin },
    slots: new FanOutSlots(),
    instanceId: greeting.instance_id,
  });
  const desk = {
    ...{ greeting, peers },
    tokenDigest: token === undefined ? undefined : tokenDigest(token),
    isOpen: hasPeers && auth === "open" && token === undefined,
  };
  return { distribution, desk };
}

function tokenMissing(): UsageError {
  return new UsageError(
    "Cannot share statements with --peers or --peers-dns where callers need a token: servers know each " +
      "other by --coordinator-token; give all of them the same one",
  );
}

async function pemOf(path: string, files: Pick<ReadableFiles, "readFile">): Promise<string> {
  try {
    return textOf(await files.readFile(path));
  } catch (cause) {
    throw new OperatingError(
      "invalid_argument",
      `Cannot read ${path} of --peer-tls-ca: ${messageOf(cause)}`,
      { cause },
    );
  }
}
