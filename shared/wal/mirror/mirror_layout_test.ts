import assert from "node:assert/strict";
import { tenantNameFault } from "../../auth/tenant_claim.ts";
import {
  activeKey,
  MIRROR_PREFIX_DEFAULT,
  mirrorFolderOf,
  type MirrorObject,
  packedActiveKey,
  packedSegmentKey,
  parseMirrorKey,
  parseMirrorPrefix,
  segmentKey,
} from "./mirror_layout.ts";

const NAME = "1700000000000-0003-00112233445566ff.seg";
const LANE = { tenant: "acme", index: "web" };

Deno.test({
  name:
    "keys of segments, packed and as they are, sealed and active, are read back by parseMirrorKey",
  fn() {
    const bytes = 4096;
    const cases: [key: string, expected: string, rest: Omit<MirrorObject, "lane" | "name">][] = [
      [
        segmentKey("wal-mirror", LANE, NAME),
        `wal-mirror/acme/web/${NAME}`,
        { isActive: false, isPacked: false, bytes: undefined, messageBytes: undefined },
      ],
      [
        packedSegmentKey("wal-mirror", LANE, NAME, { bytes, messageBytes: 70_000 }),
        `wal-mirror/acme/web/${NAME}.000000004096.000000070000.zst`,
        { isActive: false, isPacked: true, bytes, messageBytes: 70_000 },
      ],
      [
        `wal-mirror/acme/web/${NAME}.000000004096.zst`,
        `wal-mirror/acme/web/${NAME}.000000004096.zst`,
        { isActive: false, isPacked: true, bytes, messageBytes: undefined },
      ],
      [
        activeKey("wal-mirror", LANE, NAME, bytes),
        `wal-mirror/_active/acme/web/${NAME}.000000004096`,
        { isActive: true, isPacked: false, bytes, messageBytes: undefined },
      ],
      [
        packedActiveKey("wal-mirror", LANE, NAME, bytes),
        `wal-mirror/_active/acme/web/${NAME}.000000004096.zst`,
        { isActive: true, isPacked: true, bytes, messageBytes: undefined },
      ],
    ];
    for (const [key, expected, rest] of cases) {
      assert.equal(key, expected);
      assert.deepEqual(parseMirrorKey("wal-mirror", key), { lane: LANE, name: NAME, ...rest });
    }
  },
});

Deno.test({
  name: "parseMirrorKey takes no key of anything else",
  fn() {
    const foreign = [
      `wal-mirror2/acme/web/${NAME}`,
      `acme/web/${NAME}`,
      `wal-mirror/acme/${NAME}`,
      `wal-mirror/acme/web/more/${NAME}`,
      `wal-mirror/_active/web/${NAME}`,
      `wal-mirror/_active/acme/web/${NAME}`,
      `wal-mirror/_active/acme/web/${NAME}.zst`,
      `wal-mirror/acme/web/${NAME}.zst`,
      `wal-mirror/acme/web/${NAME}.000000004096`,
      `wal-mirror/acme/web/${NAME}.000000004096.000000070000`,
      `wal-mirror/_active/acme/web/${NAME}.000000004096.000000070000.zst`,
      `wal-mirror/acme/web/${NAME}.4096.zst`,
      `wal-mirror/_active/_active/web/${NAME}.000000000008`,
      `wal-mirror/../web/${NAME}`,
      "wal-mirror/acme/web/other.seg",
      `wal-mirror/acme/web/${NAME}.tmp`,
    ];
    for (const key of foreign) assert.equal(parseMirrorKey("wal-mirror", key), undefined, key);
  },
});

Deno.test({
  name: "parseMirrorPrefix default and refusals",
  fn() {
    const cases: [string | undefined, boolean, string][] = [
      [undefined, true, "wal-mirror"],
      [undefined, false, ""],
      ["", true, ""],
      ["copies/of/wal/", false, "copies/of/wal"],
    ];
    for (const [text, hasWarehouseUrl, expected] of cases) {
      assert.equal(parseMirrorPrefix(text, { hasWarehouseUrl }), expected);
    }
    assert.notEqual(tenantNameFault(mirrorFolderOf(MIRROR_PREFIX_DEFAULT) ?? ""), undefined);
    assert.deepEqual(["", "default/wal", "copies/of/wal"].map(mirrorFolderOf), [
      undefined,
      undefined,
      "copies",
    ]);
    for (const bad of ["/", "/wal", "svc", "svc/wal/", "a/../b", "..", "a//b", "a\\b"]) {
      assert.throws(
        () => parseMirrorPrefix(bad, { hasWarehouseUrl: true }),
        { code: "invalid_argument", reason: "bad_mirror_prefix" },
        bad,
      );
    }
  },
});
