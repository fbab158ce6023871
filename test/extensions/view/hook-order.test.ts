import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import hooks from "../../../lib/cli/hooks.ts";
import trust from "../../../lib/cli/trust.ts";
import { askedFirst, fire, listeners } from "../../../lib/core/dispatch.ts";
import { hookOn } from "../../../lib/core/hook.ts";
import { env, STOP } from "../../core/_fired.ts";
import { place } from "../../_place.ts";

const NOTHING = `export default () => undefined;\n`;

/** The hooks of each event of a page, in the order in which they stand. */
function drawn(html: string): Record<string, string[]> {
  const rows = [...html.matchAll(/<h2>([^<]+)<\/h2>\s*<ol class="order">(.*?)<\/ol>/g)];
  return Object.fromEntries(
    rows.map(([, event, list]) => [event, [...list!.matchAll(/<strong>([^<]*)</g)].map(([, name]) => name!)]),
  );
}

test("hooks ls --out draws for each event which hook is asked first, and the table has the same order", async () => {
  using here = place({
    "hooks/10-stop.watch.ts": `export const config = { mode: "observe" };\n${NOTHING}`,
    "hooks/stop.b.ts": NOTHING,
    "hooks/20-stop.a.ts": NOTHING,
    ".claude/settings.json":
      `{ "hooks": { "PreToolUse": [{ "matcher": "<b>", "hooks": [{ "type": "command", "command": "true" }] }] } }`,
    "hooks/subagent-stop.c.ts": NOTHING,
    "hooks/stp.sh": "",
  });
  await here.call(trust);
  const { code, out, err } = await here.call(hooks, "ls", "--out", "order.html", "--json");
  assert.deepEqual([code, err], [1, ""], "a file has no event: it is reported, and drawn nowhere");
  const html = readFileSync(join(here.cwd, "order.html"), "utf8");
  assert.deepEqual(drawn(html), {
    "pre-tool-use": [".claude/settings.json#0"],
    stop: ["20-stop.a.ts", "stop.b.ts", "subagent-stop.c.ts", "10-stop.watch.ts"],
  });
  assert.match(html, /#0<\/strong><p>&#60;b&#62; · command · priority 100 · \.claude\/settings\.json</);
  assert.match(html, /<li class="aside"><strong>10-stop\.watch\.ts/);
  assert.match(html, /subagent-stop\.c\.ts<\/strong><p>subagent-stop · module · priority 100 · hooks</);
  const told = await here.call(hooks, "ls", "--out", "order.html");
  assert.ok(told.out.endsWith(`\n\n${join(here.cwd, "order.html")}\n`), "as view prints it, on the same stream");
  const { hooks: rows } = JSON.parse(out) as { hooks: { name: string; events: string[] }[] };
  const atStop = rows.filter(({ events }) => events.some((event) => event.endsWith("stop")));
  assert.deepEqual(atStop.map(({ name }) => name), drawn(html).stop);
});

test("a hook is always asked where the order of all hooks has it", async () => {
  const asked: string[] = [];
  const made = (["async", "observe", "gate"] as const).flatMap((mode) =>
    [200, 5, 100, 100].map((priority, i) => {
      const name = `${mode} ${priority} ${i}`;
      return hookOn("stop", () => void asked.push(name), { name, mode, priority });
    })
  );
  await fire(made, STOP, env());
  const order = made.toSorted(askedFirst).map(({ name }) => name);
  assert.deepEqual(listeners(made, "stop").map(({ name }) => name), order);
  assert.deepEqual(asked, order);
});
