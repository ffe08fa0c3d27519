import { doesNotThrow, equal, throws } from "node:assert/strict";
import { isOperatingError } from "../../shared/base/errors.ts";
import { checkAddresses } from "./check_addresses.ts";

function refusalOf(address: string): { code: string; message: string } {
  let refusal = { code: "", message: "" };
  throws(() => checkAddresses([{ address, option: "--query-bind" }]), (error) => {
    if (!isOperatingError(error)) return false;
    refusal = { code: error.code, message: error.message };
    return true;
  });
  return refusal;
}

Deno.test({
  name:
    "checkAddresses names the address and the option of a port in use, and leaves free ones free",
  fn: () => {
    const taken = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const address = `127.0.0.1:${taken.addr.port}`;
    const { code, message } = refusalOf(address);
    equal(code, "unavailable");
    equal(message.includes(address) && /in use.*--query-bind$/.test(message), true, message);

    taken.close();
    const wanted = [{ address, option: "--query-bind" }];
    for (let times = 0; times < 2; times += 1) doesNotThrow(() => checkAddresses(wanted));
  },
});

Deno.test({
  name: "checkAddresses refuses two listeners at one address",
  fn: () => {
    const free = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const address = `127.0.0.1:${free.addr.port}`;
    free.close();
    throws(
      () =>
        checkAddresses([
          { address, option: "--ingest-bind" },
          { address, option: "--query-bind" },
        ]),
      /in use.*--query-bind$/,
    );
  },
});

Deno.test({
  name: "checkAddresses refuses what is no address, with the text and the option",
  fn: () => {
    for (const address of ["127.0.0.1:99999", "foo"]) {
      const { code, message } = refusalOf(address);
      equal(code, "invalid_argument");
      equal(message.includes(`"${address}" as --query-bind`), true, message);
    }
  },
});
