import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { scriptedServer } from "crochet/testing";
import { ended } from "../_crochet.ts";
import { place } from "../_place.ts";

const DENO = "Deno" in globalThis;

/** With the settings of this clone Deno fetches nothing: what it fetches with the project's own is in test/package. */
const OURS = `--config=${fileURLToPath(new URL("../../deno.json", import.meta.url))}`;

/** Runs what a person would type in the new project, on the runtime the test runs on. */
async function run(cwd: string, args: readonly string[], env: Record<string, string> = {}) {
  const { code, out, err } = await ended([process.execPath, ...args], { cwd, env: { HOME: cwd, ...env } });
  return { code, text: out + err };
}

/** What is made by the first test, for some after it. */
const here = place();
after(() => here[Symbol.dispose]());

test("crochet init makes a project whose tests are green at once, without a key", async () => {
  const made = await here.main(["init"], { CI: "1" });
  assert.equal(made.code, 0, made.err);
  const plain = [
    "agent.ts",
    "agent.test.ts",
    "hooks.test.ts",
    "package.json",
    "deno.json",
    "tsconfig.json",
    "bunfig.toml",
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
  assert.equal((await here.main(["replay"])).code, 0);
});

test("what crochet init makes names no place of this machine, and brings its crochet along", async () => {
  const { dependencies } = JSON.parse(readFileSync(join(here.cwd, "package.json"), "utf8"));
  const vendored = dependencies.crochet.slice("file:".length);
  assert.match(vendored, DENO ? /^vendor\/crochet$/ : /^vendor\/crochet-\d+\.\d+\.\d+-[0-9a-f]{8}\.tgz$/);
  assert.equal(JSON.parse((await here.main(["init", "--upgrade", "--json"])).out).changed, false, "the same bytes");
  const unpacked = join(here.home, "unpacked");
  mkdirSync(unpacked);
  if (!DENO) {
    execFileSync("tar", ["xzf", join(here.cwd, vendored), "-C", unpacked]);
  }
  const at = DENO ? join(here.cwd, vendored) : join(unpacked, "package");
  const manifest = JSON.parse(readFileSync(join(at, "package.json"), "utf8"));
  assert.deepEqual([manifest.scripts, manifest.devDependencies, manifest.exports["."].bun], [
    undefined,
    undefined,
    undefined,
  ]);
  assert.ok(statSync(join(at, "lib/cli/crochet")).mode & 0o100, "the launcher can be started");
  for (const { default: path } of Object.values<{ default?: string }>(manifest.exports)) {
    if (path) assert.ok(existsSync(join(at, path)), path);
  }
  for (const path of readdirSync(here.cwd, { recursive: true }) as string[]) {
    const file = join(here.cwd, path);
    if (/^(node_modules|vendor|\.crochet)\b/.test(path) || !statSync(file).isFile()) continue;
    assert.ok(!readFileSync(file, "utf8").includes(here.cwd), path);
    assert.ok(!readFileSync(file, "utf8").includes(fileURLToPath(new URL("../..", import.meta.url))), path);
  }
});
