/** In a package `crochet hook` is one file with bytecode: it says what the sources say, and nothing of ours is loaded beside it. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import {
  appendFileSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { isBuiltin } from "node:module";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { HOST_NAMES, HOSTS } from "../../lib/hooks/hosts/index.ts";
import { packedFiles } from "../../lib/extensions/setup/packed.ts";
import { scriptedServer } from "../../lib/testing/index.ts";
import { ended, type Exit } from "../_crochet.ts";
import { put, scratch } from "../_scratch.ts";
import { add, clone, run } from "./_install.ts";

const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");
const BIN = join(ROOT, "node_modules/.bin");
const skip = "Deno" in globalThis && "Deno does not use it";
const LONG = { skip };
const ours = (globalThis as { Bun?: { revision: string } }).Bun?.revision;
const ONE = `dist/cli/hook-${ours}.js`;

const made = scratch();
after(() => made[Symbol.dispose]());

/** A package as it is installed. `alone`: of our code only the one file is left; `other`: that is of another Bun. */
function pack(name: string, { alone = false, other = false } = {}): string {
  const root = join(made.path, name);
  for (const { path, bytes } of packedFiles(ROOT)) {
    const isCode = /^dist\/(?!sdk-|cli\/hook[.-]).*\.js$/.test(path);
    if (alone && isCode) continue;
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), bytes);
  }
  if (other) {
    for (const end of ["", ".jsc"]) {
      renameSync(join(root, ONE + end), join(root, `dist/cli/hook-0.js${end}`));
    }
  }
  symlinkSync(join(ROOT, "node_modules"), join(root, "node_modules"));
  return root;
}

const roots = { sources: ROOT, whole: "", alone: "", other: "" };
if (!skip) {
  run(ROOT, join(BIN, "bun"), "run", ".ci/build.ts", "--if-older");
  roots.whole = pack("whole");
  roots.alone = pack("alone", { alone: true });
  roots.other = pack("other", { other: true });
}

interface Row {
  /** File name and text of the hook. */
  readonly hook?: readonly [name: string, text: string];
  readonly args?: readonly string[];
  readonly stdin?: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What some of the answer is. */
  readonly says: RegExp;
}

const PRE = { session_id: "s", hook_event_name: "PreToolUse", tool_name: "Bash", tool_use_id: "t" };
const CALL = { ...PRE, transcript_path: "", cwd: "/", tool_input: { command: "rm x" }, permission_mode: "default" };
const DENY = `({ action: "deny", reason: "no" })`;
const onCall = (text: string): readonly [string, string] => ["pre-tool-use.x.ts", text];

/** What each answer is made of: code, stdout, stderr. */
const ROWS: { readonly [name: string]: Row } = {
  "a silent module": { hook: onCall("export default () => {};"), says: /^0 \n\n$/ },
  "a refusal": { hook: onCall(`export default () => ${DENY};`), says: /"permissionDecision":"deny"/ },
  "a refusal beyond ASCII": { hook: onCall(`export default () => (${DENY.replace("no", "nö")});`), says: /nö/ },
  "a module that waits": {
    hook: onCall(`await 0; export default async () => { await Promise.resolve(); return ${DENY}; };`),
    says: /deny/,
  },
  "a module that prints": {
    hook: onCall("console.log(1); process.stdout.write('2'); export default () => {};"),
    says: /1\n2/,
  },
  "a log": { hook: onCall("export default (_, ctx) => ctx.log('seen');"), says: /x\.ts: seen/ },
  "a value that is kept": { hook: onCall("export default (_, ctx) => { ctx.values.set('a', 1); };"), says: /^0 / },
  "a command": {
    hook: onCall(
      "export default async (_, ctx) => ({ action: 'deny', reason: (await ctx.$('echo', ['ran'])).stdout });",
    ),
    says: /ran/,
  },
  "a module that throws": { hook: onCall("export default () => { throw new Error('broken'); };"), says: /broken/ },
  "an answer of a wrong kind": { hook: onCall("export default () => ({ action: 'dney' });"), says: /dney/ },
  "a config of a wrong kind": {
    hook: onCall("export const config = { timeout: 'x' }; export default () => {};"),
    says: /timeout/,
  },
  "a module in a process of its own": {
    hook: onCall(`export const config = { isolate: true }; export default () => ${DENY};`),
    says: /deny/,
  },
  "a module that takes too long": {
    hook: onCall(
      "export const config = { timeout: 0.05, onError: 'deny' }; export default () => new Promise(() => {});",
    ),
    says: /longer than its limit/,
  },
  "a module that ends the process": {
    hook: onCall("export default () => process.exit(0);"),
    says: /Cannot call process\.exit/,
  },
  "a mistake in a module": { hook: onCall("export default ("), says: /syntax error/ },
  "a module that exports nothing": { hook: onCall("export const a = 1;"), says: /default/ },
  "another tool": { hook: ["pre-tool-use@Read.x.ts", `export default () => ${DENY};`], says: /^0 \n\n$/ },
  "a script that refuses": { hook: ["pre-tool-use.x.sh", "#!/bin/sh\necho no >&2; exit 2\n"], says: /^2 [^]*no/ },
  "a script that fails": {
    hook: ["pre-tool-use.x.sh", "#!/bin/sh\n# crochet: onError=deny\nexit 7\n"],
    args: ["--dialect", "codex"],
    says: /7/,
  },
  "rules": { hook: ["pre-tool-use.x.rules", `args.command matches '^rm' -> deny("no rm")\n`], says: /no rm/ },
  "rules in YAML": {
    hook: [
      "pre-tool-use.x.rules.yaml",
      "- { field: args.command, operator: contains, value: rm, action: deny, reason: no rm }\n",
    ],
    says: /no rm/,
  },
  "rules with a mistake": { hook: ["pre-tool-use.x.rules", "args.command matcheth 'x' -> deny\n"], says: /Cannot/ },
  "a prompt": { hook: ["pre-tool-use.x.prompt.md", "Is this harmless? {{args.command}}\n"], says: /by model/ },
  "a prompt without a model": {
    hook: ["pre-tool-use.x.prompt.md", "Is this harmless?\n"],
    env: { ANTHROPIC_API_KEY: "", ANTHROPIC_BASE_URL: "" },
    says: /key/i,
  },
  "a name that is not an event": { hook: ["odd.ts", "export default () => {};"], says: /Or pass --event/ },
  "a file that is not there": { args: ["stop.none.ts"], says: /^1 [^]*stop\.none\.ts/ },
  "no JSON": { hook: onCall("export default () => {};"), stdin: "{", says: /^2 [^]*stdin is not an event/ },
  "an unknown event": {
    hook: ["stop.x.ts", "export default () => {};"],
    stdin: JSON.stringify({ ...CALL, hook_event_name: "Odd" }),
    says: /^1 [^]*has no event 'Odd'/,
  },
  "no file": { says: /^2 [^]*Cannot serve 0 files/ },
  "an unknown flag": { args: ["a.ts", "--dialekt", "x"], says: /^2 [^]*Unknown flag --dialekt/ },
  "an unknown host": { args: ["a.ts", "--dialect", "windsurf"], says: /^2 [^]*Unknown host 'windsurf'/ },
  "help": { args: ["--help"], says: /^0 [^]*crochet hook <file>/ },
  ...Object.fromEntries(HOST_NAMES.map((host) => [`a refusal in ${host}`, {
    hook: onCall(`export default () => ${DENY};`),
    args: ["--dialect", host],
    stdin: JSON.stringify(inWordsOf(host)),
    says: /no/,
  }])),
};

/** Loaded from the package: what is left of one where only the one file is lacks it. */
const FROM_PACKAGE: { readonly [name: string]: Row } = {
  "a value of crochet": {
    hook: onCall(`import { deny } from "crochet"; export default () => deny("by its own copy");`),
    says: /by its own copy/,
  },
};

function inWordsOf(host: typeof HOST_NAMES[number]): object {
  const { commands, events } = HOSTS[host];
  const [theirs = ""] = Object.entries(events).find(([, { ours }]) => ours?.includes("pre-tool-use")) ?? [];
  const around = { session_id: "s", transcript_path: "", permission_mode: "default", minute: 0 };
  return commands?.written(CALL, { ...around, prompt_id: undefined, effort: undefined }) ??
    { ...CALL, hook_event_name: theirs };
}

/** What the launcher of a copy answers, with the place of that copy taken out. */
async function answer(root: string, { hook, args = [], stdin, env = {} }: Row, bin = BIN): Promise<string> {
  using cwd = scratch(hook && { [hook[0]]: hook[1] });
  await using server = await scriptedServer([{ text: '{"ok": false, "reason": "by model"}' }]);
  const words = ["hook", ...(hook ? [hook[0]] : []), ...args];
  const { code, out, err }: Exit = await ended(["/bin/sh", join(root, "lib/cli/crochet"), ...words], {
    cwd: cwd.path,
    env: {
      HOME: cwd.path,
      PATH: `${bin}:/usr/bin:/bin`,
      ANTHROPIC_API_KEY: "k",
      ANTHROPIC_BASE_URL: server.url,
      ...env,
    },
    stdin: stdin ?? JSON.stringify(CALL),
  });
  return `${code} ${out}\n${err}\n`.replaceAll(cwd.path, "CWD").replaceAll(root, "ROOT");
}

for (const [name, row] of Object.entries({ ...ROWS, ...FROM_PACKAGE })) {
  test(`a package answers as the sources do, with its one file and without: ${name}`, LONG, async () => {
    const expected = await answer(roots.sources, row);
    assert.match(expected, row.says);
    assert.equal(await answer(roots.whole, row), expected, "whole");
    assert.equal(await answer(roots.other, row), expected, "of another Bun");
    // Had it to load another file of ours, a class might be there twice.
    if (name in ROWS) assert.equal(await answer(roots.alone, row), expected, "alone");
  });
}

test("the one file is taken by the Bun that made it alone, with its bytecode", LONG, async () => {
  const row = ROWS["a refusal"]!;
  const env = { BUN_JSC_verboseDiskCache: "1", NODE_DISABLE_COMPILE_CACHE: "1" };
  const found = async (root: string) => (await answer(root, { ...row, env })).match(/Cache hit/g)?.length ?? 0;
  assert.deepEqual([await found(roots.whole), await found(roots.other)], [1, 0]);
  const bare = pack("bare");
  rmSync(join(bare, `${ONE}.jsc`));
  assert.equal(await found(bare), 0, "without bytecode");
  assert.match(await answer(bare, row), row.says);
  const none = pack("none", { alone: true, other: true });
  assert.match(await answer(none, row), /^1 [^]*Cannot find module/, "a file of another Bun is not taken");
});

test("a build never names the folder it was made in", LONG, () => {
  const { stdout } = spawnSync("grep", ["-rl", ROOT, join(roots.whole, "dist")], { encoding: "utf8" });
  assert.equal(stdout, "");
});

test("the one file never uses a name that neither it nor the runtime has", LONG, () => {
  const file = join(made.path, "one.js");
  copyFileSync(join(roots.whole, ONE), file);
  const flags = ["--ignoreConfig", "--allowJs", "--checkJs", "--noEmit", "--types", "", "--lib", "esnext,dom"];
  const { stdout } = spawnSync(join(BIN, "bun"), [join(BIN, "tsc"), ...flags, file], { encoding: "utf8" });
  const names = [...stdout.matchAll(/Cannot find name '(\w+)'/g)].map(([, name]) => name!);
  assert.ok(names.includes("process"), "it has looked");
  assert.deepEqual(names.filter((name) => !(name in globalThis) && !isBuiltin(name)), []);
});

test("a build fails if the one file would ask for a place that only the build has", LONG, () => {
  const copy = clone(join(made.path, "clone"));
  symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
  appendFileSync(join(copy, "lib/hooks/serve-hook.ts"), "console.assert(import.meta.filename);\n");
  const { status, stderr } = spawnSync(join(BIN, "bun"), ["run", ".ci/build.ts"], { cwd: copy, encoding: "utf8" });
  assert.equal(status, 1);
  assert.match(stderr, /Cannot bundle the hook as cli\/hook-\w+\.js lacks its bytecode, does not load or names/);
  assert.equal(existsSync(join(copy, "dist")), false);
});

test("another Bun answers the same, from the files that every runtime takes", {
  ...LONG,
  skip: skip || (!process.env.CROCHET_TEST_LONG && "it installs packages: CROCHET_TEST_LONG=1"),
}, async () => {
  const place = join(made.path, "elsewhere");
  put(place, { "package.json": '{ "private": true, "trustedDependencies": ["bun"] }' });
  add(place, "bun@1.4.0");
  const bin = join(place, "node_modules/.bin");
  assert.equal(run(place, join(bin, "bun"), "--version"), "1.4.0\n");
  const root = pack("other-bun");
  // The launcher takes a Bun beside the package first.
  rmSync(join(root, "node_modules"));
  mkdirSync(join(root, "node_modules"));
  for (const name of readdirSync(join(ROOT, "node_modules")).filter((name) => !name.startsWith("."))) {
    symlinkSync(join(ROOT, "node_modules", name), join(root, "node_modules", name));
  }
  for (const [name, row] of Object.entries(ROWS)) {
    // That Bun has a fault, and says so.
    const said = (await answer(root, row, bin)).replace(/Internal error: directory mismatch.*\n/, "");
    assert.equal(said, await answer(roots.sources, row), name);
  }
});
