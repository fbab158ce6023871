import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { fileURLToPath } from "node:url";
import { type ScriptedReply, scriptedServer } from "crochet/testing";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const BIN = join(ROOT, "lib/cli/crochet");
const scratch = mkdtempSync(join(tmpdir(), "crochet-run-"));
after(() => rmSync(scratch, { recursive: true }));
let n = 0;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
  readonly requests: number;
}

/** Runs a command against a scripted server, in a directory of its own. */
async function run(
  command: string,
  args: readonly string[],
  replies: readonly ScriptedReply[],
  where = workspace(),
): Promise<Ran> {
  await using server = await scriptedServer(replies, { then: { text: "nothing left to say" } });
  const env = {
    ...process.env,
    ANTHROPIC_API_KEY: "none",
    ANTHROPIC_BASE_URL: server.url,
    CROCHET_MODEL: "",
    HOME: where,
    NO_COLOR: "1",
  };
  const { code, stdout, stderr } = await new Promise<Omit<Ran, "requests">>((resolve) => {
    execFile(command, [...args], { cwd: where, env, timeout: 120_000 }, (error, stdout, stderr) => {
      resolve({ code: typeof error?.code === "number" ? error.code : error ? 1 : 0, stdout, stderr });
    });
  });
  return { code, stdout, stderr, requests: server.requests.length };
}

function workspace(files: Record<string, string> = {}): string {
  const dir = join(scratch, `w${n++}`);
  mkdirSync(dir);
  for (const [name, text] of Object.entries(files)) {
    mkdirSync(join(dir, name, ".."), { recursive: true });
    writeFileSync(join(dir, name), text);
  }
  return dir;
}

const crochet = (args: readonly string[], replies: readonly ScriptedReply[] = [], where?: string) =>
  run(BIN, args, replies, where);

for (
  const [runtime, command, args] of [["bun", "bun", ["run"]], ["deno", "deno", [
    "run",
    "-A",
    "--no-check",
    "--quiet",
    `--config=${ROOT}deno.json`,
  ]]] as const
) {
  test(`DESIGN 4: the hello world runs as a script under ${runtime}`, async () => {
    const script = join(ROOT, "fixtures/hello/agent.ts");
    const { code, stdout, requests } = await run(command, [...args, script, "say", "hello"], [{ text: "Hello there" }]);
    assert.deepEqual([code, stdout, requests], [0, "Hello there\n", 1]);
  });
}

test("run in a pipe prints the last words alone and exits 0", async () => {
  const { code, stdout, stderr } = await crochet(["run", "go"], [
    { tools: [{ name: "Glob", input: { pattern: "*" } }] },
    { text: "Nothing here" },
  ]);
  assert.deepEqual([code, stdout, stderr], [0, "Nothing here\n", ""]);
});

test("run --output json prints one Result; stream-json one event a line, the Result last", async () => {
  const json = JSON.parse((await crochet(["run", "--output", "json", "go"], [{ text: "hi" }])).stdout);
  assert.deepEqual([json.stop, json.text, json.messages.length], ["done", "hi", 2]);
  const lines = (await crochet(["run", "--output", "stream-json", "go"], [{ text: "hi" }])).stdout.trim().split("\n")
    .map((l) => JSON.parse(l));
  assert.equal(lines[0].type, "start");
  assert.deepEqual([lines.at(-1).type, lines.at(-1).stop], ["result", "done"]);
});

for (
  const [what, args, code, words] of [
    ["an unknown command", ["rnu"], 2, /no such command: did you mean 'crochet run'/],
    ["an unknown flag", ["run", "--modle", "x", "go"], 2, /no such flag: did you mean --model/],
    ["a flag without its value", ["run", "go", "--model"], 2, /its value is missing/],
    ["no prompt", ["run"], 2, /there is no prompt/],
    ["a number that is none", ["run", "--max-iterations", "many", "go"], 2, /not a number/],
    ["an unknown form of output", ["run", "--output", "xml", "go"], 2, /expected text, json or stream-json/],
    ["a directory that is not there", ["run", "--cwd", "nowhere", "go"], 2, /no such directory/],
    ["a session that is not there", ["run", "--resume", "nobody", "go"], 2, /no transcript of that id/],
    ["a permission mode that is none", ["run", "--permission-mode", "yolo", "go"], 2, /permission mode 'yolo'/],
    [
      "a budget for a model of unknown price",
      ["run", "--model", "nobody-knows", "--budget", "1", "go"],
      2,
      /price of model 'nobody-knows' is unknown/,
    ],
  ] as const
) {
  test(`${what} is one clear line and exit code ${code}, never a stack trace`, async () => {
    const ran = await crochet(args);
    assert.equal(ran.code, code, ran.stderr);
    assert.match(ran.stderr, words);
    assert.equal(ran.stderr.trim().split("\n").length, 1, ran.stderr);
  });
}

test("a script without an agent is an error that says what to export", async () => {
  const where = workspace({ "agent.ts": "export const x = 1;\n" });
  const { code, stderr } = await crochet(["run", "agent.ts", "go"], [], where);
  assert.equal(code, 2);
  assert.match(stderr, /default export is no agent: export default agent\(/);
});

test("a broken config names its file, the field and the mend", async () => {
  for (
    const [text, words] of [
      ["modl: x\n", /'modl' is no setting: did you mean 'model'/],
      ["limits: { iterations: -1 }\n", /'iterations'/],
      ["limits: 3\n", /'limits' must have iterations/],
      ["permissions: [Bash]\n", /'permissions' must have mode, allow, ask or deny/],
      ["hooks: { env: A_TOKEN }\n", /'hooks' must have env, a list of names/],
      ["memory: NOTES.md\n", /'memory' must be true, false or a list of files/],
      ["a: [", /not YAML/],
    ] as const
  ) {
    const { code, stderr } = await crochet(["run", "go"], [], workspace({ ".crochet/config.yaml": text }));
    assert.equal(code, 2);
    assert.match(stderr, /config\.yaml/);
    assert.match(stderr, words);
  }
});

test("a run that hits a limit exits 1 and says which; one that a hook drops exits 0", async () => {
  const limited = await crochet(["run", "--max-iterations", "1", "go"], [{
    tools: [{ name: "Glob", input: { pattern: "*" } }],
  }]);
  assert.equal(limited.code, 1);
  assert.match(limited.stderr, /limit of 1 model calls/);
  const where = workspace({ "mine/user-prompt-submit.no.sh": "echo not today >&2; exit 2\n" });
  const dropped = await crochet(["run", "--hooks", "mine", "go"], [], where);
  assert.deepEqual([dropped.code, dropped.requests], [0, 0]);
  assert.match(dropped.stdout, /not today/);
});

test("without a terminal a call that would need asking is refused with the rule that would allow it", async () => {
  const { code, stdout } = await crochet(["run", "--output", "json", "go"], [
    { tools: [{ name: "Bash", input: { command: "touch made" } }] },
    { text: "refused" },
  ]);
  const result = JSON.parse(stdout);
  assert.equal(code, 0);
  assert.equal(result.denials.length, 1);
  assert.match(JSON.stringify(result.messages[2]), /permissions\.allow .*Bash\(touch made/);
});

test("run stores every session; --resume last goes on with the newest, and transcripts shows it", async () => {
  const where = workspace();
  await crochet(["run", "remember me"], [{ text: "I will" }], where);
  const { stdout } = await crochet(
    ["run", "--resume", "last", "--output", "json", "again"],
    [{ text: "I did" }],
    where,
  );
  assert.equal(JSON.parse(stdout).messages.length, 4);
  const listed = JSON.parse((await crochet(["transcripts", "ls", "--json"], [], where)).stdout);
  assert.deepEqual(listed.map((t: { messages: number }) => t.messages), [4]);
  assert.match(
    (await crochet(["transcripts", "show", "last"], [], where)).stdout,
    /remember me[\s\S]*I will[\s\S]*again[\s\S]*I did/,
  );
  assert.equal(readdirSync(join(where, ".crochet/runs")).filter((f) => f.endsWith(".rollout.jsonl")).length, 1);
  assert.equal((await crochet(["transcripts", "rm", "last"], [], where)).code, 0);
  assert.deepEqual(JSON.parse((await crochet(["transcripts", "ls", "--json"], [], where)).stdout), []);
});

test("a missing key is said before any request, with the mend", async () => {
  const where = workspace();
  const env = { ...process.env, ANTHROPIC_API_KEY: "", HOME: where };
  const ran = await new Promise<{ code: number; stderr: string }>((resolve) => {
    execFile(
      BIN,
      ["run", "go"],
      { cwd: where, env },
      (error, _, stderr) => resolve({ code: Number(error?.code ?? 0), stderr }),
    );
  });
  assert.equal(ran.code, 1);
  assert.match(ran.stderr, /ANTHROPIC_API_KEY/);
});

test("permissions of a project's config count only once a person has trusted it", async () => {
  const where = workspace({ ".crochet/config.yaml": "permissions: { allow: [Bash] }\n" });
  const replies = [{ tools: [{ name: "Bash", input: { command: "touch made" } }] }, { text: "ok" }];
  const before = await crochet(["run", "go"], replies, where);
  assert.match(before.stderr, /config\.yaml is not trusted/);
  assert.ok(!readdirSync(where).includes("made"));
  assert.equal((await crochet(["trust"], [], where)).code, 0);
  const after = await crochet(["run", "go"], replies, where);
  assert.equal(after.stderr, "");
  assert.ok(readdirSync(where).includes("made"));
});

test("S3.5: a checkpoint can be gone on from: --resume takes its id and begins a session of its own", async () => {
  const where = workspace();
  const turns = Array.from({ length: 10 }, () => ({ tools: [{ name: "Glob", input: { pattern: "*" } }] }));
  await crochet(["run", "go"], [...turns, { text: "done" }], where);
  const { stdout } = await crochet(["transcripts", "checkpoints", "last", "--json"], [], where);
  const [checkpoint] = JSON.parse(stdout) as { id: string; at: number }[];
  assert.equal(checkpoint!.at, 20);
  const forked = JSON.parse(
    (await crochet(["run", "--resume", checkpoint!.id, "--output", "json", "other"], [{ text: "ok" }], where)).stdout,
  );
  assert.notEqual(forked.id, checkpoint!.id.split("@")[0]);
  assert.ok(forked.messages.length >= 21 && forked.messages.length <= 23, String(forked.messages.length));
});

test("an agent's searches never find the logs of its own runs", async () => {
  const where = workspace({ "a.txt": "needle\n" });
  const { stdout } = await crochet(["run", "--output", "json", "look for the needle"], [
    { tools: [{ name: "Grep", input: { pattern: "needle" } }] },
    { text: "found" },
  ], where);
  const seen = JSON.stringify(JSON.parse(stdout).messages[2]);
  assert.match(seen, /a\.txt/);
  assert.doesNotMatch(seen, /\.crochet/);
});
