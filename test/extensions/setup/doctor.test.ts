import assert from "node:assert/strict";
import { appendFileSync, existsSync, readFileSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { absoluteLine } from "../../../lib/hooks/install-line.ts";
import { type Place, place } from "../../_place.ts";
import { put } from "../../_scratch.ts";
import { recorded } from "../../cli/_recorded.ts";

type Check = { about: string; state: string; words: string; fix?: string };

/** What doctor says of a place, as data. */
async function doctor(here: Place, ...args: string[]) {
  const { code, out, err } = await here.main(["doctor", "--json", ...args]);
  assert.equal(err, "");
  const { ok, checks } = JSON.parse(out) as { ok: boolean; checks: Check[] };
  assert.equal(ok, code === 0);
  return { code, broken: checks.filter(({ state }) => state === "broken"), checks };
}

test("doctor says whether there is a key, and never the key", async () => {
  using here = place();
  const env = { ANTHROPIC_API_KEY: "sk-very-secret", ANTHROPIC_BASE_URL: "http://me:hush@127.0.0.1:1/x" };
  const { out, err, code } = await here.main(["doctor"], env);
  assert.equal(code, 0);
  assert.match(out, /^✓ key\s+ANTHROPIC_API_KEY is set, for 127\.0\.0\.1:1$/m);
  assert.doesNotMatch(out + err, /secret|hush/);
  assert.match((await here.main(["doctor"])).out, /^! key\s+ANTHROPIC_API_KEY is not set/m);
  using withEnv = place({ ".env": "EDITOR=vi\n" });
  assert.match((await withEnv.main(["doctor"])).out, /a \.env of a directory is not read/);
});

test("doctor names the entry that breaks the settings of another host, and how to fix it", async () => {
  using here = place({
    ".claude/settings.json": '{\n  "hooks": {\n    "Stop": [,]\n  }\n}\n',
    ".claude/settings.local.json": JSON.stringify({
      hooks: {
        PreToolUze: [{ hooks: [{ type: "command", command: "true" }] }],
        Stop: [{ hooks: [{ type: "command" }] }],
      },
    }),
    ".gemini/settings.json": JSON.stringify({ hooks: { BeforeTool: [{ matcher: "x" }] } }),
    "hooks/stop.ts": "export default () => undefined;\n",
  });
  const gone = absoluteLine(join(here.cwd, "hooks/gone.ts"), "codex");
  const there = absoluteLine(join(here.cwd, "hooks/stop.ts"), "codex");
  const entries = [{ hooks: [{ type: "command", command: there }, { type: "command", command: gone }] }];
  here.put({ ".codex/hooks.json": JSON.stringify({ hooks: { Stop: entries } }) });
  put(here.home, { ".claude/settings.json": "{ not json" });
  const { code, checks } = await doctor(here);
  assert.equal(code, 1);
  const said = (about: string) =>
    checks.filter((check) => check.about === about).map(({ words, fix }) => `${words}: ${fix}`).join("\n");
  assert.match(said(".claude/settings.json"), /line 3, column 14.*: fix the JSON/);
  assert.match(said("~/.claude/settings.json"), /line 1.*: fix the JSON/);
  assert.match(said(".claude/settings.local.json"), /PreToolUze[^]*PreToolUse/);
  assert.match(said(".claude/settings.local.json"), /hooks\.Stop\[0\]\.hooks\[0\][^]*command/);
  assert.match(said(".gemini/settings.json"), /hooks\.BeforeTool\[0\] has no list of hooks/);
  assert.match(
    said(".codex/hooks.json"),
    /^hooks\.Stop\[0\]\.hooks\[1\] starts .*gone\.ts, which is gone: crochet hooks install --for codex/,
  );
});

test("doctor finds hooks that do not load, bad project settings, and tapes that are torn", async () => {
  using here = place();
  await recorded(here);
  here.put({ "hooks/pre-tool-uze.ts": "export default () => undefined;\n" });
  here.put({ ".crochet/config.yaml": "modle: x\n" });
  here.put({ "fixtures/torn/tape.jsonl": '{"tape":99}\n' });
  await here.main(["trust"]);
  const { code, broken } = await doctor(here);
  assert.equal(code, 1);
  const all = broken.map(({ about, words, fix }) => `${about}: ${words}: ${fix}`).join("\n");
  assert.match(all, /hooks: .*pre-tool-uze\.ts.*pre-tool-use/);
  assert.match(all, /config: .*there is no setting 'modle': did you mean 'model'/);
  assert.match(all, /fixtures: torn: /);
});

test("doctor runs nothing of an untrusted project", async () => {
  using here = place();
  await recorded(here);
  appendFileSync(join(here.cwd, "agent.ts"), `import("node:fs").then((fs) => fs.writeFileSync("ran", ""));\n`);
  await here.main(["trust", "--revoke"]);
  const { code, checks } = await doctor(here);
  assert.equal(code, 0);
  assert.ok(checks.some(({ about, state }) => about === "trust" && state === "warning"));
  assert.ok(!existsSync(join(here.cwd, "ran")));
});

test("doctor sees a runtime and the interpreter of a hook that are missing", async () => {
  using here = place({ "hooks/stop.sh": "#!/usr/bin/env -S no-such-shell -x\n", "hooks/stop.b.sh": "#!/bin/sh\n" });
  await here.main(["trust"]);
  const { broken, checks } = await doctor(here);
  assert.deepEqual(broken.map(({ words }) => words), ["stop.sh needs no-such-shell, which is not installed"]);
  assert.equal(checks.find(({ about }) => about === "runtime")!.state, "ok");
  const { out } = await here.main(["doctor"], { PATH: here.cwd });
  assert.match(out, /^! runtime +neither bun nor deno is on the PATH/m);
});

/** Codex, as far as its list of hooks goes. */
const CODEX = (answer: string) => `#!/bin/sh\nread a\nread b\nread c\n${answer}\n`;

test(
  "doctor says which hooks Codex does not run as no person trusts them, or that it cannot be asked",
  async () => {
    using here = place({ "hooks/stop.ts": "export default () => undefined;\n" });
    await here.main(["hooks", "install", join(here.cwd, "hooks"), "--for", "codex"]);
    const path = join(here.cwd, ".codex/hooks.json");
    const [{ hooks: [{ command }] }] = JSON.parse(readFileSync(path, "utf8")).hooks.Stop;
    const said = async (answer: string | undefined) => {
      rmSync(join(here.home, "bin"), { recursive: true, force: true });
      if (answer !== undefined) put(here.home, { "bin/codex.sh": CODEX(answer) });
      if (answer !== undefined) renameSync(join(here.home, "bin/codex.sh"), join(here.home, "bin/codex"));
      const { out } = await here.main(["doctor"], { PATH: `${here.home}/bin:${process.env.PATH}` });
      return out.split("\n").filter((line) => line.includes(".codex/hooks.json")).join();
    };
    const listed = (trustStatus: string) => {
      const hooks = [{ command, sourcePath: path, trustStatus }, { command: "theirs", sourcePath: path, trustStatus }];
      return `cat <<'END'\n{"id":0,"result":{}}\n${JSON.stringify({ id: 1, result: { data: [{ hooks }] } })}\nEND`;
    };
    assert.match(await said(undefined), /codex can read it/);
    assert.match(await said(listed("trusted")), /codex can read it/);
    assert.match(await said(listed("untrusted")), /Codex does not run 1 of 1 hook as no person trusts them/);
    assert.match(await said(listed("modified")), /Codex does not run 1 of 1 hook/);
    assert.match(
      await said(`echo '{"id":1,"error":{"message":"unknown method"}}'`),
      /cannot be asked .*: unknown method/,
    );
    assert.match(await said("exit 1"), /cannot be asked .*: it gave no answer/);
  },
);
