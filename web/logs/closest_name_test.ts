import { strictEqual } from "node:assert/strict";
import { closestName } from "./closest_name.ts";

const NAMES = ["host", "source", "service.name", "http.status_code", "http.method", "user.id"];

const CASES: readonly (readonly [typed: string, meant: string | undefined])[] = [
  ["servicename", "service.name"],
  ["service_name", "service.name"],
  ["serivce.name", "service.name"],
  ["Host", "host"],
  ["hots", "host"],
  ["http.status", "http.status_code"],
  ["method", "http.method"],
  ["userid", "user.id"],
  ["zzz", undefined],
  ["temperature", undefined],
  ["...", undefined],
];

Deno.test({
  name: "closestName finds the name that was meant, and none for another word",
  fn() {
    for (const [typed, meant] of CASES) strictEqual(closestName(typed, NAMES), meant, typed);
  },
});
