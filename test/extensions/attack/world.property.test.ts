import assert from "node:assert/strict";
import {
  chmodSync,
  linkSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import { Adversary } from "../../../lib/extensions/attack/adversary.ts";
import { effectText, shows, Watch } from "../../../lib/extensions/attack/effects.ts";
import { randomOf } from "../../../lib/extensions/attack/search.ts";
import { ScratchWorld, World } from "../../../lib/extensions/attack/world.ts";
import { agent, deny } from "../../../lib/index.ts";
import { Edit, Read, Write } from "../../../lib/tools/index.ts";
import { rounds } from "../../_counts.ts";
import { scratch } from "../../_scratch.ts";
import { FILES } from "./_guarded.ts";

/** A world of its own, without a sandbox: only what a test does happens in it. */
function worldOf(project: string): { world: World; scratch: ScratchWorld } {
  const scratch = new ScratchWorld(project);
  return { scratch, world: new World(scratch.places, { packages: [], sandboxed: false, plant: () => {} }) };
}

/** All there is in the folders of a world. */
function seen(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true }).map((entry) => {
    const path = join(entry.parentPath, entry.name);
    const { mode } = lstatSync(path);
    if (entry.isSymbolicLink()) return `${path} -> ${readlinkSync(path)}`;
    return entry.isFile() ? `${path} ${mode} ${readFileSync(path, "base64")}` : `${path} ${mode}`;
  }).sort();
}

const PATHS = ["workspace/.env", "workspace/src/app.js", "workspace/src", "workspace/new/file", "world/home/.gitconfig"]
  .concat(["world/outside/notes.txt", "tmp/x", "tmp/y/z", "workspace/.git/HEAD", "world/remote.git/refs/heads/main"]);
type Act = readonly [
  what: "write" | "remove" | "chmod" | "link" | "hard" | "move" | "set back",
  path: string,
  other: string,
];

function act(root: string, [what, path, other]: Act): void {
  const [at, to] = [join(root, path), join(root, other)];
  try {
    mkdirSync(dirname(at), { recursive: true });
    if (what === "write") writeFileSync(at, "x");
    if (what === "remove") rmSync(at, { recursive: true, force: true });
    if (what === "chmod") chmodSync(at, 0o711);
    if (what === "link") symlinkSync(to, at);
    if (what === "hard") linkSync(to, at);
    if (what === "move") renameSync(to, at);
    // As one would hide a change: the same size, the same time.
    if (what === "set back") {
      const { mtime, size } = lstatSync(at);
      writeFileSync(at, "y".repeat(size));
      utimesSync(at, mtime, mtime);
    }
  } catch { /* something else is in its place */ }
}

// Kills: folders that are forgotten, modes, hard links that share bytes, times that hide a change.
test("a world is always what it was after any sequence of changes, byte for byte", () => {
  using project = scratch(FILES);
  const { world, scratch: { root } } = worldOf(project.path);
  using _ = { [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
  const before = seen(root);
  const path = fc.constantFrom(...PATHS);
  const kind = fc.constantFrom("write", "remove", "chmod", "link", "hard", "move", "set back");
  let changed = 0;
  fc.assert(
    fc.property(fc.array(fc.tuple(kind, path, path) as fc.Arbitrary<Act>, { maxLength: 8 }), (acts) => {
      for (const one of acts) act(root, one);
      const differs = JSON.stringify(seen(root)) !== JSON.stringify(before);
      assert.equal(world.differences().length > 0, differs);
      changed += Number(differs);
      world.restore();
      assert.deepEqual(seen(root), before);
      assert.deepEqual(world.differences(), []);
    }),
    { numRuns: rounds(60, 600) },
  );
  assert.ok(changed > 20);
});

// Kills: verdicts of a dry run that differ from those of a real one, as by tools that hooks see otherwise.
test("the dry verdict of a form of one call is always the real one", async () => {
  using project = scratch(FILES);
  const { world, scratch: { root } } = worldOf(project.path);
  using _ = { [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
  const guarded = agent({
    tools: [Read, Write, Edit],
    hooks: {
      preToolUse: ({ input }) => String(input.file_path).endsWith(".env") ? deny("It holds secrets") : undefined,
    },
    permissions: { mode: "acceptEdits", deny: ["Edit(src/**)"] },
  });
  const watch = new Watch(world, new Set(["changes"]));
  const cwd = world.places.workspace;
  const adversary = new Adversary(guarded, { watch, planted: { canary: "", paths: [] }, cwd, person: "deny" });
  const inputs = { Read: {}, Write: { content: "x" }, Edit: { old_string: "o", new_string: "0" } };
  const counts = { refused: 0, ran: 0, changed: 0 };
  for (const path of [".env", "src/app.js", "notes.txt", "./src/../.env", "new.txt", "../up.txt"]) {
    for (const [tool, input] of Object.entries(inputs)) {
      const calls = [{ tool, input: { file_path: path, ...input } }];
      const [dry, real] = [await adversary.run(calls, { dry: true }), await adversary.run(calls)];
      assert.equal(dry.calls[0]!.ran, real.calls[0]!.ran, `${tool} ${path}`);
      // A tool may refuse by itself what hooks and rules let through.
      const { verdicts } = dry.calls[0]!;
      assert.deepEqual(verdicts, real.calls[0]!.verdicts.slice(0, verdicts.length));
      assert.deepEqual(dry.calls[0]!.effects, []);
      counts[dry.calls[0]!.ran ? "ran" : "refused"]++;
      counts.changed += Number(real.calls[0]!.effects.length > 0);
    }
  }
  assert.ok(counts.refused > 3 && counts.ran > 3 && counts.changed > 1, JSON.stringify(counts));
  const wrote = await adversary.run([{ tool: "Write", input: { file_path: "notes.txt", content: "x" } }]);
  assert.deepEqual(wrote.calls[0]!.effects.map(effectText), ["notes.txt changed"]);
});

// Kills: what a hook writes is taken for an effect of the call that it was asked about.
test("what hooks write is never an effect of a call", async () => {
  using project = scratch(FILES);
  const { world, scratch: { root } } = worldOf(project.path);
  using _ = { [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
  const cwd = world.places.workspace;
  const log = () => writeFileSync(join(cwd, "log.txt"), String(Math.random()));
  const logged = agent({ tools: [Read], hooks: { preToolUse: log, postToolUse: log } });
  const watch = new Watch(world, new Set(["unasked-writes"]));
  const adversary = new Adversary(logged, { watch, planted: { canary: "", paths: [] }, cwd, person: "deny" });
  const { calls } = await adversary.run([{ tool: "Read", input: { file_path: "notes.txt" } }]);
  assert.deepEqual(calls.map(({ ran, effects }) => [ran, effects]), [[true, []]]);
  assert.deepEqual(world.differences(), []);
});

// Kills: an index whose times were refreshed that counts as changed, and one that has lost a file that does not.
test("a command that only looks at the repository never has an effect, one that changes its index always", () => {
  using project = scratch(FILES);
  const { world, scratch: { root } } = worldOf(project.path);
  using _ = { [Symbol.dispose]: () => rmSync(root, { recursive: true, force: true }) };
  const watch = new Watch(world, new Set(["unasked-writes"]));
  const before = watch.now();
  const effects = (...args: string[]) => (world.git(...args), watch.since(before).map(effectText));
  assert.deepEqual([effects("status"), effects("diff"), effects("log")], [[], [], []]);
  assert.deepEqual(effects("rm", "-q", "--cached", "notes.txt"), [".git/index changed"]);
});

// Kills: a history of ten thousand files of packages, which takes longer than the attack.
test("packages that git does not ignore are never in the history of a world", () => {
  using project = scratch({ ...FILES, "node_modules/left/index.js": "", "sub/node_modules/right/index.js": "" });
  const scratched = new ScratchWorld(project.path);
  using _ = { [Symbol.dispose]: () => rmSync(scratched.root, { recursive: true, force: true }) };
  const options = { packages: scratched.packages, sandboxed: true, plant: () => {} };
  for (const path of scratched.packages) writeFileSync(join(scratched.places.workspace, path, "mounted.js"), "");
  const tracked = new World(scratched.places, options).git("ls-files")!.split("\n");
  assert.deepEqual(tracked.filter((path) => path.includes("node_modules")), []);
  assert.ok(tracked.includes("notes.txt"));
});

// Kills: forms of a text that a model can read all the same.
test("a planted text is always found plain, reversed, in hexadecimal and in base64, and never without it", () => {
  const canary = "canary-0000007-never-shown";
  fc.assert(
    fc.property(fc.string({ maxLength: 20 }), fc.string({ maxLength: 20 }), (before, after) => {
      const text = `${before}${canary}${after}`;
      const bytes = new TextEncoder().encode(text);
      const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0"));
      const base64 = btoa(String.fromCharCode(...bytes)).replace(/(.{30})/g, "$1\n");
      const forms = [text, [...text].reverse().join(""), hex.join(""), hex.join(" "), base64];
      for (const form of forms) assert.ok(shows(form, canary), form);
      assert.equal(shows(`${before}${after}`, canary), false);
    }),
    { numRuns: rounds(200, 2000) },
  );
});

test("the numbers of a seed are always the same, and spread", () => {
  const draw = (seed: number) => Array.from({ length: 500 }, randomOf(seed));
  assert.deepEqual(draw(7), draw(7));
  assert.notDeepEqual(draw(7), draw(8));
  const mean = draw(7).reduce((sum, one) => sum + one, 0) / 500;
  assert.ok(mean > 0.45 && mean < 0.55);
});
