import assert from "node:assert/strict";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { type ScriptedReply, scriptedServer } from "crochet/testing";
import { main } from "../../lib/cli/main.ts";
import trust from "../../lib/cli/trust.ts";
import { CROCHET, ended, type Exit } from "../_crochet.ts";
import { type Place, place } from "../_place.ts";

/** Does what asks a model, which is a scripted server. */
async function answered(
  replies: readonly ScriptedReply[],
  work: (env: Record<string, string>) => Promise<Exit>,
): Promise<Exit & { requests: number }> {
  await using server = await scriptedServer(replies, { then: { text: "nothing left to say" } });
  const exit = await work({ ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url });
  return { ...exit, requests: server.requests.length };
}

/** Runs a program in a place. */
const run = (here: Place, words: readonly [string, ...string[]], replies: readonly ScriptedReply[]) =>
  answered(replies, (env) => ended(words, { cwd: here.cwd, env: { HOME: here.home, ...env } }));

const crochet = (here: Place, args: readonly string[], replies: readonly ScriptedReply[] = []) =>
  answered(replies, (env) => here.main(args, env));

test("the built-in agent changes files by Edit and Write alone, as hosts do: guards of these see every change", async () => {
  using here = place();
  await using server = await scriptedServer([{ text: "hi" }]);
  await here.main(["run", "go"], { ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url });
  const { tools } = server.requests[0]!.body as { tools: { name: string; input_schema: { properties: object } }[] };
  const onFiles = tools.filter((tool) => "file_path" in tool.input_schema.properties).map((tool) => tool.name);
  assert.deepEqual(onFiles.toSorted(), ["Edit", "Read", "Write"]);
});

test("a hook that lets an error fall, prints or would end the process ends no run, and stdout is what was asked for", async () => {
  const stray = `export default async (event, { sleep }) => {
    if (event.stop_hook_active) return;
    setTimeout(() => { throw new Error("late"); }, 1);
    Promise.reject(new Error("floating"));
    await sleep(20);
    return { action: "deny", reason: "once more" };
  };`;
  const loud = `console.log("loaded"); export default () => console.log("looks");`;
  const exit = "export default async () => { await 1; process.exit(0); };";
  using here = place({ "hooks/stop.stray.ts": stray, "hooks/stop.loud.ts": loud, "hooks/stop.exit.ts": exit });
  const words = [...CROCHET, "run", "--trust", "--output", "json", "go"] as const;
  const { code, out, err, requests } = await run(here, words, [{ text: "one" }, { text: "two" }]);
  assert.deepEqual([code, JSON.parse(out).text, requests], [0, "two", 2], err);
  assert.match(err, /^loaded$/m);
  assert.match(err, /^looks$/m);
  assert.match(err, /Hook stop\.exit\.ts failed on stop: Cannot call process\.exit\(0\) in a hook/);
});

test("a hook that would end the process while it is loaded is named", async () => {
  using here = place({ "hooks/stop.exit.ts": "process.exit(0);" });
  const { code, err } = await run(here, [...CROCHET, "run", "--trust", "go"], [{ text: "one" }]);
  assert.equal(code, 0);
  assert.match(err, /stop\.exit\.ts.* it ends the process, process\.exit\(0\) at stop\.exit\.ts:1: export a function/);
});

test("run --output json prints one Result; stream-json one event a line, the Result last", async () => {
  using here = place();
  const json = JSON.parse((await crochet(here, ["run", "--output", "json", "go"], [{ text: "hi" }])).out);
  assert.deepEqual([json.stop, json.text, json.messages.length], ["done", "hi", 2]);
  const { out } = await crochet(here, ["run", "--output", "stream-json", "go"], [{ text: "hi" }]);
  const lines = out.trim().split("\n").map((line) => JSON.parse(line));
  assert.equal(lines[0].type, "start");
  assert.deepEqual([lines.at(-1).type, lines.at(-1).stop], ["result", "done"]);
});

test("a mistake is one clear line in a process of its own too, never a stack trace", async () => {
  using here = place({ "plain.ts": "export const x = 1;\n" });
  for (const [args, words] of [[["rnu"], /Unknown command/], [["run", "plain.ts", "go"], /is not an agent/]] as const) {
    const { code, out, err } = await here.crochet(args);
    assert.deepEqual([code, out], [2, ""]);
    assert.match(err, words);
    assert.match(err, /^crochet: [^\n]*\n$/);
  }
});

test("a broken config names its file, the field and the fix", async () => {
  for (
    const [text, words] of [
      ["modl: x\n", /there is no setting 'modl': did you mean 'model'/],
      ["permissions.mode: plan\n", /there is no setting 'permissions\.mode': did you mean 'permissions'/],
      [
        "permissions: { denny: [Bash] }\n",
        /there is no setting 'permissions\.denny': did you mean 'permissions\.deny'/,
      ],
      ["permissions: { deny: [5] }\n", /'permissions\.deny' must be a list of rules/],
      ["mcp: { x: { command: y } }\n", /there is no setting 'mcp\.x': did you mean 'mcp\.servers'/],
      ["limits: { iterations: -1 }\n", /'iterations'/],
      ["limits: 3\n", /'limits' must have iterations/],
      ["permissions: [Bash]\n", /'permissions' must have mode, allow, ask or deny/],
      ["hooks: { env: A_TOKEN }\n", /'hooks\.env' must be a list of names/],
      ["memory: NOTES.md\n", /'memory' must be true, false or a list of files/],
      ["a: [", /not YAML/],
    ] as const
  ) {
    using here = place({ ".crochet/config.yaml": text });
    const { code, err } = await here.call(main, "run", "go");
    assert.equal(code, 2);
    assert.match(err, /config\.yaml/);
    assert.match(err, words);
  }
});

test("a run that hits a limit exits 1 and says which; one that a hook drops exits 0", async () => {
  using here = place({ "mine/user-prompt-submit.no.sh": "#!/bin/sh\necho not today >&2; exit 2\n" });
  const look = { tools: [{ name: "Glob", input: { pattern: "*" } }] };
  const limited = await crochet(here, ["run", "--max-iterations", "1", "go"], [look]);
  assert.equal(limited.code, 1);
  assert.match(limited.err, /limit of 1 model calls/);
  const tokens = await crochet(here, ["run", "--budget", "0.01k", "go"], [look]);
  assert.equal(tokens.code, 1);
  assert.match(tokens.err, /ended at its budget/);
  const dropped = await crochet(here, ["run", "--hooks", "mine", "go"]);
  assert.deepEqual([dropped.code, dropped.requests], [0, 0]);
  assert.match(dropped.out, /not today/);
});

const MAKE: ScriptedReply = { tools: [{ name: "Bash", input: { command: "touch made" } }] };

test("without a terminal every refused call is one line on stderr, with what would allow it, and in denials", async () => {
  const call = (name: string, input: Record<string, unknown>) => ({ tools: [{ name, input }] });
  using here = place({
    "guards/pre-tool-use@Bash.no-curl.js":
      `export default ({ input }) => /curl/.test(input.command) ? { action: "deny", reason: "No\\nnetwork" } : undefined;`,
    ".crochet/config.yaml": "permissions: { deny: ['Bash(rm *)'] }\n",
  });
  await here.call(trust);
  const replies = [
    MAKE,
    call("Bash", { command: "rm x" }),
    call("Bash", { command: "curl x" }),
    call("Read", { file_path: "/etc/passwd" }),
    call("Agent", { description: "x", prompt: "make it", subagent_type: "general-purpose" }),
    MAKE,
    { text: "I may not" },
    { text: "refused" },
  ];
  const words = (form: string) => ["run", "--hooks", "guards", "--output", form, "go"];
  const { code, out, err } = await crochet(here, words("json"), replies);
  assert.equal(code, 0, "the exit code is that of the run");
  const lines = err.trimEnd().split("\n");
  const asked =
    `crochet: refused Bash touch made: no rule allows 'touch made'; to allow it: permissions.allow ["Bash(touch made *)"]`;
  assert.equal(lines[0], asked);
  assert.equal(lines[1], "crochet: refused Bash rm x: the rule Bash(rm *) denies it; remove that rule to allow it");
  assert.equal(
    lines[2],
    "crochet: refused Bash curl x: hook pre-tool-use@Bash.no-curl.js: No network; change or disable the hook to allow it",
  );
  assert.match(
    lines[3]!,
    /^crochet: refused Read \/etc\/passwd: Cannot use '\/etc\/passwd' as it is outside the workspace/,
  );
  assert.equal(lines[4], asked, "of a sub-agent too");
  assert.equal(lines.length, 5);
  const { denials } = JSON.parse(out);
  assert.deepEqual(
    denials.map((d: { by: string }) => d.by).toSorted(),
    ["Bash(rm *)", "permissions", "permissions", "pre-tool-use@Bash.no-curl.js", "workspace"],
  );
  assert.ok(!existsSync(join(here.cwd, "made")));
  const streamed = await crochet(here, words("stream-json"), replies);
  assert.equal(streamed.err, err);
});

test("run logs every run; --resume goes on with one by 'last' or the beginning of its id, and runs shows it", async () => {
  using here = place();
  const again = ["run", "--resume", "last", "--output", "json", "again"];
  await crochet(here, ["run", "remember me"], [{ text: "I will" }]);
  assert.equal(JSON.parse((await crochet(here, again, [{ text: "I did" }])).out).messages.length, 4);
  const runs = async (...args: string[]) => (await here.call(main, "runs", ...args)).out;
  const listed = JSON.parse(await runs("ls", "--json"));
  assert.deepEqual(listed.map((t: { messages: number }) => t.messages), [4]);
  assert.match(await runs("show", "last"), /remember me[^]*I will[^]*again[^]*I did/);
  assert.equal(readdirSync(join(here.cwd, ".crochet/runs")).filter((f) => f.endsWith(".jsonl")).length, 1);
  const short = listed[0].id.slice(0, 8);
  const more = await crochet(here, ["run", "--resume", short, "--output", "json", "more"], [{ text: "yes" }]);
  assert.deepEqual([JSON.parse(more.out).id, JSON.parse(more.out).messages.length], [listed[0].id, 6], more.err);
  const { events, id } = JSON.parse(await runs("show", short, "--json"));
  assert.deepEqual([id, events.filter(({ type }: { type: string }) => type === "usage").length], [listed[0].id, 3]);
  assert.equal((await here.call(main, "runs", "rm", short)).code, 0);
  assert.deepEqual(JSON.parse(await runs("ls", "--json")), []);
});

test("a missing key is reported before any request, with the fix", async () => {
  using here = place();
  await using server = await scriptedServer([]);
  const { code, err } = await here.main(["run", "go"], { ANTHROPIC_BASE_URL: server.url });
  assert.deepEqual([code, server.requests.length], [1, 0]);
  assert.match(err, /^crochet: Cannot [^\n]*ANTHROPIC_API_KEY[^\n]*\n$/);
});

test("U16: a run does not start without a trusted guard as it was, and starts without another hook that changed", async () => {
  const hook = "export default () => {};\n";
  using here = place({ "hooks/pre-tool-use.guard.ts": hook, "hooks/stop.other.ts": hook });
  assert.equal((await here.call(trust)).code, 0);
  here.put({ "hooks/stop.other.ts": `${hook}// changed` });
  const without = await crochet(here, ["run", "go"], [{ text: "ok" }]);
  assert.equal(without.code, 0);
  assert.match(without.err, /hooks\/stop\.other\.ts has changed since it was trusted/);
  here.put({ "hooks/pre-tool-use.guard.ts": `${hook}// changed` });
  const { code, err } = await here.main(["run", "go"], { ANTHROPIC_API_KEY: "not-a-key" });
  assert.equal(code, 1);
  assert.match(err, /^crochet: Cannot start: hooks\/pre-tool-use\.guard\.ts has changed since it was trusted/);
});

/** What a config says, which of its keys are named, and what is seen of it once it counts. */
const CONFIGS: [says: string, named: string, counts: (ran: Ran) => boolean[]][] = [
  ["permissions: { allow: [Bash] }", "'permissions' does", ({ made }) => [made]],
  ["limits: { iterations: 1 }", "'limits' does", ({ code }) => [code === 1]],
  ["memory: [.env]\nmodel: theirs", "'memory' and 'model' do", ({ asked }) => [
    asked.includes("of-this-person"),
    asked.includes('"theirs"'),
  ]],
];
type Ran = { readonly made: boolean; readonly code: number | null; readonly asked: string };

for (const [says, named, counts] of CONFIGS) {
  test(`U16: nothing of a config counts until a person has trusted it: ${says.replace("\n", ", ")}`, async () => {
    using here = place({ ".crochet/config.yaml": `${says}\n`, ".env": "TOKEN=of-this-person\n" });
    const ran = async () => {
      await using server = await scriptedServer([MAKE, { text: "ok" }]);
      const env = { ANTHROPIC_API_KEY: "none", ANTHROPIC_BASE_URL: server.url };
      const { code, err } = await here.main(["run", "go"], env);
      const asked = JSON.stringify(server.requests[0]!.request);
      return { code, err, asked, made: existsSync(join(here.cwd, "made")) };
    };
    const before = await ran();
    assert.match(before.err, new RegExp(`config\\.yaml is not trusted: .*; until then its ${named} not count`));
    assert.deepEqual(counts(before).filter(Boolean), []);
    assert.equal((await here.call(trust)).code, 0);
    const after = await ran();
    assert.doesNotMatch(after.err, /is not trusted/);
    assert.ok(counts(after).every(Boolean), after.err);
  });
}

test("S3.5: a checkpoint can be gone on from: --resume takes its id and begins a session of its own", async () => {
  using here = place();
  const turns = Array.from({ length: 10 }, () => ({ tools: [{ name: "Glob", input: { pattern: "*" } }] }));
  await crochet(here, ["run", "go"], [...turns, { text: "done" }]);
  const { out } = await here.call(main, "runs", "show", "last", "--json");
  const { checkpoints: [checkpoint] } = JSON.parse(out) as { checkpoints: { id: string; at: number }[] };
  assert.equal(checkpoint!.at, 20);
  const resume = ["run", "--resume", checkpoint!.id, "--output", "json", "other"];
  const forked = JSON.parse((await crochet(here, resume, [{ text: "ok" }])).out);
  assert.notEqual(forked.id, checkpoint!.id.split("@")[0]);
  assert.equal(forked.messages.length, 22);
});

test("an agent's searches never find the logs of its own runs", async () => {
  using here = place({ "a.txt": "needle\n" });
  const { out } = await crochet(here, ["run", "--output", "json", "look for the needle"], [
    { tools: [{ name: "Grep", input: { pattern: "needle" } }] },
    { text: "found" },
  ]);
  const seen = JSON.stringify(JSON.parse(out).messages[2]);
  assert.match(seen, /a\.txt/);
  assert.doesNotMatch(seen, /\.crochet/);
});

test("run says once which hooks of settings refuse nothing here, and is silent on those that only observe", async () => {
  const entry = [{ hooks: [{ type: "command", command: "exit 2" }] }];
  const hooks = { TaskCreated: [...entry, ...entry], WorktreeRemove: entry };
  using here = place({ ".claude/settings.json": JSON.stringify({ hooks }) });
  await here.call(trust);
  const { err } = await crochet(here, ["run", "go"], [{ text: "hi" }]);
  const said = err.split("\n").filter((line) => /nothing here fires/.test(line));
  assert.deepEqual(said, [
    "crochet: A hook in .claude/settings.json refuses nothing at TaskCreated: nothing here fires TaskCreated",
  ]);
});
