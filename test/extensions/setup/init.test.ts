import assert from "node:assert/strict";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { scriptedServer } from "crochet/testing";
import { ended } from "../../_crochet.ts";
import { place } from "../../_place.ts";

const DENO = "Deno" in globalThis;

/** With the settings of this clone Deno fetches nothing: what it fetches with the project's own is in test/package. */
const OURS = `--config=${fileURLToPath(new URL("../../../deno.json", import.meta.url))}`;

/** Runs what a person would type in the new project, on the runtime the test runs on. */
async function run(cwd: string, args: readonly string[], env: Record<string, string> = {}) {
  const { code, out, err } = await ended([process.execPath, ...args], { cwd, env: { HOME: cwd, ...env } });
  return { code, text: out + err };
}

test("crochet init makes a project whose tests are green at once, without a key", async () => {
  using here = place();
  const refused = await here.main(["init", ".", "--ci", "jenkins"]);
  assert.deepEqual([refused.code, readdirSync(here.cwd)], [2, []], "nothing is made for a host that is not known");
  const made = await here.main(["init", ".", "--ci", "github"], { CI: "1" });
  assert.equal(made.code, 0, made.err);
  const jobs = readFileSync(join(here.cwd, ".github/workflows/crochet.yaml"), "utf8");
  for (const line of [" replay --trust", " hooks check --trust", DENO ? "deno task test" : "bun run test"]) {
    assert.ok(jobs.includes(line), line);
  }
  const plain = [
    "agent.ts",
    "agent.test.ts",
    "hooks.test.ts",
    "package.json",
    "deno.json",
    "tsconfig.json",
    "bunfig.toml",
    ".github/workflows/crochet.yaml",
  ];
  for (const path of plain) {
    assert.ok(existsSync(join(here.cwd, path)), path);
    assert.match(made.out, new RegExp(`^\\+ ${path}$`, "m"));
  }
  const [header] = readFileSync(join(here.cwd, "fixtures/fix-spelling/tape.jsonl"), "utf8").split("\n");
  assert.equal(JSON.parse(header!).source, "scripted server");

  // A run that is recorded later may begin with tests, which are not those of the project.
  mkdirSync(join(here.cwd, "fixtures/later/files"), { recursive: true });
  writeFileSync(join(here.cwd, "fixtures/later/files/agent.test.ts"), 'throw new Error("it is not mine");\n');

  const tested = await run(
    here.cwd,
    DENO ? ["test", "-A", "--no-check", OURS, "agent.test.ts", "hooks.test.ts"] : ["test"],
  );
  assert.equal(tested.code, 0, tested.text);
  assert.match(tested.text, DENO ? /5 passed \| 0 failed/ : /5 pass\n\s+0 fail/);

  // The agent runs as a script against whatever model is there.
  await using server = await scriptedServer([{ text: "Good day" }]);
  const said = await run(
    here.cwd,
    DENO ? ["run", "-A", "--no-check", OURS, "agent.ts", "hi"] : ["run", "agent.ts", "hi"],
    {
      ANTHROPIC_API_KEY: "none",
      ANTHROPIC_BASE_URL: server.url,
    },
  );
  assert.match(said.text, /Good day/);
  assert.equal(said.code, 0, said.text);

  // The hook that came with it is trusted, and the recorded run is replayed by the command line too.
  const hooks = await here.main(["hooks", "--json"]);
  assert.deepEqual(JSON.parse(hooks.out).hooks.map((h: { name: string }) => h.name), [
    "pre-tool-use@Bash.no-force-push.ts",
  ]);
  rmSync(join(here.cwd, "fixtures/later"), { recursive: true });
  assert.equal((await here.main(["replay"])).code, 0);
});
