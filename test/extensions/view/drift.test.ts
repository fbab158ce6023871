import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { cpSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import replay from "../../../lib/cli/replay.ts";
import view from "../../../lib/extensions/view/command.ts";
import { agentScript, HOOK } from "../../cli/_recorded.ts";
import { place } from "../../_place.ts";
import { record, SYSTEM, TEA } from "../../_record.ts";

const RULES = Array.from({ length: 20 }, (_, i) => `Rule ${i}.`).join("\n");
const prompt = (tone: string) => `${RULES}\n${tone}\n${SYSTEM}`;

/** A project with a fixture, and the agent as it is now. */
async function project(now: string, recorded = prompt("Be strict.")) {
  const here = place({ ...TEA, "agent.ts": agentScript(recorded), "hooks/stop.ts": HOOK });
  await record(here.cwd, { with: { system: recorded } });
  here.put({ "agent.ts": agentScript(now) });
  return here;
}

interface Shown {
  readonly rows: readonly { readonly name: string }[];
  readonly sections: readonly (readonly { readonly text: string }[])[];
}

/** What a page has of its sides, and its pairs. */
function drawn(path: string) {
  const html = readFileSync(path, "utf8");
  const part = (id: string) => JSON.parse(new RegExp(`id="${id}">(.*?)</script>`).exec(html)![1]!);
  const pairs = part("pairs") as { a: number; b: number; same: boolean }[];
  return { html, pairs, sides: [part("view-0"), part("view-1")] as [Shown, Shown] };
}

test("a drift is drawn as two requests, of which what differs stands side by side, by the same trust as a replay", async () => {
  const key = `sk-ant-api03-${createHash("sha512").update("x").digest("base64url")}`;
  using here = await project(prompt(`Be kind, by ${key}.`));
  const refused = await here.call(view, "fix-the-typo", "--drift");
  assert.deepEqual([refused.code, refused.out], [2, ""]);
  assert.match(refused.err, /fixtures\/fix-the-typo is not trusted: .*'crochet trust', or add --trust for this call/);
  const { code, out, err } = await here.call(view, "fix-the-typo", "--drift", "--trust");
  assert.equal(code, 0, err);
  const { html, pairs, sides: [a, b] } = drawn(out.trim());
  assert.deepEqual(a.rows.map(({ name }) => name), [
    "parameters",
    "system",
    "tool Read",
    "tool Edit",
    "tool Bash",
    "user",
  ]);
  const differing = pairs.filter(({ same }) => !same);
  assert.deepEqual(differing, [{ a: 1, b: 1, same: false }]);
  const same = "… 17 lines that are the same\nRule 17.\nRule 18.\nRule 19.\n";
  assert.equal(a.sections[1]![0]!.text, `${same}Be strict.\n${SYSTEM}`);
  assert.match(b.sections[1]![0]!.text.replace(same, ""), /^Be kind, by (?!sk-ant).*\nYou fix typos\./);
  assert.ok(!html.includes(key), "no secret is on the page");
  assert.match(html, /class="note">prompt: system is not what was recorded \(at main#1\)</);
  assert.doesNotMatch(html, /id="differences"/);
});

test("a replay names the command that draws a drift, once, and not of another replay than that draws", async () => {
  using here = await project(prompt("Be kind."));
  cpSync(join(here.cwd, "fixtures/fix-the-typo"), join(here.cwd, "fixtures/other"), { recursive: true });
  const named = async (...args: string[]) =>
    (await here.call(replay, "--trust", ...args)).out.match(/to see both requests: .*/g) ?? [];
  assert.deepEqual(await named(), ["to see both requests: crochet view fix-the-typo --drift"]);
  assert.deepEqual(await named("other"), ["to see both requests: crochet view other --drift"]);
  assert.deepEqual(await named("--wire"), []);
});

test("a drift is refused where there is none, and where it is not one", async () => {
  using here = await project(prompt("Be strict."));
  for (
    const [args, says] of [
      [["fix-the-typo", "--trust"], "Cannot draw a drift of fix-the-typo as it replays as it was recorded"],
      [["fix-the-tpo"], "did you mean 'fix-the-typo'?"],
      [["last"], "Cannot replay the last run as there is none here"],
      [["fix-the-typo", "--diff"], "Cannot use --diff with --drift"],
    ] as const
  ) {
    const { code, out, err } = await here.call(view, ...args, "--drift");
    assert.deepEqual([code, out], [2, ""], args.join(" "));
    assert.ok(err.includes(says), err);
  }
});
