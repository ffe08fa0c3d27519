import assert from "node:assert/strict";
import { activeKey, parseMirrorKey, parseMirrorPrefix, segmentKey } from "./mirror_layout.ts";

const NAME = "1700000000000-0003-00112233445566ff.seg";
const LANE = { tenant: "acme", index: "web" };

Deno.test({
  name: "segmentKey and activeKey are read back by parseMirrorKey",
  fn() {
    const sealed = segmentKey("wal-mirror", LANE, NAME);
    assert.equal(sealed, `wal-mirror/acme/web/${NAME}`);
    assert.deepEqual(parseMirrorKey("wal-mirror", sealed), { lane: LANE, name: NAME });
    const active = activeKey("wal-mirror", LANE, NAME, 4096);
    assert.equal(active, `wal-mirror/_active/acme/web/${NAME}.000000004096`);
    assert.deepEqual(parseMirrorKey("wal-mirror", active), {
      lane: LANE,
      name: NAME,
      activeBytes: 4096,
    });
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
    for (const bad of ["/", "/wal", "a/../b", "..", "a//b", "a\\b"]) {
      assert.throws(
        () => parseMirrorPrefix(bad, { hasWarehouseUrl: true }),
        { code: "invalid_argument", reason: "bad_mirror_prefix" },
        bad,
      );
    }
  },
});
