import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import {
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { fileURLToPath } from "node:url";
import { scriptedServer } from "crochet/testing";
import { CROCHET, crochet, ended } from "../_crochet.ts";
import { NO_PTY, Pty } from "../_pty.ts";
import { put, scratch } from "../_scratch.ts";

const DENO = "Deno" in globalThis;

/** With the settings of this clone Deno fetches nothing: what it fetches with the project's own is in test/package. */
const OURS = `--config=${fileURLToPath(new URL("../../deno.json", import.meta.url))}`;

/** Runs what a person would type in the new project, on the runtime the test runs on. */
async function run(cwd: string, args: readonly string[], env: Record<string, string> = {}) {
  const { code, out, err } = await ended([process.execPath, ...args], { cwd, env: { HOME: cwd, ...env } });
  return { code, text: out + err };
}

/** Runs the tests of the new project. */
function runTests(cwd: string) {
  return run(cwd, DENO ? ["test", "-A", "--no-check", OURS, "agent.test.ts", "hooks.test.ts"] : ["test"]);
}

test("crochet init makes a project whose tests are green at once, without a key", { timeout: 300_000 }, async () => {
  using folder = scratch();
  const made = await crochet(["init", "greeter"], { cwd: folder.path, env: { HOME: folder.path, CI: "1" } });
  assert.equal(made.code, 0, made.err);
  const dir = join(folder.path, "greeter");
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
    assert.ok(existsSync(join(dir, path)), path);
    assert.match(made.out, new RegExp(`^\\+ ${path}$`, "m"));
  }
  const [header] = readFileSync(join(dir, "fixtures/fix-spelling/tape.jsonl"), "utf8").split("\n");
  assert.equal(JSON.parse(header!).source, "scripted server");

  // A run that is recorded later may begin with tests, which are not those of the project.
  mkdirSync(join(dir, "fixtures/later/files"), { recursive: true });
  writeFileSync(join(dir, "fixtures/later/files/agent.test.ts"), 'throw new Error("it is not mine");\n');

  const tested = await runTests(dir);
  assert.equal(tested.code, 0, tested.text);
  assert.match(tested.text, DENO ? /5 passed \| 0 failed/ : /5 pass\n\s+0 fail/);

  // The agent runs as a script against whatever model is there.
  await using server = await scriptedServer([{ text: "Good day" }]);
  const said = await run(dir, DENO ? ["run", "-A", "--no-check", OURS, "agent.ts", "hi"] : ["run", "agent.ts", "hi"], {
    ANTHROPIC_API_KEY: "none",
    ANTHROPIC_BASE_URL: server.url,
  });
  assert.match(said.text, /Good day/);
  assert.equal(said.code, 0, said.text);

  // The hook that came with it is trusted, and the recorded run is replayed by the command line too.
  const hooks = await crochet(["hooks", "--json"], { cwd: dir, env: { HOME: folder.path } });
  assert.deepEqual(JSON.parse(hooks.out).hooks.map((h: { name: string }) => h.name), [
    "pre-tool-use@Bash.no-force-push.ts",
  ]);
  assert.equal((await crochet(["replay"], { cwd: dir, env: { HOME: folder.path } })).code, 0);
});

test("what crochet init makes replays in a clone that changes line ends", {
  timeout: 120_000,
  skip: spawnSync("git", ["--version"]).status === 0 ? false : "git is not installed",
}, async () => {
  using folder = scratch();
  const [dir, clone] = ["mine", "clone"].map((name) => join(folder.path, name)) as [string, string];
  const env = { HOME: folder.path };
  await crochet(["init", "mine"], { cwd: folder.path, env });
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: dir, env: { ...process.env, ...env }, stdio: "ignore" });
  git("init");
  put(dir, { ".crochet/config.yaml": "", ".crochet/runs/a.jsonl": "" });
  git("add", ".");
  const added = execFileSync("git", ["ls-files"], { cwd: dir, encoding: "utf8" }).split("\n");
  assert.deepEqual(added.filter((path) => /^(\.crochet|node_modules)\b/.test(path)), [".crochet/config.yaml"]);
  git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "first");
  git("clone", "--config", "core.autocrlf=true", dir, clone);
  symlinkSync(join(dir, "node_modules"), join(clone, "node_modules"));
  assert.ok(readFileSync(join(clone, "agent.ts"), "utf8").includes("\r\n"), "git has changed what it may");
  const { code, out, err } = await crochet(["replay", "--trust"], { cwd: clone, env });
  assert.equal(code, 0, out + err);
});

test("a test of the scaffold fails if its hook lets a forced push pass", { timeout: 300_000 }, async () => {
  using folder = scratch();
  await crochet(["init"], { cwd: folder.path, env: { HOME: folder.path } });
  const hook = join(folder.path, "hooks/pre-tool-use@Bash.no-force-push.ts");
  writeFileSync(hook, readFileSync(hook, "utf8").replace("git\\s+push", "git\\s+shove"));
  const tested = await runTests(folder.path);
  assert.equal(tested.code, 1);
  assert.match(tested.text, /a forced push/);
});

test("what crochet init makes names no place of this machine, and brings its crochet along", {
  timeout: 300_000,
}, async () => {
  using folder = scratch();
  const env = { HOME: folder.path };
  for (const name of ["one", "two"]) await crochet(["init", name], { cwd: folder.path, env });
  const [one, two] = ["one", "two"].map((name) => join(folder.path, name)) as [string, string];
  const { dependencies } = JSON.parse(readFileSync(join(one, "package.json"), "utf8"));
  const vendored = dependencies.crochet.slice("file:".length);
  assert.match(vendored, DENO ? /^vendor\/crochet$/ : /^vendor\/crochet-\d+\.\d+\.\d+-[0-9a-f]{8}\.tgz$/);
  const unpacked = join(folder.path, "unpacked");
  mkdirSync(unpacked);
  if (!DENO) {
    assert.deepEqual(readFileSync(join(one, vendored)), readFileSync(join(two, vendored)), "the same bytes twice");
    execFileSync("tar", ["xzf", join(one, vendored), "-C", unpacked]);
  }
  const at = DENO ? join(one, vendored) : join(unpacked, "package");
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
  for (const path of readdirSync(one, { recursive: true }) as string[]) {
    const file = join(one, path);
    if (/^(node_modules|vendor)\b/.test(path) || !statSync(file).isFile()) continue;
    assert.ok(!readFileSync(file, "utf8").includes(folder.path), path);
    assert.ok(!readFileSync(file, "utf8").includes(fileURLToPath(new URL("../..", import.meta.url))), path);
  }
});

test("crochet init --upgrade replaces the crochet that a project brings along, and no other", {
  timeout: 300_000,
}, async () => {
  using folder = scratch();
  const env = { HOME: folder.path };
  const upgrade = () => crochet(["init", "--upgrade", "--json"], { cwd: folder.path, env });
  assert.match((await upgrade()).err, /no package\.json here names crochet/);
  await crochet(["init"], { cwd: folder.path, env });
  const file = join(folder.path, "package.json");
  const text = readFileSync(file, "utf8");
  const now = JSON.parse(text).dependencies.crochet.slice("file:".length);
  assert.equal(JSON.parse((await upgrade()).out).changed, false);

  const old = DENO ? now : "vendor/crochet-0.1.0.tgz";
  if (DENO) {
    put(folder.path, { [`${now}/dist/gone.js`]: "", [`${now}/dist/index.js`]: "old" });
    const deno = join(folder.path, "deno.json");
    writeFileSync(deno, readFileSync(deno, "utf8").replaceAll(/crochet@[\d.]+/g, "crochet@0.1.0"));
  } else {
    rmSync(join(folder.path, now));
    put(folder.path, { [old]: "old" });
    writeFileSync(file, text.replace(now, old));
  }
  const { code, out, err } = await upgrade();
  assert.equal(code, 0, err);
  assert.deepEqual(JSON.parse(out), { dir: folder.path, from: old, to: now, changed: true });
  assert.equal(readFileSync(file, "utf8"), text);
  assert.deepEqual(readdirSync(join(folder.path, "vendor")), [now.slice("vendor/".length)]);
  if (DENO) {
    assert.ok(!existsSync(join(folder.path, now, "dist/gone.js")));
    assert.doesNotMatch(readFileSync(join(folder.path, "deno.json"), "utf8"), /@0\.1\.0/);
  }

  writeFileSync(file, text.replace(`file:${now}`, "^0.2.0"));
  const refused = await upgrade();
  assert.deepEqual([refused.code, refused.out], [2, ""]);
  assert.match(refused.err, /has crochet from '\^0\.2\.0', not from vendor\//);
  writeFileSync(file, "{");
  assert.match((await upgrade()).err, /package\.json is not JSON/);
});

test(
  "crochet init replaces a link to a crochet that is gone",
  { timeout: 300_000, skip: DENO && "it links nothing" },
  async () => {
    using folder = scratch();
    mkdirSync(join(folder.path, "node_modules"));
    symlinkSync(join(folder.path, "gone"), join(folder.path, "node_modules/crochet"));
    const { code, err } = await crochet(["init"], { cwd: folder.path, env: { HOME: folder.path } });
    assert.equal(code, 0, err);
    assert.ok(existsSync(join(folder.path, "node_modules/crochet/package.json")));
  },
);

test("crochet init never writes over a file, and says which were there", { timeout: 300_000 }, async () => {
  using folder = scratch();
  const dir = join(folder.path, "mine");
  mkdirSync(dir);
  const own = { "agent.ts": "export default 1;\n", "package.json": '{ "name": "mine" }\n', ".gitignore": "x\n" };
  for (const [path, text] of Object.entries(own)) writeFileSync(join(dir, path), text);
  const made = await crochet(["init", "mine", "--json"], { cwd: folder.path, env: { HOME: folder.path } });
  assert.equal(made.code, 0, made.err);
  const { kept, written, notes } = JSON.parse(made.out);
  assert.deepEqual(kept.sort(), [".gitignore", "agent.ts", "package.json"]);
  assert.ok(written.includes("deno.json") && !written.includes("agent.test.ts"));
  assert.deepEqual(written.filter((path: string) => path.startsWith("fixtures/")), ["fixtures/.gitattributes"]);
  assert.match(notes.join("\n"), /no run was recorded[^]*does not name crochet/);
  for (const [path, text] of Object.entries(own)) assert.equal(readFileSync(join(dir, path), "utf8"), text);
});

test("crochet init refuses a file in the place of a directory", async () => {
  using folder = scratch();
  writeFileSync(join(folder.path, "taken"), "");
  const { code, err } = await crochet(["init", "taken"], { cwd: folder.path });
  assert.equal(code, 2);
  assert.equal(err, "crochet: Cannot scaffold in 'taken' as it is a file: name a directory\n");
});

test("crochet init leaves nothing if it cannot finish, and finishes when run again", { timeout: 300_000 }, async () => {
  using folder = scratch({ "mine/notes.md": "mine\n" });
  const dir = join(folder.path, "mine");
  const init = (env = {}) => crochet(["init", "mine"], { cwd: folder.path, env: { HOME: folder.path, ...env } });
  const failed = await init({ TMPDIR: join(folder.path, "none") });
  assert.equal(failed.code, 1);
  assert.deepEqual(readdirSync(dir, { recursive: true }), ["notes.md"]);
  assert.equal((await init()).code, 0);
  // As if it had been killed before the end.
  for (const path of ["agent.test.ts", "fixtures/fix-spelling/tape.jsonl"]) rmSync(join(dir, path));
  const again = await init();
  assert.equal(again.code, 0, again.err);
  assert.match(again.out, /^\+ agent\.test\.ts\n\+ fixtures\/fix-spelling\/tape\.jsonl$/m);
  assert.equal((await crochet(["replay"], { cwd: dir, env: { HOME: folder.path } })).code, 0);
});

test("U16: crochet init runs nothing of the directory: neither its packages nor its hooks nor a preload", {
  timeout: 300_000,
}, async () => {
  const ran = (name: string) =>
    `import { writeFileSync } from "node:fs"; writeFileSync(process.env.HOME + "/ran-${name}", "");`;
  const manifest = { name: "crochet", type: "module", exports: { ".": "./run.js", "./*": "./run.js" } };
  using folder = scratch({
    "mine/node_modules/crochet/package.json": JSON.stringify(manifest),
    "mine/node_modules/crochet/run.js": `${ran("package")} export const agent = () => ({}), Read = 0, Bash = 0;`,
    "mine/hooks/stop.theirs.ts": `${ran("hook")} export default () => {};`,
    "mine/bunfig.toml": `preload = ["./preload.ts"]\n`,
    "mine/preload.ts": ran("preload"),
  });
  const made = await crochet(["init", "mine"], { cwd: folder.path, env: { HOME: folder.path } });
  assert.equal(made.code, 0, made.err);
  assert.deepEqual(readdirSync(folder.path).filter((name) => name.startsWith("ran-")), []);
  assert.ok(existsSync(join(folder.path, "mine/fixtures/fix-spelling/tape.jsonl")));
});

test("crochet init adds itself to a package.json that is there, if a person agrees", {
  timeout: 300_000,
  skip: NO_PTY ?? false,
}, async () => {
  const text = '{\n\t"name": "mine",\n\t"dependencies": {\n\t\t"zod": "4.6.7"\n\t}\n}\n';
  for (const answer of ["y", "n"]) {
    using folder = scratch({ "package.json": text, "agent.ts": "export default 1;\n" });
    const env = { HOME: folder.path };
    await using terminal = new Pty([...CROCHET, "init"], { cwd: folder.path, env, columns: 400 });
    await terminal.until(/Add "crochet".*\[Y\/n\]/);
    terminal.send(`${answer}\r`);
    await terminal.until(/Next/);
    const { dependencies } = JSON.parse(readFileSync(join(folder.path, "package.json"), "utf8"));
    assert.deepEqual(Object.keys(dependencies), answer === "y" ? ["zod", "crochet"] : ["zod"]);
  }
});

test("a scaffold names its own Bun, and npm's commands if Bun is not on the PATH", { timeout: 300_000 }, async () => {
  using folder = scratch();
  const { out } = await crochet(["init", "mine"], {
    cwd: folder.path,
    env: { HOME: folder.path, PATH: "/usr/bin:/bin" },
  });
  const { devDependencies, scripts } = JSON.parse(readFileSync(join(folder.path, "mine/package.json"), "utf8"));
  if (DENO) return assert.equal(scripts.test, "deno test -A");
  assert.equal(devDependencies.bun, "^1.4.0");
  assert.deepEqual(scripts, { start: "bun run agent.ts", test: "bun test" });
  assert.match(out, /npm install\n {2}npm test .*\n {2}npx crochet hooks check .*\n {2}npm start -- "what is here\?"/);
});

test("a script outside any project imports the crochet that runs it", { timeout: 300_000 }, async () => {
  using folder = scratch({
    "x.ts": `import { agent } from "crochet";
import { scripted } from "crochet/testing";
export default agent({ model: scripted([{ text: "from outside" }]) });
`,
  });
  const { out, err } = await crochet(["run", "x.ts", "hi"], { cwd: folder.path, env: { HOME: folder.path } });
  assert.equal(out, "from outside\n", err);
});
