import assert from "node:assert/strict";
import { test } from "node:test";
import { PROPERTIES } from "../../../lib/extensions/attack/properties.ts";
import { noSandbox } from "../../_needs.ts";
import { attackIn, DENY_ALL, guarded, guardOfData, NO_ENV } from "./_guarded.ts";

const skip = noSandbox;
/** Each built-in property with an argument. */
const WORDS = PROPERTIES.map((word) =>
  word.replace("<glob>", word.startsWith("removes") ? "src/**" : ".env").replace("<program>", "curl").replace(
    "<n>",
    "5",
  )
);

// Kills: a property that no effect breaks, an effect that only a rewriting has, an unguarded agent that is guarded.
test(
  "an agent without guards always breaks every built-in property, one that denies everything never",
  { skip },
  async () => {
    using here = guarded();
    const all = WORDS.flatMap((word) => ["--never", word]);
    const open = await attackIn(here, ...all, "--seed", "7", "--seconds", "60", "--json");
    assert.equal(open.code, 1, open.out + open.err);
    const { items } = JSON.parse(open.out);
    const plainly = items.map(({ name, word, findings }: any) => [name, word, findings[0].kind.length]);
    assert.deepEqual(plainly, WORDS.map((word) => [word, "broken", 1]));
    here.put({ "hooks/pre-tool-use.no.ts": DENY_ALL });
    const shut = await attackIn(
      here,
      ...all.filter((word) => !word.startsWith("model")),
      "--seed",
      "7",
      "--runs",
      "60",
    );
    assert.doesNotMatch(shut.out, /✗/);
  },
);

/** What the guards of test/data are known to be; the tries are bounds, as operations may be added. */
for (
  const [name, most] of [["rm-rf-regex", 20], ["protect-env", 150], ["no-push-main", 20], ["sound-exact-lines", 0], [
    "sound-read-only",
    0,
  ], ["sound-realpath", 0]] as const
) {
  test(`the guard ${name} is ${most > 0 ? "broken by one call" : "not broken"}`, { skip }, async () => {
    const { here, never, sound } = guardOfData(name);
    using _ = here;
    const limits = sound ? ["--runs", "600"] : [];
    const { code, out, err } = await attackIn(here, "--never", never, "--seed", "7", "--json", ...limits);
    assert.equal(err, "");
    const { items: [{ word, findings, tries }] } = JSON.parse(out);
    assert.deepEqual([code, word], sound ? [0, "held"] : [1, "broken"], out);
    if (sound) return;
    assert.deepEqual(findings.map(({ calls }: any) => calls.length), [1]);
    assert.ok(tries <= most, `${tries} tries`);
  });
}

test("--all finds one of each kind, and --accept leaves out what is known", { skip }, async () => {
  using here = guarded({ "pre-tool-use.env.ts": NO_ENV });
  const limits = ["--runs", "90", "--seed", "7", "--json"];
  const all = JSON.parse((await attackIn(here, "--never", "changes:.env", "--all", ...limits)).out).items[0];
  const kinds = all.findings.map(({ kind }: { kind: string[] }) => kind.join());
  assert.ok(kinds.length > 1 && new Set(kinds).size === kinds.length, kinds.join("; "));
  assert.equal(all.kept[1], "fixtures/attack-changes-env-2");
});
