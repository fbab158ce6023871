import assert from "node:assert/strict";
import {
  copyFileSync,
  cpSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { after, test } from "node:test";
import type { Extension } from "../../lib/cli/kit/extension.ts";
import { EXTENSIONS } from "../../lib/extensions/list.ts";
import { SMOKE } from "../cli/_smoke.ts";
import { ended, type Exit } from "../_crochet.ts";
import { OUR_RUNTIME } from "../_runtime.ts";
import { put, scratch } from "../_scratch.ts";
import { ROOT } from "./_files.ts";

const folder = scratch();
after(() => folder[Symbol.dispose]());
const [copy, project] = [join(folder.path, "crochet"), join(folder.path, "project")];
const within = (...names: string[]) => join(copy, "lib/extensions", ...names);
const LISTS = ["list.ts", "testing.ts", "early.ts"];

for (const name of ["lib", "package.json"]) cpSync(join(ROOT, name), join(copy, name), { recursive: true });
symlinkSync(join(ROOT, "node_modules"), join(copy, "node_modules"));
for (const name of ["away", "home"]) mkdirSync(join(folder.path, name));
put(copy, {
  "tsconfig.json": JSON.stringify({ extends: join(ROOT, "tsconfig.json"), include: ["lib"] }),
});
put(project, {
  "agent.ts": `import { agent } from "${copy}/lib/index.ts";
import { scripted } from "${copy}/lib/models/scripted.ts";
export default agent({ from: import.meta.url, model: scripted([], { then: { text: "hello" } }) });
`,
  "hooks/pre-tool-use@Bash.no.ts": `export default () => ({ action: "deny", reason: "Not here" });\n`,
});

const crochet = (...words: string[]): Promise<Exit> =>
  ended([...OUR_RUNTIME, join(copy, "lib/cli/main.ts"), ...words], {
    cwd: project,
    env: { HOME: join(folder.path, "home") },
  });

/** Types of the copy, by what is known of the whole one: what a folder that is gone does not reach is not checked again. */
async function types(): Promise<string> {
  const known = join(folder.path, "known");
  const now = isWhole ? known : join(folder.path, "now");
  if (!isWhole) copyFileSync(known, now);
  const words = [join(ROOT, "node_modules/.bin/tsc"), "--noEmit", "--incremental", "--tsBuildInfoFile", now] as const;
  return (await ended(words, { cwd: copy })).out;
}

let isWhole = true;

/** Does something without some extensions, and without their lines. */
async function without(names: readonly string[], work: () => Promise<void>): Promise<void> {
  const lists = LISTS.map((file) => [within(file), readFileSync(within(file), "utf8")] as const);
  for (const [path, text] of lists) writeFileSync(path, withoutLines(text, names));
  for (const name of names) renameSync(within(name), join(folder.path, "away", name));
  isWhole = false;
  try {
    await work();
  } finally {
    isWhole = true;
    for (const name of names) renameSync(join(folder.path, "away", name), within(name));
    for (const [path, text] of lists) writeFileSync(path, text);
  }
}

function withoutLines(text: string, names: readonly string[]): string {
  const isOf = (line: string) => names.some((name) => line.includes(`"./${name}/`));
  const imported = text.split("\n").filter(isOf).map((line) => /^import \{ (\w+) \}/.exec(line)?.[1]);
  const left = text.split("\n").filter((line) => !isOf(line) && !imported.includes(line.trim().replace(/,$/, "")));
  return left.join("\n");
}

/** The extension and those that need it, or need what needs it. */
function withThoseThatNeed(name: string): string[] {
  const above = EXTENSIONS.filter(({ needs }) => needs?.includes(name)).flatMap((one) => withThoseThatNeed(one.name));
  return [...new Set([name, ...above])];
}

/** The words that a help offers. */
const offered = ({ out }: Exit) => [...out.matchAll(/^ {2}([a-z]+) {2,}/gm)].map(([, word]) => word!);

/** None of its commands is offered, and each is refused with the nearest word of those that are. */
async function expectGone(gone: readonly Extension[]): Promise<void> {
  for (const typed of gone.flatMap(({ commands }) => Object.keys(commands))) {
    const words = typed.split(" ");
    const [word, above] = [words.pop()!, words];
    const known = offered(await crochet(...above, "--help"));
    assert.ok(known.length > 3 && !known.includes(word), `${typed}: ${known}`);
    const { code, out, err } = await crochet(...above, word);
    assert.deepEqual([code, out], [2, ""], typed);
    const [, meant] = /^crochet: Unknown command '[a-z ]+': did you mean 'crochet ([a-z -]+)'\?\n$/.exec(err) ?? [err];
    const last = meant?.split(" ").pop();
    assert.ok([...known, "help", "--help", "--json", "--version"].includes(last!), `${typed}: ${err}`);
  }
}

test("the whole package type-checks in the copy, and a folder that is gone while its lines are not is noticed", async () => {
  assert.equal(await types(), "");
  await without([], async () => {
    renameSync(within("build"), join(folder.path, "away/build"));
    assert.match(await types(), /lib\/extensions\/list\.ts.*Cannot find module '\.\/build\/extension\.ts'/);
    renameSync(join(folder.path, "away/build"), within("build"));
  });
});

for (const { name } of EXTENSIONS) {
  const names = withThoseThatNeed(name);
  const others = names.slice(1).map((one) => ` with ${one}`).join(",");
  test(`without ${name}${others}: types check, no help names its commands, and each exits 2 with the nearest word`, async () => {
    await without(names, async () => {
      assert.equal(await types(), "");
      await expectGone(EXTENSIONS.filter((one) => one.name === name));
    });
  });
}

const { trust, run, record, replay, hooks } = SMOKE;
const KERNEL = [
  ...Object.entries({ trust, run, record, replay, hooks }).map(([name, one]) => ({
    ...one!,
    words: [name, ...one!.words],
  })),
  { words: ["hooks", "test", "hooks/pre-tool-use@Bash.no.ts"], says: /verdict {2}deny: Not here/ },
  { words: [], says: /\nNext\n {2}crochet replay .*\n {2}crochet hooks .*\n\n/ },
  { words: ["hooks", "new", "stop.mine"], says: /^wrote hooks\/stop\.mine\.ts\n/ },
  {
    words: ["hooks", "test", "hooks/pre-tool-use@Bash.no.ts", "--in", "claude-code"],
    code: 2,
    says: /^crochet: Cannot use --in as no extension here does what it asks for: leave it out\n$/,
  },
  {
    words: ["replay", "--faults"],
    code: 2,
    says: /^crochet: Cannot use --faults as no extension here does what it asks for: leave it out\n$/,
  },
  {
    words: ["record", "--", "true"],
    code: 2,
    says: /^crochet: Cannot use '--' as no extension here does what it asks for: leave it out\n$/,
  },
];

test("without any: types check, and run, record, replay and hooks ls, test and new work; a finding cannot run", async () => {
  await without(EXTENSIONS.map(({ name }) => name), async () => {
    assert.equal(await types(), "");
    await expectGone(EXTENSIONS);
    for (const { words, code = 0, says } of KERNEL) {
      const { out, err, ...exit } = await crochet(...words);
      assert.equal(exit.code, code, `${words.join(" ")}: ${out}${err}`);
      assert.match(code === 0 ? out : err, says);
    }
    put(project, { "fixtures/bad/finding.json": '{ "by": "attack" }', "fixtures/bad/tape.jsonl": "{}\n" });
    const { code, out } = await crochet("replay", "bad", "--trust");
    assert.equal(code, 2, out);
    assert.match(out, /^bad +cannot run [^]*\n {2}Cannot replay bad as no extension here is named 'attack'\n/m);
    const [kept] = readdirSync(join(project, "fixtures")).filter((name) => name !== "bad");
    put(project, { [`fixtures/${kept}/${kept}.fault.json`]: "[]\n" });
    const again = await crochet("replay", kept!, "--trust");
    assert.equal(again.code, 2, again.out);
    assert.match(
      again.out,
      /Cannot replay \w+ as no extension here tries again the faults that are kept beside its tape\n/,
    );
  });
});
