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
import { CROCHET, ended } from "../../_crochet.ts";
import { place } from "../../_place.ts";
import { NO_PTY, Pty } from "../../_pty.ts";

const DENO = "Deno" in globalThis;

test("a test of the scaffold fails if its hook lets a forced push pass", async () => {
  using here = place();
  await here.main(["init"]);
  const hook = join(here.cwd, "hooks/pre-tool-use@Bash.no-force-push.ts");
  writeFileSync(hook, readFileSync(hook, "utf8").replace("git\\s+push", "git\\s+shove"));
  const ours = `--config=${fileURLToPath(new URL("../../../deno.json", import.meta.url))}`;
  const args = DENO ? ["test", "-A", "--no-check", ours, "hooks.test.ts"] : ["test", "hooks.test.ts"];
  const tested = await ended([process.execPath, ...args], { cwd: here.cwd, env: { HOME: here.home } });
  assert.equal(tested.code, 1);
  assert.match(tested.out + tested.err, /a forced push/);
});

test("crochet init leaves nothing if it cannot finish, and finishes when run again", async () => {
  using here = place({ "notes.md": "mine\n" });
  const init = (env = {}) => here.main(["init"], env);
  const failed = await init({ TMPDIR: join(here.cwd, "none") });
  assert.equal(failed.code, 1);
  assert.deepEqual(readdirSync(here.cwd, { recursive: true }), ["notes.md"]);
  assert.equal((await init()).code, 0);
  // As if it had been killed before the end.
  for (const path of ["agent.test.ts", "fixtures/fix-spelling/tape.jsonl"]) rmSync(join(here.cwd, path));
  const again = await init();
  assert.equal(again.code, 0, again.err);
  assert.match(again.out, /^\+ agent\.test\.ts\n\+ fixtures\/fix-spelling\/tape\.jsonl$/m);
  assert.equal((await here.main(["replay"])).code, 0);
});

test("crochet init adds itself to a package.json that is there, if a person agrees", {
  skip: NO_PTY ?? false,
}, async () => {
  const text = '{\n\t"name": "mine",\n\t"dependencies": {\n\t\t"zod": "4.6.7"\n\t}\n}\n';
  for (const answer of ["y", "n"]) {
    using here = place({ "package.json": text, "agent.ts": "export default 1;\n" });
    await using terminal = new Pty([...CROCHET, "init"], { cwd: here.cwd, env: { HOME: here.home }, columns: 400 });
    await terminal.until(/Add "crochet".*\[Y\/n\]/);
    terminal.send(`${answer}\r`);
    await terminal.until(/Next/);
    const { dependencies } = JSON.parse(readFileSync(join(here.cwd, "package.json"), "utf8"));
    assert.deepEqual(Object.keys(dependencies), answer === "y" ? ["zod", "crochet"] : ["zod"]);
  }
});

test("what crochet init makes replays in a clone that changes line ends", {
  skip: spawnSync("git", ["--version"]).status === 0 ? false : "git is not installed",
}, async () => {
  using here = place();
  using clone = place();
  await here.main(["init"]);
  const { cwd: dir, home: HOME } = here;
  const git = (...args: string[]) =>
    execFileSync("git", args, { cwd: dir, env: { ...process.env, HOME }, stdio: "ignore" });
  git("init");
  here.put({ ".crochet/config.yaml": "", ".crochet/runs/a.jsonl": "" });
  git("add", ".");
  const added = execFileSync("git", ["ls-files"], { cwd: dir, encoding: "utf8" }).split("\n");
  assert.deepEqual(added.filter((path) => /^(\.crochet|node_modules)\b/.test(path)), [".crochet/config.yaml"]);
  git("-c", "user.name=a", "-c", "user.email=a@b", "commit", "-m", "first");
  git("clone", "--config", "core.autocrlf=true", dir, clone.cwd);
  symlinkSync(join(dir, "node_modules"), join(clone.cwd, "node_modules"));
  assert.ok(readFileSync(join(clone.cwd, "agent.ts"), "utf8").includes("\r\n"), "git has changed what it may");
  const { code, out, err } = await clone.main(["replay", "--trust"]);
  assert.equal(code, 0, out + err);
});

test("what crochet init makes names no place of this machine, and brings its crochet along", async () => {
  using here = place();
  await here.main(["init"]);
  const { dependencies } = JSON.parse(readFileSync(join(here.cwd, "package.json"), "utf8"));
  const vendored = dependencies.crochet.slice("file:".length);
  assert.match(vendored, DENO ? /^vendor\/crochet$/ : /^vendor\/crochet-\d+\.\d+\.\d+-[0-9a-f]{8}\.tgz$/);
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

test("a scaffold names its own Bun, and npm's commands if Bun is not on the PATH", async () => {
  using here = place();
  const { out } = await here.main(["init"], { PATH: "/usr/bin:/bin" });
  const { devDependencies, scripts } = JSON.parse(readFileSync(join(here.cwd, "package.json"), "utf8"));
  if (DENO) return assert.equal(scripts.test, "deno test -A");
  assert.equal(devDependencies.bun, "^1.4.0");
  assert.deepEqual(scripts, { start: "bun run agent.ts", test: "bun test" });
  assert.match(out, /npm install\n {2}npm test .*\n {2}npx crochet hooks check .*\n {2}npm start -- "what is here\?"/);
});
