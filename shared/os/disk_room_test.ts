import assert from "node:assert/strict";
import { diskRoom } from "./disk_room.ts";

Deno.test("diskRoom tells of the file system of a folder, and nothing of a folder that is not there", async () => {
  const room = await diskRoom(Deno.cwd());
  assert.ok(room !== undefined && room.freeBytes > 0 && room.bytes > room.freeBytes);
  assert.equal(await diskRoom(`${Deno.cwd()}/no/such/folder`), undefined);
});

Deno.test({
  name: "diskRoom tells nothing without its permission",
  permissions: { sys: false, read: true },
  async fn() {
    assert.equal(await diskRoom(Deno.cwd()), undefined);
  },
});
