import assert from "node:assert/strict";
import { existsSync, lstatSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import hooks from "../../lib/cli/hooks.ts";
import { loadAgent } from "../../lib/cli/kit/script.ts";
import { main } from "../../lib/cli/main.ts";
import { trust } from "../../lib/hooks/hook-trust.ts";
import { CROCHET, ended, type Exit } from "../_crochet.ts";
import { logText } from "../_log.ts";
import { ROOT } from "../house/_files.ts";
import { noSandbox } from "../_needs.ts";
import { place } from "../_place.ts";

const LOG = logText("x", []);

const FILES = {
  "plain.ts": "export const x = 1;\n",
  "syntax.ts": "export default {\n",
  "throws.ts": `throw new Error("no luck");\nexport default 1;\n`,
  "bad.json": "{ bad",
  "fixtures/torn/tape.jsonl": '{"tape":1',
  ".crochet/runs/torn.jsonl": `${LOG}{"note":{"type`,
  ".crochet/runs/other.jsonl": "garbage\n",
  ".crochet/runs/twin-1.jsonl": LOG,
  ".crochet/runs/twin-2.jsonl": LOG,
  ".crochet/runs/damaged.jsonl": "garbage\nmore\n",
  "hooks/pre-tool-uze.ts": "export default () => undefined;\n",
  "hooks/stop.broken.ts": "export default {\n",
  "hooks.yaml": "- : [",
};

/** What is typed, the exit code, and the one line that is said. */
const CASES: readonly (readonly [args: readonly string[], code: number, words: RegExp])[] = [
  [["run", "plain.ts", "hi"], 2, /plain\.ts' as its default export is not an agent: export default agent/],
  [["run", "syntax.ts", "hi"], 1, /Cannot load '.*syntax\.ts' as .*syntax\.ts:\d+:\d+/],
  [["run", "throws.ts", "hi"], 1, /Cannot load '.*throws\.ts' as no luck: .*throws\.ts:1:\d+/],
  [["run"], 2, /no prompt: crochet run "/],
  [["run", "--settings", "none.json", "hi"], 2, /--settings none\.json as there is no such file/],
  [["run", "--settings", "bad.json", "hi"], 2, /--settings bad\.json as .* line 1, column/],
  [["run", "--hooks", "none", "hi"], 2, /Cannot take hooks from 'none'/],
  [["run", "--cwd", "none", "hi"], 2, /no such directory/],
  [["run", "--permission-mode", "wild", "hi"], 2, /'wild' as it is unknown: expected default/],
  [["run", "hi", "--model"], 2, /--model as its value is missing/],
  [["run", "--max-iterations", "many", "hi"], 2, /--max-iterations many as it is not a number/],
  [["run", "--model", "nobody-knows", "--budget", "1", "hi"], 2, /price of model 'nobody-knows' is unknown/],
  [["run", "--output", "xml", "hi"], 2, /expected text, json or stream-json/],
  [
    ["run", "--on", "http://127.0.0.1:9", "--budget", "much", "hi"],
    2,
    /--budget much as it is neither dollars nor tokens: --budget 5/,
  ],
  [
    ["run", "--on", "http://127.0.0.1:9", "--hooks", "hooks", "hi"],
    2,
    /--hooks with --on as a worker runs the agent: leave/,
  ],
  [["run", "--resume", "none", "hi"], 2, /no run of that id/],
  [["chat"], 2, /this is not a terminal: use crochet run/],
  [["record", "plain.ts", "hi"], 2, /default export is not an agent/],
  [["replay", "none"], 2, /no such fixture: crochet record/],
  [["fixtures", "show", "torn"], 1, /tape\.jsonl as its last line is cut off/],
  [["fixtures", "import", "none"], 2, /no such file/],
  [["hooks", "explain", "other"], 1, /other\.jsonl as line 1 is not JSON/],
  [["hooks", "explain", "none"], 2, /no such run/],
  [["hooks", "explain", "twin"], 2, /Several runs begin with 'twin': twin-[12], twin-[12]$/m],
  [["hooks", "test", "none.ts"], 2, /none\.ts/],
  [["hooks", "test", "hooks/pre-tool-uze.ts"], 2, /pre-tool-use/],
  [["hooks", "check", "none.ts"], 2, /no such file or folder/],
  [["hooks", "--cwd", "none"], 2, /Unknown flag --cwd for 'crochet hooks ls': did you mean 'cd DIR'\?/],
  [["hooks", "stats", "more"], 2, /'crochet hooks stats more' as it takes no words: crochet hooks stats/],
  [["hooks", "enable", "none"], 2, /no such hook here/],
  [["hooks", "install", "--for", "cladue"], 2, /did you mean 'claude'/],
  [["runs", "show", "damaged"], 1, /damaged\.jsonl as line 1 is not JSON/],
  [["runs", "show", "../../x"], 2, /as a transcript id/],
  [["view", "other"], 1, /other\.jsonl as line 1 is not JSON/],
  [["view", "twin-"], 2, /Several runs begin with 'twin-': twin-[12], twin-[12]$/m],
  [["view", "none"], 2, /no such run, fixture or log/],
  [["tool", "Bash", "{bad"], 2, /not JSON/],
  [["tool", "Bsah", "{}"], 2, /did you mean 'Bash'/],
  [["trust", "none"], 2, /no such directory/],
  [["init", "plain.ts"], 2, /it is a file: name a directory/],
  [["agent", "settings", "../x"], 2, /not an id/],
  [["worker", "--port", "many"], 2, /--port many as it is not a whole number from 0 to 65535/],
];

for (const [args, code, words] of CASES) {
  test(`'crochet ${args.join(" ")}' says what is wrong in one line, exit code ${code}`, async () => {
    using here = place(FILES);
    const done = await here.call(main, ...args);
    assert.equal(done.code, code, done.err);
    assert.match(done.err, words);
    const own = done.err.split("\n").filter((line) => line !== "" && !/crochet trust/.test(line));
    assert.equal(own.length, 1, done.err);
    assert.match(own[0]!, /^crochet: [A-Z]/);
  });
}

test("'crochet hooks explain' reads a log whose last line is cut off, and says so", async () => {
  using here = place(FILES);
  const { code, err } = await here.call(main, "hooks", "explain", "torn");
  assert.equal(code, 0);
  assert.match(err, /^crochet: Its last line is cut off$/m);
});

test("one stored session that cannot be read hides no other", async () => {
  using here = place(FILES);
  here.put({ ".crochet/runs/empty.jsonl": "" });
  const { code, out } = await here.call(main, "runs", "ls");
  assert.equal(code, 1);
  assert.match(out, /damaged {2}cannot be read\n.*line 1 is not JSON/);
  assert.match(out, /^empty {2}unfinished/m);
});

test("malformed YAML and hooks that do not load are named, one by one, and the others still load", async () => {
  using here = place({ ...FILES, "hooks/stop.fine.ts": "export default () => undefined;\n" });
  trust(here.cwd, here.env);
  const { code, out } = await here.call(main, "hooks", "--json");
  assert.equal(code, 1);
  const { hooks, problems } = JSON.parse(out);
  assert.ok(hooks.some((hook: { name: string }) => hook.name === "stop.fine.ts"));
  assert.equal(problems.length, 3);
  for (const words of [/pre-tool-uze\.ts.*pre-tool-use/, /stop\.broken\.ts/, /hooks\.yaml:\d+:\d+ .*YAML/]) {
    assert.ok(problems.some((problem: string) => words.test(problem)), String(words));
  }
});

/** A command line with its output somewhere else, as a shell would run it. */
function shell(line: string, cwd: string): Promise<Exit> {
  const crochet = CROCHET.map((word) => `'${word}'`).join(" ");
  return ended(["bash", "-c", `set -o pipefail; crochet() { ${crochet} "$@"; }; ${line}`], { cwd, env: { HOME: cwd } });
}

test("if the state folder cannot be written, a run says how to choose another, and a hook is still tested", async () => {
  using here = place({ "hooks/stop.no.ts": `export default () => ({ action: "deny", reason: "not yet" });` });
  const failed = "crochet: Cannot write to /sys/crochet/";
  const fix = ": set CROCHET_HOME to a folder of yours\n";
  const ran = await shell("CROCHET_HOME=/sys/crochet ANTHROPIC_API_KEY=none crochet run --hooks hooks hi", here.cwd);
  assert.deepEqual([ran.code, ran.err], [1, `${failed}runs${fix}`]);
  const tested = await shell("CROCHET_HOME=/sys/crochet crochet hooks test hooks/stop.no.ts", here.cwd);
  assert.deepEqual([tested.code, tested.err], [0, ""]);
  assert.match(tested.out, /verdict +deny: not yet/);
});

test("a reader that goes away ends a command quietly", async () => {
  using here = place();
  for (
    const line of [
      "crochet hooks check --help | head -n 1",
      "crochet help | true",
      "crochet hooks add --json | head -n 1",
    ]
  ) {
    const { err } = await shell(line, here.cwd);
    assert.equal(err, "", line);
  }
});

const NO_FULL = existsSync("/dev/full") ? false : "there is no /dev/full here";

test("a full disk is said in one line, exit code 1", { skip: NO_FULL }, async () => {
  using here = place();
  for (const line of ["crochet help > /dev/full", "crochet hooks add --json > /dev/full"]) {
    const { code, err } = await shell(line, here.cwd);
    assert.deepEqual([code, err], [
      1,
      "crochet: Cannot write the output as the disk is full: make room, then try again\n",
    ], line);
  }
  const hook = { "hooks/notification.sh": "exit 0\n" };
  using project = place(hook);
  const { err } = await project.call(hooks, "check", "hooks", "--runs", "1", "--junit", "/dev/full");
  const said = "crochet: Cannot write /dev/full as the disk is full: make room, then try again\n";
  assert.equal(err, said);
  // A page to a device is written into it, and never put in its place.
  for (const page of [["ls"], ["check", "hooks", "--runs", "1"]]) {
    assert.match((await project.call(hooks, ...page, "--out", "/dev/full")).err, new RegExp(`^${said}`, "m"));
  }
  assert.ok(lstatSync("/dev/full").isCharacterDevice());
});

test(
  "a full disk names the file that it lacks: the log of a run, or its folder's .gitignore",
  { skip: noSandbox },
  async () => {
    using here = place({
      "agent.ts": `import { agent } from "${ROOT}/lib/index.ts";
import { scripted } from "${ROOT}/lib/models/scripted.ts";
export default agent({ from: import.meta.url, model: scripted([], { then: { text: "hello" } }) });
`,
      "disk/none": "",
    });
    const disk = join(here.cwd, "disk");
    const full = ["bwrap", "--dev-bind", "/", "/", "--size", "65536", "--tmpfs", disk, "--chdir", disk] as const;
    for (const [left, name] of [[0, ".gitignore"], [4096, "\\S+.jsonl"]] as const) {
      const fill = ["sh", "-c", `head -c ${65_536 - left} /dev/zero > fill; exec "$@"`, "sh"];
      const words = [...full, ...fill, ...CROCHET, "run", "../agent.ts", "hi"] as const;
      const { code, err } = await ended(words, { cwd: here.cwd, env: { HOME: here.home } });
      assert.equal(code, 1, err);
      const said =
        `^crochet: Cannot write \\S+/disk/\\.crochet/runs/${name} as the disk is full: make room, then try again$`;
      assert.match(err, new RegExp(said, "m"));
    }
  },
);

test("a script that waits forever at its top level times out once for all fixtures, and ends when interrupted", async () => {
  using here = place({ "waits.ts": "await new Promise(() => {});\nexport default 1;\n" });
  const [script, signal] = [join(here.cwd, "waits.ts"), new AbortController().signal];
  const late = /^Error: Cannot load '\S+waits\.ts' as it has not loaded after 0\.2 s: wait for things only if \(import/;
  const load = () => loadAgent(script, { signal, seconds: 0.2 });
  await Promise.all([assert.rejects(load(), late), assert.rejects(load(), late)]);
  const later = [load().catch(() => "who comes later waits no more"), sleep(200)];
  assert.equal(await Promise.race(later), "who comes later waits no more");
  const interrupt = new AbortController();
  const loading = loadAgent(script, interrupt);
  interrupt.abort();
  await assert.rejects(loading, /as it was interrupted before it had loaded$/);
});
