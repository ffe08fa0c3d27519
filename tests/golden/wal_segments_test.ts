/**
 * WAL segments of each version, as the release that wrote them left them: a changed format still
 * reads these. Each holds a frame of 3 rows and a longer one. Row i is i seconds after the first,
 * and every other `note` is null. The second frame has an idempotency key from version 2 on. From
 * version 3 on `host` is one row of a frame, `timestamp` none. In version 4 the second frame is
 * packed.
 */

import assert from "node:assert/strict";
import { fileURLToPath } from "node:url";
import { decodeBatch, decodeSchemaMessage } from "../../shared/columns/ipc.ts";
import { type RowObject, rowsOf } from "../../shared/columns/rows.ts";
import { DenoFileSystem } from "../../shared/os/deno_file_system.ts";
import { openWalReader } from "../../shared/wal/reader.ts";

const ROOT = fileURLToPath(new URL("./wal", import.meta.url));
const LANE = { tenant: "default", index: "events" };
const FIRST_NS = 1_795_208_645_000_000_007n;

function expectedRow(i: number): RowObject {
  const ns = FIRST_NS + BigInt(i) * 1_000_000_000n;
  const note = i % 2 === 0 ? `note ${i}` : null;
  return { timestamp: ns / 1_000n, timestamp_ns: ns, host: "web-1", note };
}

const SECOND_FRAME_ROWS = { 1: 10, 2: 10, 3: 10, 4: 2_000 };

for (const [version, secondRows] of Object.entries(SECOND_FRAME_ROWS)) {
  const name = `1795208645000-000${version}-0123456789abcdef.seg`;
  Deno.test({
    name: `openWalReader reads a segment of version ${version}`,
    async fn() {
      const path = `${ROOT}/${LANE.tenant}/${LANE.index}/sealed/${name}`;
      assert.equal(new DataView((await Deno.readFile(path)).buffer).getUint16(4, true), Number(version));
      await using segment = await openWalReader(new DenoFileSystem(), ROOT).open(LANE, name);
      const columns = decodeSchemaMessage(segment.schemaMessage);
      const rows: RowObject[] = [];
      const frameRows: number[] = [];
      for await (const frame of segment.frames()) {
        assert.equal(frame.timestampNsMin, expectedRow(rows.length).timestamp_ns);
        rows.push(...rowsOf(decodeBatch(frame.message, { columns, tags: [] })));
        assert.equal(frame.timestampNsMax, expectedRow(rows.length - 1).timestamp_ns);
        frameRows.push(frame.rows);
      }
      assert.deepEqual(frameRows, [3, secondRows]);
      assert.deepEqual(rows, Array.from({ length: 3 + secondRows }, (_, i) => expectedRow(i)));
    },
  });
}
