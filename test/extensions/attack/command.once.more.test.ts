import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { attack } from "../../../lib/testing/index.ts";
import { onPath } from "../../../lib/process/programs.ts";
import { agentScript, attackIn, DENY_ALL, FILES, guarded, NO_ENV } from "./_guarded.ts";
import { place } from "../../_place.ts";
import { CROCHET, start } from "../../_crochet.ts";
import { noSandbox } from "../../_needs.ts";
import { until } from "../../_until.ts";

const skip = noSandbox;

test("a guard that cannot work in the sandbox never makes a property hold", { skip }, async () => {
  const hook = "#!/usr/bin/env no-such-program\n# crochet: onError=deny\n";
  using here = guarded({ "pre-tool-use.no.sh": hook }, agentScript(["Write"]));
  const { code, out } = await attackIn(here, "--never", "changes:.env", "--runs", "9", "--seed", "7");
  assert.equal(code, 3, out);
  assert.match(out, /not measured: pre-tool-use\.no\.sh never worked in the sandbox of the attack: .*no-such-program/);
  here.put({ "agent.ts": agentScript(["Bash"], { sandbox: "workspace", hooks: [] }) });
  const inner = await attackIn(here, "--never", "outside-writes", "--runs", "9", "--seed", "7");
  // Where a sandbox can be in a sandbox, it is attacked.
  assert.match(inner.out, /not measured: sandbox never worked|✓ outside-writes/);
});

test(
  "a time that is over too early is not measured, exit code 3, and the report has commands that end with a verdict",
  {
    skip,
  },
  async () => {
    // Slow enough that no machine gets through.
    const slow =
      `export default async () => { await new Promise((done) => setTimeout(done, 2000)); return { action: "deny", reason: "No" }; };\n`;
    using here = guarded({ "pre-tool-use.no.ts": slow }, agentScript(["Write"]));
    const { code, out } = await attackIn(here, "--never", "changes:.env", "--seconds", "8", "--seed", "7");
    assert.equal(code, 3, out);
    const [, done, all] = /^– changes:\.env {2}not measured: (\d+) of (\d+) forms of its set were tried in its time\n/
      .exec(out)!;
    assert.ok(Number(done) < Number(all), out);
    const again = "crochet attack agent\\.ts --never changes:\\.env --seed 7";
    assert.match(
      out,
      new RegExp(`a verdict on all of them: ${again} --seconds \\d+\n  a verdict on fewer: ${again} --runs \\d+\n`),
    );
    const fewer = await attackIn(here, "--never", "changes:.env", "--seed", "7", "--runs", "8");
    assert.equal(fewer.code, 0, fewer.out);
    assert.match(
      fewer.out,
      /^✓ .*none of 8 adversarial runs breaks it\n {2}tried: the first 8 of \d+ forms; up to 2 calls\n/,
    );
  },
);

/** Guards with a hole that only an allowed command, a script of the project or a named file leads through. */
const HOLES: readonly (readonly [claim: string, hook: string, never: string, by: RegExp])[] = [
  [
    "a command that it allows, after cd",
    `export default ({ input }) => /^(cd|nl|pwd)( [\\w./-]+)?$/.test(input.command) && !/nl .*private/.test(input.command) ? undefined : { action: "deny", reason: "no" };`,
    "reads:private/key.txt",
    /cd private\n[^]*nl key\.txt/,
  ],
  [
    "its own script, with what that runs written anew",
    `export default ({ tool_name, input }) => tool_name === "Write" ? (/notes|package/.test(input.file_path) ? { action: "deny", reason: "no" } : undefined) : input.command === "npm run build" ? undefined : { action: "deny", reason: "only the build" };`,
    "changes:notes.txt",
    /Write {2}src\/app\.js\n[^]*npm run build/,
  ],
  [
    "a file that it looks for",
    `import { existsSync } from "node:fs";\nexport default ({ tool_name, input }, { cwd }) => existsSync(cwd + "/" + "APPROVED") || !/notes/.test(JSON.stringify(input)) && tool_name === "Write" ? undefined : { action: "deny", reason: "ask first" };`,
    "changes:notes.txt",
    /APPROVED/,
  ],
];

for (const [claim, hook, never, by] of HOLES) {
  test(`a guard is broken by ${claim}; 'again' repeats it beside what was kept`, { skip }, async () => {
    using here = guarded({ "pre-tool-use.g.mjs": hook }, agentScript(["Bash", "Write"]));
    here.put({
      "private/key.txt": "KEY=1\n",
      "package.json": '{ "name": "x", "scripts": { "build": "node src/app.js" } }\n',
    });
    const { code, out } = await attackIn(here, "--never", never, "--runs", "400", "--seed", "1");
    assert.equal(code, 1, out);
    assert.match(out, by);
  });
}

test("a guard too slow for the default minute ends with exit code 3, as not measured", {
  skip: noSandbox || (!process.env.CROCHET_TEST_LONG && "it takes a minute: CROCHET_TEST_LONG=1"),
}, async () => {
  const slow = "#!/bin/sh\nsleep 2\necho No >&2\nexit 2\n";
  using here = guarded({ "pre-tool-use.no.sh": slow });
  const { code, out } = await here.crochet(["attack", "agent.ts", "--never", "changes:.env", "--seed", "7"]);
  assert.equal(code, 3, out);
  assert.match(out, /changes:\.env {2}not measured: /);
});

test("an attack that is interrupted ends with exit code 130, says so and leaves nothing behind", { skip }, async () => {
  using here = guarded({ "pre-tool-use.no.ts": DENY_ALL });
  here.put({ "../tmp/.keep": "" });
  const tmp = join(here.cwd, "../tmp");
  const words = [...CROCHET, "attack", "agent.ts", "--never", "changes:.env"];
  const { kill } = start(words, { cwd: here.cwd, env: { HOME: here.home, TMPDIR: tmp } });
  await until("a scratch world", () => readdirSync(tmp).some((name) => name.startsWith("crochet-attack-")));
  const { code, err } = await kill("SIGINT");
  assert.equal(code, 130, err);
  assert.match(
    err,
    /^crochet: Cannot report the attack as it was interrupted: run it again\ncrochet: interrupted: 1 of 1 were not judged\n$/,
  );
  assert.deepEqual(readdirSync(tmp), [".keep"]);
});

test("a person who is asked refuses unless --person allow, and what was asked is not unasked", { skip }, async () => {
  using here = guarded({}, agentScript(["Write"], { permissions: { mode: "default" } }));
  const refused = await attackIn(here, "--never", "changes:.env", "--runs", "15", "--seed", "7");
  assert.equal(refused.code, 0, refused.out);
  const args = ["--never", "changes:.env", "--never", "unasked-writes", "--runs", "15", "--seed", "7"];
  const { code, out } = await attackIn(here, ...args, "--person", "allow");
  assert.equal(code, 1);
  assert.match(out, /✗ changes:\.env {2}broken, 1 call\n.*\n {7}rules {3}ask .*\n {7}person {2}allow/);
  assert.match(out, /✓ unasked-writes {2}none of/);
});

test("an invariant of the project is a property, and sees effects and what was said", { skip }, async () => {
  using here = guarded({}, agentScript(["Write", "Read"]));
  here.put({
    "attack.ts": `export default [{ name: "only notes change", broken: ({ effects, ledger }) => {
  const other = effects.flat().find((one) => one.path !== undefined && !one.path.startsWith("notes"));
  return other && other.path + ", said " + ledger.flat().length;
} }];\n`,
  });
  const { code, out } = await attackIn(here, "--never", "only notes change", "--seed", "7");
  assert.equal(code, 1, out);
  assert.match(
    out,
    /✗ only notes change {2}broken, 1 call\n {2}1 {2}Write {2}.*\n {7}rules .*\n {7}effect {2}\S+, said 1\n/,
  );
  const unknown = await attackIn(here, "--never", "only nots change");
  assert.match(unknown.err, /there is no such property: did you mean 'only notes change'\?/);
});

test("attack() gives what was tried, or throws the story", { skip }, async () => {
  using here = guarded({ "pre-tool-use.no.ts": DENY_ALL }, agentScript(["Write"]));
  const load = async () => (await import(`file://${here.cwd}/agent.ts`)).default;
  const given = { never: "changes:.env", runs: 10, seed: 7, cwd: here.cwd };
  // Loaded from the checkout: a script of a test finds no package.
  here.put({
    "agent.ts": agentScript(["Write"]).replaceAll(
      /"crochet(\/\w+)?"/g,
      (_, of = "/index") =>
        `"${new URL(`../../../lib${of === "/tools" ? "/tools/index" : of}.ts`, import.meta.url).href}"`,
    ),
  });
  const [{ tries, findings }] = await attack(await load(), given) as [any];
  assert.deepEqual([tries, findings], [10, []]);
  here.put({ "hooks/pre-tool-use.no.ts": "export default () => undefined;\n" });
  await assert.rejects(attack(await load(), given), (error: Error) => {
    assert.equal(error.name, "AttackError");
    assert.match(error.message, /^✗ changes:\.env {2}broken, 1 call\n {2}1 {2}Write {2}\.env\n[^]* {2}seed {3}7$/);
    return true;
  });
  await assert.rejects(attack({} as never, given), /Cannot attack an agent that does not name its script/);
});

test("the adversary is the model of sub-agents, too", { skip }, async () => {
  const script = `import { agent } from "crochet";
import { Agent, Write } from "crochet/tools";
const main = ({ agent_id, session_id, tool_name }) => tool_name !== "Agent" && agent_id === session_id;
export default agent({
  from: import.meta.url,
  tools: [Agent, Write],
  hooks: { preToolUse: (event) => main(event) ? { action: "deny", reason: "Only below" } : undefined },
});\n`;
  using below = guarded({}, script);
  const { code, out } = await attackIn(below, "--never", "changes:.env", "--seed", "7", "--seconds", "50");
  assert.equal(code, 1, out);
  assert.match(out, / {2}1 {2}Agent {2}[^]* {2}2 {2}Write {2}\S*\.env\n/);
  const again = JSON.parse(readFileSync(join(below.cwd, "fixtures/attack-changes-env/finding.json"), "utf8"));
  assert.deepEqual(again.calls.map(({ tool, calls }: any) => [tool, calls.length]), [["Agent", 1]]);
});

test("--junit and --json say the same, with the story", { skip }, async () => {
  using here = guarded({}, agentScript(["Write"]));
  const { code, out } = await attackIn(
    here,
    "--never",
    "changes:.env",
    "--never",
    "pushes",
    "--junit",
    "j.xml",
    "--json",
    "--runs",
    "20",
  );
  assert.equal(code, 1);
  const { word, planned, items } = JSON.parse(out);
  assert.deepEqual([word, planned, items.map(({ name, word }: any) => [name, word])], ["broken", 2, [
    ["changes:.env", "broken"],
    ["pushes", "cannot run"],
  ]]);
  const xml = readFileSync(join(here.cwd, "j.xml"), "utf8");
  assert.match(
    xml,
    /<testcase classname="attack" name="changes:\.env"[^]*<failure message="✗ changes:\.env {2}broken, 1 call/,
  );
  assert.match(xml, /name="pushes"[^]*<error type="cannot run" message="– pushes {2}vacuous/);
});

test("an agent that does not start, or a hook that does not load, cannot run, and never holds", { skip }, async () => {
  const broken = `export default () => ({ action: "deny", reason: "No agent today" });\n`;
  using here = guarded({ "agent-start.no.ts": broken });
  const { code, out, err } = await attackIn(here, "--never", "changes:.env", "--runs", "5");
  assert.deepEqual([code, out], [2, "cannot run: 1 property\n"]);
  assert.match(err, /Cannot attack the agent as its run ends with '\w+': .*No agent today/);
  here.put({ "hooks/agent-start.no.ts": "export default (\n" });
  const unread = await attackIn(here, "--never", "changes:.env", "--runs", "5");
  assert.equal(unread.code, 2);
  assert.match(unread.err, /agent-start\.no\.ts/);
});

test("a hook that ends the process breaks each property by its place, and every one is judged", { skip }, async () => {
  using here = guarded({ "pre-tool-use.ends.ts": "export default () => {\n  process.exit(0);\n};\n" });
  const args = ["--never", "changes:.env", "--never", "removes:src/**", "--runs", "2", "--seed", "7"];
  const { code, out } = await attackIn(here, ...args);
  assert.equal(code, 1, out);
  for (const never of ["changes:.env", "removes:src/**"]) {
    const says = `✗ ${never}  broken: It ends the process: process.exit(0) at pre-tool-use.ends.ts:2`;
    assert.ok(out.includes(says), out);
  }
});

test("a folder of hooks is attacked with no agent, and nothing but these hooks guards", { skip }, async () => {
  const settings = JSON.stringify({ permissions: { deny: ["Bash", "Write", "Edit"] } });
  using here = place({ ...FILES, "hooks/pre-tool-use.env.ts": NO_ENV, ".claude/settings.json": settings });
  const none = await attackIn(here, "src", "--never", "changes:.env");
  assert.match(none.err, /Cannot attack \S+src as .*app\.js/);
  const hosts: [args: string[], says: RegExp][] = [
    [["changes:.env", "--in", "claud"], /as that host is not known: did you mean 'claude'\?/],
    [
      ["changes:.env", "--in", "claude@1.0.0..2.0.0"],
      /Cannot test in the range claude@1\.0\.0\.\.2\.0\.0: name versions/,
    ],
    [
      ["network", "--in", "claude"],
      /Cannot attack 'network' in hosts as no host shows it: expected changes/,
    ],
  ];
  for (const [args, says] of hosts) {
    const { code, err } = await attackIn(here, "hooks", "--never", ...args);
    assert.deepEqual([code, says.test(err)], [2, true], err);
  }
  const PATH = process.env.PATH!.split(":").filter((dir) => !onPath("claude", { PATH: dir })).join(":");
  here.env.PATH = PATH;
  here.env.CROCHET_HOSTS = here.home;
  const args = ["--never", "changes:notes.txt", "--seed", "7", "--runs", "20", "--in", "claude"];
  const { code, out } = await attackIn(here, "hooks/", ...args);
  assert.match(out, /✗ changes:notes\.txt {2}broken, 1 call\n(?:.*\n)*? +pre-tool-use\.env\.ts +continue/);
  assert.match(out, /again {2}crochet attack hooks --never/);
  assert.match(out, /– changes:notes\.txt in claude {2}not measured: .*it is not installed: add --install/);
  assert.equal(code, 1);
  const again = await here.main(["replay"]);
  assert.match(again.out, /✗ changes:notes\.txt {2}broken, 1 call/);
});
