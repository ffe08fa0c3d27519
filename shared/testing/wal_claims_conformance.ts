/**
 * What every `WalClaims` must do, together with the catalog whose commits it fences: cases for a
 * fresh catalog. A lease of 0 ms has run out as soon as it is given; one of an hour does not within
 * a test.
 */

import assert from "node:assert/strict";
import type { Catalog, CommitOutcome } from "../catalog/catalog.ts";
import type { ClaimGrant, WalClaims } from "../catalog/wal_claims.ts";
import type { LaneId } from "../tenant/tenant.ts";
import { segmentNames } from "./segment_names.ts";

export interface ClaimHandles {
  readonly claims: WalClaims;
  /** A second claimant on the same catalog. */
  readonly other: WalClaims;
  readonly catalog: Catalog;
}

export interface ClaimCase {
  readonly name: string;
  run(handles: ClaimHandles): Promise<void>;
}

const LANE: LaneId = { tenant: "acme", index: "web" };
const HOUR_MS = 3_600_000;
const RAN_OUT = 0;
const ATTEMPTS_MAX = 3;
/** What is left of an hour's claim when the clock is set back by nine. */
const TAKEN_AHEAD = 10 * HOUR_MS;

export const CLAIM_CASES: readonly ClaimCase[] = [
  {
    name: "a segment goes to one claimant at a time",
    async run({ claims, other }) {
      assert.deepEqual((await claim(claims, "a", ["s2", "s1"])).granted, ["s1", "s2"]);
      assert.deepEqual((await claim(other, "b", ["s1", "s2", "s3"])).granted, ["s3"]);
      assert.deepEqual((await claim(other, "c", [])).granted, []);
    },
  },
  {
    name: "claims that race share the segments without overlap",
    async run({ claims, other }) {
      for (let round = 0; round < 20; round += 1) {
        const names = Array.from({ length: 10 }, (_, at) => `r${round}-${at}`);
        const [one, two] = await Promise.all([
          claim(claims, `a${round}`, names),
          claim(other, `b${round}`, names.toReversed()),
        ]);
        assert.deepEqual([...one.granted, ...two.granted].sort(), names);
      }
    },
  },
  {
    name: "a lease that ran out is free, cannot be renewed, and its commit fails",
    async run({ claims, other, catalog }) {
      await claim(claims, "a", ["s1"], RAN_OUT);
      assert.deepEqual(await claims.renew("a", HOUR_MS), []);
      assert.equal(await commit(catalog, "m1", ["s1"], "a"), "claim_lost");
      assert.equal(await catalog.metadataLocation(EVENTS), undefined);
      assert.deepEqual((await claim(other, "b", ["s1"])).granted, ["s1"]);
      assert.equal(await commit(catalog, "m1", ["s1"], "a"), "claim_lost", "another holds it");
      assert.equal(await commit(catalog, "m1", ["s1"], "b"), "committed");
    },
  },
  {
    name:
      "a claim that was taken before the clock was set back is its holder's until another takes it",
    async run({ claims, other, catalog }) {
      await claim(claims, "a", ["s1", "s2"], TAKEN_AHEAD);
      assert.equal((await claims.states(["s1"])).get("s1")?.isHeld, false);
      assert.deepEqual((await claim(other, "b", ["s1"])).granted, ["s1"]);
      assert.equal(await commit(catalog, "m1", ["s1"], "a"), "claim_lost");
      assert.deepEqual(await claims.renew("a", HOUR_MS), ["s2"]);
      assert.equal((await claims.states(["s2"])).get("s2")?.isHeld, true);
      assert.equal(await commit(catalog, "m1", ["s2"], "a"), "committed");
    },
  },
  {
    name: "renew prolongs what is held",
    async run({ claims, other }) {
      await claim(claims, "a", ["s1", "s2"]);
      assert.deepEqual(await claims.renew("a", HOUR_MS), ["s1", "s2"]);
      assert.deepEqual(await claims.renew("a", RAN_OUT), ["s1", "s2"]);
      assert.deepEqual(await claims.renew("a", HOUR_MS), []);
      assert.deepEqual((await claim(other, "b", ["s1"])).granted, ["s1"]);
    },
  },
  {
    name: "a commit under a claim needs all of its segments, and ends it",
    async run({ claims, catalog }) {
      await claim(claims, "a", ["s1", "s2"]);
      assert.equal(await commit(catalog, "m1", ["s1", "s2", "s3"], "a"), "claim_lost");
      assert.deepEqual(await catalog.consumedOf(["s1", "s2", "s3"]), new Set());
      assert.equal(await commit(catalog, "m1", ["s1", "s2"], "a"), "committed");
      assert.deepEqual(await claims.renew("a", HOUR_MS), []);
      assert.deepEqual(await claims.states(["s1", "s2"]), new Map());
    },
  },
  {
    name: "a refused commit leaves the claim; a moved pointer and a consumed segment come first",
    async run({ claims, catalog }) {
      await commit(catalog, "m1", ["s0"]);
      await claim(claims, "a", ["s1"]);
      assert.equal(await commit(catalog, "m2", ["s1"], "a", "m0"), "conflict");
      assert.equal(await commit(catalog, "m2", ["s0", "s1"], "a", "m1"), "consumed");
      assert.deepEqual(await claims.renew("a", HOUR_MS), ["s1"]);
      assert.equal(await commit(catalog, "m2", ["s1"], "a", "m1"), "committed");
    },
  },
  {
    name: "a commit without a claim goes on under another's, which then finds the segment consumed",
    async run({ claims, catalog }) {
      await claim(claims, "a", ["s1", "s2"]);
      assert.equal(await commit(catalog, "m1", ["s1"]), "committed");
      assert.equal(await commit(catalog, "m2", ["s1", "s2"], "a", "m1"), "consumed");
      assert.deepEqual(await claims.release("a", { attemptsMax: ATTEMPTS_MAX }), []);
      assert.deepEqual((await claim(claims, "b", ["s1", "s2"])).granted, ["s2"]);
    },
  },
  {
    name: "release without a reason counts no attempt",
    async run({ claims, other }) {
      for (let round = 0; round < 2 * ATTEMPTS_MAX; round += 1) {
        assert.deepEqual((await claim(claims, `a${round}`, ["s1"])).granted, ["s1"]);
        assert.deepEqual(await other.release(`a${round}`, { attemptsMax: ATTEMPTS_MAX }), []);
      }
      assert.deepEqual(await claims.states(["s1"]), new Map());
    },
  },
  {
    name: "a segment whose attempts fail is quarantined with the last reason, until it is requeued",
    async run({ claims, other }) {
      for (let round = 1; round <= ATTEMPTS_MAX; round += 1) {
        await claim(claims, `a${round}`, ["s1"]);
        const reason = `out of memory ${round}`;
        const gone = await claims.release(`a${round}`, { reason, attemptsMax: ATTEMPTS_MAX });
        assert.deepEqual(gone, round === ATTEMPTS_MAX ? ["s1"] : []);
        const state = (await other.states(["s1"])).get("s1");
        assert.deepEqual(state, {
          attempts: round,
          isHeld: false,
          isQuarantined: round === ATTEMPTS_MAX,
        });
      }
      assert.deepEqual((await claim(other, "b", ["s1"])).granted, []);
      const { count, segments } = await other.quarantined(10);
      assert.equal(count, 1);
      const [{ quarantinedMs, ...listed }] = segments as [typeof segments[0] & object];
      assert.ok(Math.abs(quarantinedMs - Date.now()) < 600_000, "by the clock");
      assert.deepEqual(listed, {
        lane: "acme/web",
        segment: "s1",
        reason: `out of memory ${ATTEMPTS_MAX}`,
        attempts: ATTEMPTS_MAX,
      });
      assert.deepEqual(await claims.requeue(["s2"]), []);
      assert.deepEqual(await claims.requeue(["s1"]), ["s1"]);
      assert.deepEqual((await claim(other, "c", ["s1"])).granted, ["s1"]);
      assert.deepEqual(await claims.requeue(), [], "what is claimed is not quarantined");
    },
  },
  {
    name: "a segment whose leases run out too often is quarantined by the next claim",
    async run({ claims }) {
      for (let round = 1; round <= ATTEMPTS_MAX; round += 1) {
        assert.deepEqual((await claim(claims, `a${round}`, ["s1", "s2"], RAN_OUT)).granted, [
          "s1",
          "s2",
        ]);
      }
      const grant = await claim(claims, "b", ["s1", "s3"]);
      assert.deepEqual(grant, { granted: ["s3"], quarantined: ["s1"] });
      const { segments } = await claims.quarantined(1);
      assert.match(segments[0]?.reason ?? "", /^3 claims ended without a commit or a word/);
      assert.deepEqual(await claims.requeue(), ["s1"]);
    },
  },
  {
    name: "quarantine sets one segment of the claim aside",
    async run({ claims, catalog }) {
      await claim(claims, "a", ["s1", "s2"]);
      assert.equal(await claims.quarantine("b", "s1", "torn"), false);
      assert.equal(await claims.quarantine("a", "s1", "torn"), true);
      assert.equal(await claims.quarantine("a", "s1", "torn"), false);
      assert.equal(await commit(catalog, "m1", ["s1", "s2"], "a"), "claim_lost");
      assert.equal(await commit(catalog, "m1", ["s2"], "a"), "committed");
    },
  },
  {
    name: "discard records held segments as consumed, all or none",
    async run({ claims, catalog }) {
      await claim(claims, "a", ["s1", "s2"]);
      assert.equal(await claims.discard("a", ["s1", "s3"]), false);
      assert.equal(await claims.discard("b", ["s1"]), false);
      assert.deepEqual(await catalog.consumedOf(["s1", "s2", "s3"]), new Set());
      assert.equal(await claims.discard("a", ["s1", "s2"]), true);
      assert.deepEqual(await catalog.consumedOf(["s1", "s2", "s3"]), new Set(["s1", "s2"]));
      assert.deepEqual(await claims.states(["s1", "s2"]), new Map());
    },
  },
  {
    name: "what is consumed is not granted, also once it is folded, which forgets its claims",
    async run({ claims, catalog }) {
      const [one = "", two = "", three = ""] = segmentNames(3);
      await commit(catalog, "m1", [one]);
      assert.deepEqual((await claim(claims, "a", [one, two])).granted, [two]);
      await catalog.foldConsumed([one, two]);
      assert.deepEqual(await claims.states([one, two]), new Map());
      assert.deepEqual((await claim(claims, "b", [one, two, three])).granted, [three]);
    },
  },
  {
    name: "names and reasons are data",
    async run({ claims }) {
      const names = Array.from({ length: 1_000 }, (_, at) => `seg'"$1[${at}]`);
      assert.equal((await claim(claims, "o'brien", names)).granted.length, names.length);
      assert.equal(await claims.quarantine("o'brien", names[7] ?? "", 'it\'s "bad" $2'), true);
      assert.equal((await claims.quarantined(10)).segments[0]?.reason, 'it\'s "bad" $2');
    },
  },
];

const EVENTS = { namespace: "svc", name: "events" };

function claim(
  claims: WalClaims,
  token: string,
  segments: readonly string[],
  leaseMs = HOUR_MS,
): Promise<ClaimGrant> {
  const claimant = `claimant of ${token}`;
  return claims.claim({
    lane: LANE,
    claimant,
    token,
    segments,
    leaseMs,
    attemptsMax: ATTEMPTS_MAX,
  });
}

function commit(
  catalog: Catalog,
  next: string,
  consumed: readonly string[],
  claim?: string,
  expected?: string,
): Promise<CommitOutcome> {
  return catalog.commit({
    ident: EVENTS,
    expected,
    next,
    tableUuid: "uuid",
    snapshotId: 7n,
    consumed,
    ...(claim === undefined ? {} : { claim }),
  });
}
