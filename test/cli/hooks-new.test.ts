import assert from "node:assert/strict";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import hooks from "../../lib/cli/hooks.ts";
import type { Io } from "../../lib/cli/kit/io.ts";
import { place } from "../_place.ts";

test("hooks new writes a hook with its examples, which passes both as it is", async () => {
  using here = place();
  const made = await here.call(hooks, "new", "pre-tool-use@Bash.mine");
  const file = "hooks/pre-tool-use@Bash.mine";
  assert.equal(made.out, `wrote ${file}.ts\nwrote ${file}.examples.yaml\nnext: crochet hooks test ${file}.ts\n`);
  const { out, code } = await here.call(hooks, "check", "--runs", "3", "--seed", "7", "--json");
  assert.equal(code, 0, out);
  assert.deepEqual((JSON.parse(out) as { items: { findings: unknown[] }[] }).items.map(({ findings }) => findings), [
    [],
  ]);
  const tested = await here.call(hooks, "test", `${file}.ts`, "--set", "tool_input.command=npm unpublish x");
  assert.match(tested.out, /verdict {2}deny: Unpublishing is for people/);
});

test("the examples of a new hook name their schema for editors, where the project has it", async () => {
  const schema = "node_modules/crochet/dist/schemas/examples.json";
  using here = place({ [schema]: "{}" });
  await here.call(hooks, "new", "stop.mine");
  const [line, next] = readFileSync(`${here.cwd}/hooks/stop.mine.examples.yaml`, "utf8").split("\n");
  const [, path] = /^# yaml-language-server: \$schema=(.*)$/.exec(line!)!;
  assert.equal(join(here.cwd, "hooks", path!), join(here.cwd, schema));
  assert.match(next!, /^- event:/);
  using other = place();
  await other.call(hooks, "new", "stop.mine");
  assert.match(readFileSync(`${other.cwd}/hooks/stop.mine.examples.yaml`, "utf8"), /^- event:/);
});

test("the ending of a name is the language of a new hook", async () => {
  using here = place();
  const first = async (...args: string[]) => (await here.call(hooks, "new", ...args)).out.split("\n", 1)[0];
  assert.equal(await first("stop.mine.sh"), "wrote hooks/stop.mine.sh");
  assert.equal(await first("stop.asked.prompt.md"), "wrote hooks/stop.asked.prompt.md");
});

test("hooks new names what cannot be written, and never writes over a hook", async () => {
  using here = place({ "hooks/stop.ts": "export default () => {};\n" });
  for (
    const [args, says] of [
      [["pre-tool-us@Bash"], /did you mean 'pre-tool-use@Bash\.ts'\?/],
      [["stop", "--lang", "sh"], /Unknown flag --lang .*: did you mean 'crochet hooks new NAME\.sh'\?/],
      [["session-end.rules"], /Cannot write rules for session-end: end its name with \.ts, \.sh or \.py there/],
      [["stop"], /Cannot write hooks\/stop\.ts as it is there already: add a label/],
      [[], /Cannot run 'crochet hooks new' as it takes <event>/],
    ] as const
  ) {
    const { err, code } = await here.call(hooks, "new", ...args);
    assert.notEqual(code, 0);
    assert.match(err, says);
  }
  assert.equal(readFileSync(`${here.cwd}/hooks/stop.ts`, "utf8"), "export default () => {};\n");
});

test("hooks add takes several names, says what it copies, and copies nothing if one is unknown", async () => {
  using here = place();
  assert.equal((await here.call(hooks, "add", "guard", "gard")).code, 2);
  assert.equal(existsSync(`${here.cwd}/hooks`), false);
  const { out } = await here.call(hooks, "add", "guard", "secrets");
  assert.deepEqual(out.split("\n"), [
    "added hooks/pre-tool-use@Bash.guard.rules.yaml",
    "added hooks/pre-tool-use@Bash.guard.examples.yaml",
    "added hooks/pre-tool-use@Edit+Write.secrets.ts",
    "added hooks/pre-tool-use@Edit+Write.secrets.examples.yaml",
    "",
  ]);
});

test("hooks test --watch fires the hook again after a change, also after one that breaks it", async () => {
  using here = place({ "hooks/stop.rules": 'stop_hook_active equals "false" -> deny("first")\n' });
  const stop = new AbortController();
  const seen: string[] = [];
  const waiting: (() => void)[] = [];
  const note = (text: string) => {
    seen.push(text);
    waiting.splice(0).forEach((go) => go());
  };
  const io: Io = { out: note, err: note, tty: false, env: here.env, cwd: here.cwd, signal: stop.signal };
  const until = async (words: RegExp) => {
    while (!seen.some((text) => words.test(text))) await new Promise<void>((go) => waiting.push(go));
  };
  const running = hooks(["test", "hooks/stop.rules", "--watch"], io);
  const write = (text: string) => writeFileSync(`${here.cwd}/hooks/stop.rules`, text);
  for (
    const [text, words] of [
      [undefined, /deny: first/],
      ["nonsense\n", /^crochet: .*stop\.rules/],
      ['stop_hook_active equals "false" -> deny("second")\n', /deny: second/],
    ] as const
  ) {
    // A change right after the last one may count as part of it.
    const again = text === undefined ? undefined : setInterval(() => write(text), 300);
    await until(words);
    clearInterval(again);
  }
  stop.abort();
  assert.equal(await running, 0);
});
