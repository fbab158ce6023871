import assert from "node:assert/strict";
import { test } from "node:test";
import { stateDir } from "../../lib/files/state-dir.ts";

test("stateDir() is CROCHET_HOME relative to the project, or the project's own folder if that is not set", () => {
  assert.equal(stateDir("/p", {}), "/p/.crochet");
  assert.equal(stateDir("/p", { CROCHET_HOME: "" }), "/p/.crochet");
  assert.equal(stateDir("/p", { CROCHET_HOME: "state" }), "/p/state");
  assert.equal(stateDir("/p", { CROCHET_HOME: "/var/state" }), "/var/state");
});
