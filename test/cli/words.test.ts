import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import type { Usage } from "../../lib/cli/kit/flags.ts";
import { commands, main } from "../../lib/cli/main.ts";
import { filesUnder, LIB, ROOT } from "../house/_files.ts";
import { place } from "../_place.ts";
import { typedIn } from "../_typed.ts";

const COMMANDS = await typedIn(await commands());

test("commands that programs call are in docs/reference.md and in no list of --help, and say how they are called", async () => {
  const called = COMMANDS.filter(({ isForPrograms }) => isForPrograms).map(({ typed }) => typed);
  assert.deepEqual(called.sort(), ["hook", "mcp"]);
  const page = readFileSync(new URL("../../docs/reference.md", import.meta.url), "utf8");
  const [table = ""] = /\n\| command \| who calls it \|\n[^]*?\n\n/.exec(page) ?? [];
  using here = place();
  for (const typed of called) {
    assert.ok(table.includes(`\`crochet ${typed}\``), typed);
    const words = typed.split(" ");
    const list = await here.call(main, ...words.slice(0, -1), "--help");
    assert.match(list.out, /--help shows more/);
    assert.doesNotMatch(list.out, new RegExp(`^  ${words.at(-1)} `, "m"));
    assert.match((await here.call(main, ...words, "--help")).out, new RegExp(`^crochet ${typed} `));
  }
});

const FLAGS = COMMANDS.flatMap(({ typed, usage }) =>
  usage.flags.map(([flag]) => ({ typed, flag: /^--[\w-]+/.exec(flag)![0] }))
);

test("every flag is on a page of docs", () => {
  const pages = ["README.md", "hooks/README.md", ...readdirSync(join(ROOT, "docs")).map((name) => `docs/${name}`)]
    .filter((name) => name.endsWith(".md")).map((name) => readFileSync(join(ROOT, name), "utf8")).join("\n");
  const named = new Set(pages.match(/--[\w-]+/g));
  for (const { typed, flag } of FLAGS) {
    assert.ok(named.has(flag), `${flag} of 'crochet ${typed}' is neither in docs/reference.md nor on another page`);
  }
});

test("every flag is read", () => {
  const lines = filesUnder(LIB, ".ts").flatMap((file) => readFileSync(file, "utf8").split("\n"));
  const reading = lines.filter((line) => /[fF]lags/.test(line)).flatMap((line) => line.match(/\w+/g) ?? []);
  const words = new Set([...reading, ...lines.flatMap((line) => line.match(/(?<=")\w+(?=")/g) ?? [])]);
  for (const { typed, flag } of FLAGS) {
    const key = flag.slice(2).replaceAll(/-(\w)/g, (_, letter: string) => letter.toUpperCase());
    assert.ok(words.has(key), `nothing reads ${flag} of 'crochet ${typed}'`);
  }
});

/** Some value of a flag: the first that is typed is read, and nothing begins. */
const given = ({ flags }: Usage, name: string) => {
  const [flag] = flags.find(([flag]) => flag.split(" ")[0] === `--${name}`)!;
  return flag.includes("<") ? [`--${name}`, "1"] : [`--${name}`];
};

for (const { typed, usage } of COMMANDS) {
  for (const [one, others, why] of usage.excludes ?? []) {
    test(`'crochet ${typed}' refuses --${one} with ${others.map((other) => `--${other}`).join(", ")}`, async () => {
      using here = place();
      for (const other of others) {
        const args = [...typed.split(" "), ...given(usage, one), ...given(usage, other), "--", "x"];
        const { code, out, err } = await here.call(main, ...args);
        assert.deepEqual([code, out], [2, ""]);
        assert.equal(err, `crochet: Cannot use --${other} with --${one} as ${why}: leave one of them out\n`);
      }
    });
  }
}
