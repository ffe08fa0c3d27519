import assert from "node:assert/strict";
import { decodePosition, encodePosition, type FollowPosition } from "./follow_position.ts";

const SEGMENT = "1795132800000-0000-0123456789000001.seg";

Deno.test({
  name: "decodePosition reads what encodePosition wrote, and nothing else",
  fn() {
    const positions: FollowPosition[] = [
      {
        ...{ table: "events", uuid: "", snapshotId: undefined },
        lane: { segment: "", rows: 0, isDone: true },
      },
      {
        ...{ table: "größe", uuid: "u", snapshotId: -9_223_372_036_854_775_808n },
        lane: { segment: SEGMENT, rows: 12_345, isDone: false },
      },
    ];
    for (const position of positions) {
      const text = encodePosition(position);
      assert.match(text, /^t1\.[\w-]+$/);
      assert.deepEqual(decodePosition(text, position.table), position);
    }
    const list = (...members: unknown[]) => {
      const bytes = new TextEncoder().encode(JSON.stringify(members));
      return `t1.${bytes.toBase64({ alphabet: "base64url", omitPadding: true })}`;
    };
    const texts = [
      ...["", "t1.", "t2.W10", "t1.!!!", "x".repeat(2_000)],
      list("events", "", null, "", 0),
      list("traces", "", null, "", 0, true),
      list("events", "", 7, "", 0, true),
      list("events", "", "7x", "", 0, true),
      list("events", "", null, "../../etc/passwd", 0, true),
      list("events", "", null, SEGMENT, -1, true),
      list("events", "", null, SEGMENT, 0.5, true),
      list("events", "", null, SEGMENT, 0, 1),
    ];
    for (const text of texts) {
      assert.throws(() => decodePosition(text, "events"), { reason: "bad_position" }, text);
    }
  },
});
