import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { test } from "node:test";
import { type HostName, HOSTS } from "../../lib/hooks/hosts/index.ts";
import { load, toolCall } from "../../lib/hooks/mod/runtime.ts";
import { ourEvents } from "../../lib/hooks/hosts/read-event.ts";
import { testData } from "../_data.ts";
import { withEnv } from "../_env.ts";
import { scratch } from "../_scratch.ts";
import { type Json, said, served } from "./_served.ts";

interface Played {
  readonly host: HostName;
  readonly channel: string;
  readonly told: boolean;
  readonly event: Json;
  readonly ours: readonly { readonly tool: string; readonly input: Json }[];
}

/** What the real programs wrote when a model used a channel, and the calls that a hook has to see (CHANNELS). */
const PLAYED = readFileSync(testData("channels.jsonl"), "utf8").trim().split("\n").map((l) => JSON.parse(l) as Played)
  .filter(({ told }) => told);

const NOTES = `import { appendFileSync } from "node:fs";
export default (event) => { appendFileSync(process.env.NOTED, JSON.stringify({ tool: event.tool_name, input: event.input }) + "\\n"); };`;

const SCRIPT = `#!/bin/sh
cat >> "$NOTED.stdin"`;

/** What a hook file was asked about, and its answer. */
async function askedAbout(name: string, text: string, event: Json, host: HostName) {
  using folder = scratch({ [name]: text });
  const noted = `${folder.path}/noted`;
  const env = { PATH: process.env.PATH, HOME: folder.path, NOTED: noted };
  const asking = () => served(`${folder.path}/${name}`, event, host, env);
  const { stdout, stderr, code } = await withEnv({ NOTED: noted }, asking);
  const lines = (path: string) =>
    existsSync(path) ? readFileSync(path, "utf8").trim().split("\n").map((line) => JSON.parse(line) as Json) : [];
  const stdin = lines(`${noted}.stdin`).map(({ tool_name: tool, tool_input: input, hook_event_name: event }) => {
    return { tool, input, event };
  });
  return { asked: lines(noted), stdin, output: stdout === "" ? undefined : JSON.parse(stdout) as Json, stderr, code };
}

test("a module is asked once about each call of ours that its matcher covers, in every channel of every host", async () => {
  assert.equal(PLAYED.length, 49);
  for (const { host, channel, event, ours } of PLAYED) {
    const tools = [...new Set(ours.map(({ tool }) => tool))].filter((tool) => /^\w+$/.test(tool));
    for (
      const name of [
        "pre-tool-use.n.ts",
        ...tools.map((tool) => `pre-tool-use@${tool}.n.ts`),
        "pre-tool-use@Read+WebFetch.n.ts",
      ]
    ) {
      const only = /@([^.]+)/.exec(name)?.[1]?.split("+");
      const { asked } = await askedAbout(name, NOTES, event, host);
      assert.deepEqual(asked, ours.filter(({ tool }) => !only || only.includes(tool)), `${host} ${channel} ${name}`);
    }
  }
});

test("a script is asked about the same calls in the form of Claude Code", async () => {
  for (const { host, channel, event, ours } of PLAYED) {
    if (!["codex", "pi"].includes(host) && !/notebook|monitor|edit|patch/.test(channel)) continue;
    const { stdin } = await askedAbout("pre-tool-use@Edit+Write+Bash.n.sh", SCRIPT, event, host);
    const expected = ours.filter(({ tool }) => ["Edit", "Write", "Bash"].includes(tool));
    assert.deepEqual(stdin, expected.map((call) => ({ ...call, event: "PreToolUse" })), `${host} ${channel}`);
  }
});

test("rules and the handlers of a mod are asked about the same calls", async () => {
  const rules = `args.file_path contains "secret" -> deny("no")\n`;
  const files = PLAYED.filter(({ ours }) => ours.some(({ tool }) => tool === "Edit" || tool === "Write"));
  assert.ok(files.length >= 20);
  for (const { host, channel, event } of files) {
    const { output } = await askedAbout("pre-tool-use@Edit+Write.p.rules", rules, event, host);
    assert.match(JSON.stringify(output), /"(?:deny|block)"/, `${host} ${channel}`);
  }
  load([{
    name: "pre-tool-use@Edit.p.ts",
    module: {
      default: ({ input }: { input: Json }) =>
        String(input.file_path).includes("secret") ? { action: "deny", reason: "no" } : undefined,
    },
  }]);
  const engine = {
    session: () => Promise.resolve({ id: "s", cwd: "/p" }),
    signal: new AbortController().signal,
    log: () => {},
  };
  const cell = { tool: "NotebookEdit", tool_use_id: "c", notebook_path: "/p/secret.ipynb", new_source: "x" };
  const ran = (e: Json) => toolCall(e, () => Promise.resolve({ result: "ran" }), engine as never);
  assert.deepEqual([(await ran(cell)).deny, (await ran({ ...cell, notebook_path: "/p/a.ipynb" })).result], [
    "no",
    "ran",
  ]);
});

test("what a channel reads of a call, it can write, and reads again as the same", () => {
  let tried = 0;
  for (const { host, channel, event, ours } of PLAYED) {
    const table = HOSTS[host];
    const given = (table.read ? table.read(event) : event) as Json;
    const { read, write } = table.channels[String(given.tool_name)] ?? {};
    if (!read || !write) continue;
    const input = given.tool_input as Json;
    assert.deepEqual(write(read(input, "/p")!, input, "/p"), input, `${host} ${channel}`);
    const moved = ours.length > 1 && ours.at(-1)!.tool === "Write";
    const fresh = moved || input.command === undefined || !/Delete/.test(String(input.command))
      ? write(ours, {}, "/p")
      : undefined;
    if (!fresh || moved || host === "codex" && given.tool_name === "Bash" || /multiple|two/.test(channel)) continue;
    tried++;
    assert.deepEqual(read(fresh, "/p"), ours, `${host} ${channel}`);
  }
  assert.ok(tried >= 20, `${tried}`);
});

const PATCH = (...files: readonly string[]) => `*** Begin Patch\n${files.join("\n")}\n*** End Patch\n`;
const update = (path: string) => `*** Update File: ${path}\n@@\n-old\n+new`;
const call = (tool_name: string, tool_input: unknown, hook_event_name = "PreToolUse"): Json => ({
  ...{ session_id: "s", turn_id: "t", cwd: "/p", hook_event_name, tool_name, tool_input, tool_use_id: "c" },
});

const PROTECTS = `export default ({ input }) =>
  input.file_path.startsWith("/p/secret") ? { action: "deny", reason: "no: " + input.file_path } : undefined;`;

test("a denied file denies the whole patch, wherever it is in it and however it is written, and another file passes", async () => {
  const said = async (command: unknown) => {
    const { output } = await askedAbout(
      "pre-tool-use@Edit+Write.p.ts",
      PROTECTS,
      call("apply_patch", { command }),
      "codex",
    );
    return (output?.hookSpecificOutput as Json | undefined)?.permissionDecisionReason;
  };
  const many = Array.from({ length: 200 }, (_, i) => update(`src/${i}.ts`));
  const denied: readonly (readonly [why: string, patch: string, path?: string])[] = [
    ["its last file", PATCH(update("a.txt"), update("secret.txt"))],
    ["a detour", PATCH(update("./x/../secret.txt"))],
    ["an absolute path", PATCH(update("/p/secret.txt"))],
    ["the place a file is moved to", PATCH("*** Update File: a.txt\n*** Move to: secret.txt\n@@\n-old\n+new")],
    ["a file that is moved as it is", PATCH("*** Update File: secret.txt\n*** Move to: a.txt")],
    ["a file that goes", PATCH("*** Delete File: secret.txt")],
    ["lines of Windows", PATCH(update("a.txt"), update("secret.txt")).replaceAll("\n", "\r\n")],
    ["the 201st file", PATCH(...many, update("secret.txt"))],
    ["a path with blanks", PATCH(update("secret file.txt")), "/p/secret file.txt"],
    ["blanks around a header", PATCH("*** Add File: a.txt\n+x", "  *** Add File: secret.txt  \n+x")],
    ["what looks like the end", PATCH("*** Update File: a.txt\n@@\n *** End Patch\n-b", update("secret.txt"))],
    ["a document for a shell", `<<'EOF'\n${PATCH(update("secret.txt"))}EOF\n`],
  ];
  for (const [why, patch, path = "/p/secret.txt"] of denied) assert.equal(await said(patch), `no: ${path}`, why);
  const passes: readonly (readonly [why: string, patch: string])[] = [
    ["other files", PATCH(...many)],
    ["a header as text", PATCH("*** Add File: a.txt\n+*** Add File: secret.txt\n+*** Delete File: secret.txt")],
    ["a header as a line that stays", PATCH("*** Update File: a.txt\n@@\n *** Update File: secret.txt\n-old\n+new")],
  ];
  for (const [why, patch] of passes) assert.equal(await said(patch), undefined, why);
});

test("a hook that names the host's own tool gets its own input once, and a call that cannot be read is asked about as it is", async () => {
  const input = { command: PATCH(update("a.txt"), update("b.txt")) };
  for (const name of ["apply_patch", "Edit+Write+apply_patch"]) {
    const file = `pre-tool-use@${name}.n`;
    const told = call("apply_patch", input);
    assert.deepEqual((await askedAbout(`${file}.ts`, NOTES, told, "codex")).asked, [{
      tool: "apply_patch",
      input,
    }]);
    const { stdin } = await askedAbout(`${file}.sh`, SCRIPT, told, "codex");
    assert.deepEqual(stdin.map(({ tool }) => tool), ["apply_patch"], "a script too");
  }
  const matcher = `export const config = { matcher: "^apply_" };\n${NOTES}`;
  assert.equal(
    (await askedAbout("pre-tool-use.n.ts", matcher, call("apply_patch", input), "codex")).asked.length,
    1,
  );
  const cell = { notebook_path: "/p/a.ipynb", new_source: "x" };
  const notebook = { ...call("NotebookEdit", cell), prompt_id: "t" };
  assert.deepEqual((await askedAbout("pre-tool-use@NotebookEdit.n.ts", NOTES, notebook, "claude")).asked, [
    { tool: "NotebookEdit", input: cell },
  ]);
  for (
    const unread of [{ command: "" }, { command: PATCH() }, { command: 5 }, {}, "a text", ["x"], {
      command: `${PATCH(update("a"))}*** Nonsense`,
    }, { command: "*** Begin Patch\n*** Rename File: a\n*** End Patch" }]
  ) {
    const { asked, code } = await askedAbout(
      "pre-tool-use@Edit+Write.n.ts",
      NOTES,
      call("apply_patch", unread),
      "codex",
    );
    assert.deepEqual([asked, code], [[{ tool: "apply_patch", input: unread }], 0], JSON.stringify(unread));
  }
});

test("a file whose name says no event, or may listen to more than its name says, is not passed over in silence", async () => {
  const told = call("Bash", { command: "ls" });
  const unnamed = await askedAbout("guard.ts", NOTES, told, "codex");
  assert.match(unnamed.stderr, /'guard' is not an event/);
  assert.equal(unnamed.code, 1);
  const also = `export const config = { also: ["pre-tool-use@Bash"] };\n${NOTES}`;
  assert.equal((await askedAbout("pre-tool-use@Edit.n.ts", also, told, "codex")).asked.length, 1);
});

test("fields of tools that are not of the table keep their names, and a sub-agent's call has its agent", () => {
  const told = { sessionId: "s", cwd: "/p", toolName: "fs-put_file", toolArgs: { path: "a" } };
  const sub = { agentId: "a1", agentType: "explore", parentAgentId: "a0" };
  const asClaude = {
    ...{
      hook_event_name: "PreToolUse",
      session_id: "s",
      cwd: "/p",
      tool_name: "fs-put_file",
      tool_input: { path: "a" },
    },
    ...{ agent_id: "a1", agent_type: "explore", parent_agent_id: "a0" },
  };
  for (const input of [{ ...told, ...sub }, asClaude]) {
    const [one] = ourEvents(HOSTS.copilot.read!(input)!, HOSTS.copilot);
    assert.deepEqual((one!.fired as unknown as Json).input, { path: "a" });
    assert.deepEqual([one!.agent_id, one!.agent_type, one!.parent_agent_id], ["a1", "explore", "a0"]);
  }
  const [main] = ourEvents(HOSTS.copilot.read!(told)!, HOSTS.copilot);
  assert.deepEqual([main!.agent_id, main!.parent_agent_id], ["s", undefined]);
});

test("the calls of a batch are calls of ours too", () => {
  const calls = [call("apply_patch", { command: PATCH(update("a"), update("b")) }), call("Read", { a: 1 })];
  const [batch] = ourEvents(
    { ...calls[0], hook_event_name: "PostToolBatch", tool_calls: calls },
    HOSTS.codex,
    () => undefined,
  );
  assert.deepEqual((batch!.fired as unknown as { tool_calls: Json[] }).tool_calls.map((c) => c.tool_name), [
    "Edit",
    "Edit",
    "Read",
  ]);
});

const REWRITES = `export default ({ input }) => input.new_string === "new" || input.content === "new\\n"
  ? { action: "modify", value: { ...input, ...(input.content ? { content: "NEWER\\n" } : { new_string: "NEWER" }) } }
  : undefined;`;

/** What the host reads. */
async function answerTo(
  event: Json,
  host: HostName,
  text = REWRITES,
  name = "pre-tool-use@Edit+Write.r.ts",
): Promise<Json> {
  const { output = {} } = await said(name, text, event, host, { PATH: process.env.PATH });
  const { hookSpecificOutput, ...top } = output;
  const { hookEventName: _, ...specific } = (hookSpecificOutput ?? {}) as Json;
  return { ...top, ...specific };
}

test("a rewritten Edit or Write is written back in the form of the host's tool, and the rest of it stays to the letter", async () => {
  const patch = (word: string) =>
    PATCH(
      ...["*** Update File: a.txt", "@@ class A", " kept", "-old", "+other", "@@ class B", "-b"],
      ...["*** Update File: b.txt", "@@ def f", "-old", `+${word}`, "*** End of File", "*** Delete File: c.txt"],
      ...["*** Add File: ../d.txt", `+${word}`],
    );
  const heredoc = (word: string) => ({ command: `cd sub && apply_patch <<'EOF'\n${patch(word)}EOF\n`, timeout: 5 });
  const cases: readonly (readonly [HostName, tool: string, given: Json, expected: Json])[] = [
    ["codex", "apply_patch", { command: patch("new"), more: 1 }, { command: patch("NEWER"), more: 1 }],
    ["codex", "Bash", heredoc("new"), heredoc("NEWER")],
    ["claude", "NotebookEdit", { notebook_path: "/p/a.ipynb", cell_id: "1", new_source: "new" }, {
      ...{ notebook_path: "/p/a.ipynb", cell_id: "1", new_source: "NEWER" },
    }],
    ["opencode", "apply_patch", { patchText: patch("new") }, { patchText: patch("NEWER") }],
    ["pi", "edit", { path: "/p/a", edits: [{ oldText: "old", newText: "new" }] }, {
      ...{ path: "/p/a", edits: [{ oldText: "old", newText: "NEWER" }] },
    }],
    ["opencode", "edit", { filePath: "/p/a", oldString: "old", newString: "new" }, {
      ...{ filePath: "/p/a", oldString: "old", newString: "NEWER" },
    }],
  ];
  const names: { readonly [host: string]: string } = { opencode: "tool.execute.before", pi: "tool_call" };
  for (const [host, tool, given, expected] of cases) {
    const { updatedInput, value = updatedInput } = await answerTo(call(tool, given, names[host]), host);
    assert.deepEqual(value, expected, `${host} ${tool}`);
  }
});

test("a change that cannot be written back refuses the call with the reason", async () => {
  const two = "*** Update File: a.txt\n@@\n-one\n+two\n@@\n-old\n+new";
  const anyEdit = `export default ({ input, tool_name }) => tool_name === "Edit" || tool_name === "Write"
    ? { action: "modify", value: { ...input, new_string: "NEWER" } } : undefined;`;
  const cases: readonly (readonly [why: string, HostName, tool: string, input: Json, event?: string])[] = [
    ["several hunks of one file", "codex", "apply_patch", { command: PATCH(two) }],
    ["a moved file", "codex", "apply_patch", {
      command: PATCH("*** Update File: a.txt\n*** Move to: b.txt\n@@\n-old\n+new"),
    }],
    ["a file that goes", "codex", "apply_patch", { command: PATCH("*** Delete File: a.txt") }],
    ["several edits", "pi", "edit", {
      ...{ path: "a", edits: [{ oldText: "1", newText: "2" }, { oldText: "3", newText: "4" }] },
    }, "tool_call"],
  ];
  for (const [why, host, tool, input, event] of cases) {
    const { permissionDecision, permissionDecisionReason, deny = permissionDecisionReason, updatedInput, value } =
      await answerTo(call(tool, input, event), host, anyEdit);
    assert.match(
      String(deny),
      /r\.ts changes a part of \w+ that cannot be written back, as a file has several changes/,
      why,
    );
    assert.deepEqual([updatedInput, value], [undefined, undefined], why);
    if (host === "codex") assert.equal(permissionDecision, "deny");
  }
});

test("the first refusal of a call in a patch is the answer, contexts add up, and a call is allowed only if all are", async () => {
  const told = call("apply_patch", {
    command: PATCH("*** Add File: a\n+x", "*** Add File: b\n+x", "*** Add File: c\n+x"),
  });
  const hook = (body: string) =>
    `export default ({ input }, ctx) => { const at = input.file_path.slice(-1); ${body} };`;
  const says = await answerTo(
    told,
    "codex",
    hook(`ctx.addContext("saw " + at); if (at === "b") return { action: "deny", reason: "not " + at };`),
  );
  assert.deepEqual([says.permissionDecisionReason, says.additionalContext], ["not b", "saw a\nsaw b"]);
  const context = await answerTo(told, "codex", hook(`return { action: "continue", context: "saw " + at };`));
  assert.equal(context.additionalContext, "saw a\nsaw b\nsaw c");
  const permission = { ...told, hook_event_name: "PermissionRequest" };
  const name = "permission-request@Write.r.ts";
  const allowed = (body: string) => answerTo(permission, "codex", hook(body), name);
  assert.deepEqual(await allowed(`return { action: "allow" };`), { decision: { behavior: "allow" } });
  assert.deepEqual(await allowed(`return at === "b" ? undefined : { action: "allow" };`), {});
  const heredoc = `apply_patch <<'EOF'\n${PATCH("*** Add File: a\n+x")}EOF`;
  const shell = { ...call("Bash", { command: heredoc }), hook_event_name: "PermissionRequest" };
  const inShell = await answerTo(shell, "codex", `export default () => ({ action: "allow" });`, name);
  assert.deepEqual(inShell, {}, "the rest of the command was not looked at");
});
