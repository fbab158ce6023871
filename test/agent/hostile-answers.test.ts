import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, type HookContext, tool } from "crochet";
import { scripted } from "crochet/testing";
import { EVENTS } from "../../lib/core/events.ts";
import { scratch } from "../_scratch.ts";

const TRAPS = ["get", "has", "ownKeys", "getPrototypeOf", "getOwnPropertyDescriptor"];

/** A proxy that throws at one way of looking at it, or at all of them. */
function trapped(traps: readonly string[] = TRAPS): object {
  const handlers = traps.map((trap) => [trap, () => {
    throw new Error(`Cannot ${trap}`);
  }]);
  return new Proxy({ action: "modify", value: "x" }, Object.fromEntries(handlers));
}

const ANSWERS: { readonly [name: string]: (ctx: HookContext) => unknown } = {
  ...Object.fromEntries(TRAPS.map((trap) => [trap, () => trapped([trap])])),
  "all of it": () => trapped(),
  "in a promise": async () => trapped(),
  thrown: () => {
    throw trapped();
  },
  rejected: () => Promise.reject(trapped()),
  "as its value": () => ({ action: "modify", value: trapped() }),
  "as its reason": () => ({ action: "deny", reason: trapped() }),
  "as a context": (ctx) => ctx.addContext(trapped() as never),
  "as the reason of an abort": (ctx) => ctx.abort(trapped() as never),
  "a then that throws": () => ({
    get then() {
      throw new Error("Cannot then");
    },
  }),
};

test("a hook that answers with a proxy that throws never makes run() reject, whatever the event", async () => {
  const boom = tool({
    name: "Boom",
    description: "",
    input: { type: "object" },
    run: () => {
      throw new Error("boom");
    },
  });
  // Empty, as what listens to memory-update has every folder of the project looked at.
  using folder = scratch();
  for (const [name, answer] of Object.entries(ANSWERS)) {
    for (const event of Object.keys(EVENTS)) {
      const helper = agent({
        model: scripted([{ tools: [{ name: "Boom", input: {} }] }], { then: { text: "done" } }),
        tools: [boom],
        cwd: folder.path,
        hooks: { name: "hostile", onEvent: (e, ctx) => e.event === event ? answer(ctx) : undefined },
      });
      const { stop } = await helper.run("go").catch((error) => ({ stop: `rejected: ${error}` }));
      assert.match(stop, /^(done|error|denied)$/, `${name} on ${event}`);
    }
  }
});
