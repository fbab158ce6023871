import assert from "node:assert/strict";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "../../lib/core/clock.ts";
import { fire } from "../../lib/core/dispatch.ts";
import type { AnyEvent } from "../../lib/core/events.ts";
import type { Model, ToolSpec } from "../../lib/core/model.ts";
import { codeHooks } from "../../lib/hooks/code-hooks.ts";
import { readHookFile } from "../../lib/hooks/discover.ts";
import { ResponseCache } from "../../lib/hooks/answer-cache.ts";
import { promptGate, promptStop } from "../../lib/hooks/loaded-when-called.ts";
import { parseFileName } from "../../lib/hooks/file/file-name.ts";
import { askModel, HOOK_MODEL, HOOK_SYSTEM, loadPrompt, type PromptModel } from "../../lib/hooks/prompt-hook.ts";
import { compileTemplate } from "../../lib/hooks/template.ts";
import { openai } from "../../lib/models/openai/openai-model.ts";
import { scripted } from "../../lib/models/scripted.ts";
import { scratch } from "../_scratch.ts";
import { call, fired, testContext, testEnv } from "./_events.ts";

const bash = call("Bash", { command: "curl example.org", list: [1, 2, 3] });

function promptHook(text: string, by: PromptModel) {
  const [name, path] = ["x.prompt.md", "/x.prompt.md"];
  const named = { ...parseFileName("pre-tool-use.x.prompt.md"), name, path, at: path, executable: false };
  return loadPrompt({ ...named, text }, "hooks", by);
}

/** Asks one question with one reply. */
function ask(reply: string, event: AnyEvent = bash) {
  return askModel(compileTemplate("{{args}}"), { model: scripted([{ text: reply }]) })(event, testContext());
}

test("S3.19, S3.20, S3.39: a template shows the event's fields, nested ones, and objects as JSON", () => {
  const shown = (template: string) => compileTemplate(template).render(bash);
  assert.equal(shown("{{event}} {{tool}}: {{args.command}}"), "PreToolUse Bash: curl example.org");
  assert.equal(shown("{{ args }}"), '{"command":"curl example.org","list":[1,2,3]}');
  assert.equal(shown("{{session_id}}|{{tool_name}}|{{tool_input.list.2}}"), "s|Bash|3");
  assert.equal(shown("a{{args.gone}}b{{new_model}}c"), "abc");
});

test("S3.21, S3.39, U13: the one filter is length", () => {
  const shown = (template: string) => compileTemplate(template).render(bash);
  assert.equal(shown("{{args.command | length}} {{args.list|length}} {{ args | length }}"), "16 3 2");
  assert.equal(shown("[{{args.gone | length}}]"), "[]");
  for (
    const filter of ["upper", "lower", "json", "trim", "len", "lengths", "Length", "length | length", "length()", ""]
  ) {
    const { render, warnings } = compileTemplate(`{{args.command | ${filter}}}`);
    assert.equal(render(bash), `{{args.command | ${filter}}}`, "another filter is left as it is");
    assert.equal(warnings.length, 1, filter);
  }
});

test("S4.20, C25: {{.ToolName}} and {{.Input}} are the same as {{tool}} and {{args}}", () => {
  assert.equal(
    compileTemplate("{{.ToolName}} {{.Input}}").render(bash),
    compileTemplate("{{tool}} {{args}}").render(bash),
  );
  assert.equal(compileTemplate("{{.Input.command}}").render(bash), "curl example.org");
});

test("S3.19, C13: anything else is left as it is, with a warning that names its place", () => {
  const template = compileTemplate("a\n {{#if tool}}{{tool | upper}}{{.Other}}{{}}{{ {{tool}} }}");
  assert.equal(template.render(bash), "a\n {{#if tool}}{{tool | upper}}{{.Other}}{{}}{{ Bash }}");
  assert.equal(template.warnings.length, 5);
  assert.match(template.warnings[0]!, /^'\{\{#if tool\}\}' at line 2, column 2 of the template is left as it is/);
  assert.deepEqual(compileTemplate("{{tool}} { }} {x}").warnings, []);
});

test("S3.22: the system prompt is fixed, the question is the template", async () => {
  const model = scripted([{ text: '{"ok": true}' }]);
  await askModel(compileTemplate("Judge {{tool}}"), { model, modelName: "tiny" })(bash, testContext());
  const [request] = model.requests;
  assert.equal(request!.system, HOOK_SYSTEM);
  assert.equal(request!.model, "tiny");
  assert.deepEqual(request!.messages, [{ role: "user", content: [{ type: "text", text: "Judge Bash" }] }]);
  assert.equal(request!.tools.length, 1);
  assert.match(HOOK_SYSTEM, /Respond with JSON only: \{"action"/);
});

test("S3.23, U13: an answer is found bare, fenced or among other words", async () => {
  const verdict = { action: "deny", reason: 'No {braces} "here"' };
  const json = JSON.stringify(verdict, null, 2);
  const around = [
    json,
    `\`\`\`json\n${json}\n\`\`\``,
    `Let me { think }.\n${json}\nThat is it.`,
    `{"a":1} ${json}`,
    `"${json}"`,
  ];
  for (const text of around) assert.deepEqual(await ask(text), verdict, text);
});

test("S3.26, U7: a model that cannot be reached is a failure that names its address", async () => {
  const model = openai({ model: "m", baseURL: "http://127.0.0.1:9" });
  const hook = await promptHook("Judge {{args}}", { model });
  const { decision, warnings } = await fire([hook], fields("pre-tool-use"), testEnv());
  assert.equal(decision, "continue");
  assert.match(
    warnings.join(),
    /x\.prompt\.md failed on pre-tool-use: Cannot call the model as http:\/\/127\.0\.0\.1:9 could not be reached/,
  );
});

test("S3.26, U7: an answer without a verdict is a failure that says so", async () => {
  await assert.rejects(
    ask("I would rather not say"),
    /Cannot use the model's answer as it holds no JSON verdict: "I would/,
  );
  await assert.rejects(ask('{"verdict": "deny"}'), /holds no JSON verdict/);
  await assert.rejects(ask('{"action": "explode"}'), /action 'explode' is unknown/);
  await assert.rejects(ask('{"ok": tr'), /holds no JSON verdict/);
});

test("a denial among several answers wins: what the model quotes cannot outvote it", async () => {
  assert.deepEqual(await ask('It says {"ok": true} but {"ok": false, "reason": "r"} {"ok": true}'), {
    ok: false,
    reason: "r",
  });
  assert.deepEqual(await ask('{"ok": true} then {"action": "continue"}'), { action: "continue" });
});

test("U3: a prompt hook answers {ok, reason} or {action, reason, modified_data}", async () => {
  const answer = async (text: string, event = bash) => {
    const hook = await promptHook("Judge {{args}}", { model: scripted([{ text }]) });
    return hook.read(await hook.run(event, testContext()), event);
  };
  assert.deepEqual(await answer('{"ok": true}'), {});
  assert.deepEqual(await answer('{"ok": false, "reason": "no"}'), { decision: "deny", reason: "no" });
  assert.deepEqual(await answer('{"action": "deny", "reason": "no"}'), { decision: "deny", reason: "no" });
  assert.deepEqual(await answer('{"action": "modify", "modified_data": {"args": {"command": "ls"}}}'), {
    value: { to: { command: "ls" } },
  });
  assert.deepEqual(await answer('{"action": "modify", "modified_data": {}}'), {});
});

test("S3.24, U13: front matter sets model, timeout and cache, and any other config", async () => {
  const model = scripted([], { then: { text: '{"ok": true}' } });
  const text = "---\nmodel: tiny\ntimeout: 7\ncache: false\nmatcher: Edit|Write\n---\n\nJudge {{tool}}\n";
  const hook = await promptHook(text, { model, modelName: "settings" });
  assert.deepEqual([hook.timeout, hook.matcher], [7, "Edit|Write"]);
  await hook.run(bash, testContext());
  await hook.run(bash, testContext());
  assert.equal(model.requests.length, 2);
  assert.equal(model.requests[0]!.model, "tiny");
  assert.deepEqual(model.requests[0]!.messages[0]!.content, [{ type: "text", text: "Judge Bash" }]);
});

test("S3.18, U13: the model is the front matter's, else the settings', else a fast one", async () => {
  for (
    const [text, modelName, expected] of [
      ["---\nmodel: a\n---\nx", "b", "a"],
      ["x", "b", "b"],
      ["x", undefined, HOOK_MODEL],
    ] as const
  ) {
    const model = scripted([{ text: '{"ok": true}' }]);
    await (await promptHook(text, { model, modelName })).run(bash, testContext());
    assert.equal(model.requests[0]!.model, expected);
  }
  assert.match(HOOK_MODEL, /haiku/, "the fast models of the default provider");
});

test("U7: a prompt file with a mistake does not load", async () => {
  const refused = async (text: string) =>
    await promptHook(text, { model: undefined }).then(() => "", (error) => error.message);
  assert.match(await refused("---\nmodel: [\n---\nx"), /^Cannot load x\.prompt\.md:\d+:\d+ as it is not valid YAML/);
  assert.match(await refused("---\nmodell: x\n---\nx"), /option 'modell' is unknown/);
  assert.match(
    await refused("---\nmodel: 3\n---\nx"),
    /in its front matter 'model' must be a text: current value is 3/,
  );
  assert.match(
    await refused("---\ncache: soon\n---\nx"),
    /'cache' must be seconds, true or false: current value is "soon"/,
  );
  assert.match(await refused("---\nmodel: x\n"), /its front matter is never closed/);
  assert.match(await refused("---\nmodel: x\n---\n  \n"), /it has no template/);
});

test("S3.24, S3.39: the cache gives only what is fresh, cleans up what is not, and can be off", () => {
  const cache = new ResponseCache<string>();
  cache.put("k", "v", 0);
  assert.equal(cache.get("k", 299_999), "v");
  assert.equal(cache.get("k", 300_000), undefined);
  assert.equal(cache.get("other", 0), undefined);
  cache.put("young", "v", 200_000);
  cache.cleanup(300_000);
  assert.equal(cache.size, 1);
  const off = new ResponseCache<string>(0);
  off.put("k", "v", 0);
  assert.equal(off.get("k", 0), undefined);
});

test("S3.24, S3.25, C14: the same question is asked once; what only differs in ids and times is the same", async () => {
  const model = scripted([], { then: { text: '{"ok": true}' } });
  const judge = askModel(compileTemplate("{{args.command}}"), { model });
  const again = { ...testEnv(), session_id: "other", turn_id: "t2" };
  await judge(bash, testContext());
  await judge(call("Bash", { list: [1, 2, 3], command: "curl example.org" }, again), testContext(again));
  assert.equal(model.requests.length, 1);
  await judge(call("Bash", { command: "curl example.com" }), testContext());
  assert.equal(model.requests.length, 2);
});

test("S3.24: a prompt hook asks again once its answer is 300 seconds old", async () => {
  const model = scripted([], { then: { text: '{"ok": true}' } });
  const judge = askModel(compileTemplate("{{args}}"), { model });
  const at = (seconds: number) => testContext(testEnv({ clock: { ...systemClock, now: () => seconds * 1000 } }));
  for (const [seconds, asked] of [[0, 1], [299, 1], [300, 2]] as const) {
    await judge(bash, at(seconds));
    assert.equal(model.requests.length, asked, `${seconds} s`);
  }
});

test("C14: an id that the template shows is part of the question", async () => {
  const model = scripted([], { then: { text: '{"ok": true}' } });
  const judge = askModel(compileTemplate("{{session_id}} {{args}}"), { model });
  const other = { ...testEnv(), session_id: "other" };
  await judge(bash, testContext());
  await judge(call("Bash", { command: "curl example.org", list: [1, 2, 3] }, other), testContext(other));
  assert.equal(model.requests.length, 2);
});

test("S3.25, U13: a failure is never cached, nor an answer that cannot be read", async () => {
  const model = scripted([{ text: "hm" }, { text: '{"action": "explode"}' }, { http: 529 }, {
    text: '{"ok": true}',
  }]);
  const judge = askModel(compileTemplate("{{args}}"), { model });
  await assert.rejects(judge(bash, testContext()), /no JSON verdict/);
  await assert.rejects(judge(bash, testContext()), /action 'explode' is unknown/);
  await assert.rejects(judge(bash, testContext()), /529/);
  assert.deepEqual(await judge(bash, testContext()), { ok: true });
  assert.deepEqual(await judge(bash, testContext()), { ok: true });
  model.done();
});

test("U13: identical calls in flight share one request, and one who leaves takes nothing from the other", async () => {
  const model = scripted([{ text: '{"ok": true}', delay: 30 }]);
  const judge = askModel(compileTemplate("{{args}}"), { model, cache: false });
  const leaving = new AbortController();
  const stays = judge(bash, testContext());
  const leaves = judge(bash, testContext(testEnv({ signal: leaving.signal })));
  leaving.abort(new Error("gone"));
  await assert.rejects(leaves, /gone/);
  assert.deepEqual(await stays, { ok: true });
  assert.equal(model.requests.length, 1);
});

test("U13: a call that no hook waits for any more is ended, and the next one asks again", async () => {
  const { promise: wasEnded, resolve: ended } = Promise.withResolvers<void>();
  const leaving = new AbortController();
  const answers = scripted([{ text: '{"ok": true}' }]);
  let calls = 0;
  const model: Model = (request, signal) => {
    if (calls++ > 0) return answers(request, signal);
    signal.addEventListener("abort", () => ended());
    setTimeout(() => leaving.abort(new Error("gone")), 5);
    return scripted([{ text: "", stall: "start" }])(request, signal);
  };
  const judge = askModel(compileTemplate("{{args}}"), { model });
  await assert.rejects(judge(bash, testContext(testEnv({ signal: leaving.signal }))), /gone/);
  await wasEnded;
  assert.deepEqual(await judge(bash, testContext()), { ok: true });
});

test("S3.17: without a model prompt hooks are off, with one warning, and have no opinion", async () => {
  using folder = scratch();
  const warnings: string[] = [];
  const by = { model: undefined };
  for (const name of ["pre-tool-use@Edit.review.prompt.md", "stop.done.prompt.md"]) {
    writeFileSync(join(folder.path, name), "Judge {{args}}");
    const record = await loadPrompt(readHookFile(join(folder.path, name)), "hooks", by, (w) => warnings.push(w));
    assert.equal(record.kind, "prompt");
    assert.equal(record.timeout, 30);
    const folded = await fire([record], fields(record.on[0]!.event), testEnv());
    assert.equal(folded.decision, "continue");
    assert.match(folded.runs[0]!.skipped!, /prompt hooks are off/);
  }
  assert.deepEqual(warnings, ["Prompt hooks are off as there is no model to ask: set ANTHROPIC_API_KEY"]);
});

test("a prompt hook whose failure refuses does so without a model", async () => {
  using folder = scratch({ "pre-tool-use.review.prompt.md": "---\nonError: deny\n---\nJudge {{args}}" });
  const file = readHookFile(join(folder.path, "pre-tool-use.review.prompt.md"));
  const { decision, reason } = await fire(
    [await loadPrompt(file, "hooks", { model: undefined })],
    fields("pre-tool-use"),
    testEnv(),
  );
  assert.deepEqual([decision, reason], ["deny", "Cannot ask a model as there is no model: set ANTHROPIC_API_KEY"]);
});

function fields(event: string, more: object = {}) {
  const tool = { tool_name: "Edit", input: {}, original_input: {}, tool_use_id: "1" };
  return { event, ...(event === "stop" ? { last_assistant_message: "", agent_type: "" } : tool), ...more } as never;
}

test("U7: a prompt hook that fails lets the call pass with a visible warning", async () => {
  const folded = await fire(
    [await promptHook("Judge {{args}}", { model: scripted([{ text: "?" }]) })],
    fields("pre-tool-use"),
    testEnv(),
  );
  assert.equal(folded.decision, "continue");
  assert.match(folded.warnings[0]!, /x\.prompt\.md failed on pre-tool-use: .*no JSON verdict/);
});

test("S4.20, U7: promptGate() denies if the model says no, changes if it says so, and fails closed", async () => {
  const gate = async (...replies: { text?: string; http?: number }[]) => {
    const hooks = codeHooks([{ preToolUse: promptGate(scripted(replies), "{{.ToolName}} {{.Input}}") }]);
    return await fire(hooks, fields("pre-tool-use"), testEnv());
  };
  assert.equal((await gate({ text: '{"ok": true}' })).decision, "continue");
  const denied = await gate({ text: '{"ok": false, "reason": "not now"}' });
  assert.deepEqual([denied.decision, denied.reason], ["deny", "not now"]);
  const changed = await gate({ text: '{"action": "modify", "modified_data": {"args": {"a": 1}}}' });
  assert.deepEqual(changed.value, { a: 1 });
  for (const broken of [{ text: "maybe" }, { http: 500 }]) {
    const closed = await gate(broken);
    assert.equal(closed.decision, "deny");
    assert.match(closed.reason!, /Cannot/);
  }
});

test("S4.20, S3.23: a prompt hook asks for its verdict by a forced tool with a schema, by each way to make one", async () => {
  const verdict = (input: object) => ({ name: "verdict", input });
  const no = verdict({ action: "deny", reason: "not now" });
  const ways: ((model: Model) => Promise<string | undefined>)[] = [
    async (model) =>
      (await fire(codeHooks([{ preToolUse: promptGate(model, "?") }]), fields("pre-tool-use"), testEnv())).reason,
    async (model) => (await fire(codeHooks([{ stop: promptStop(model, "?") }]), fields("stop"), testEnv())).reason,
    async (model) => {
      const { read, run } = await promptHook("Judge {{tool}}", { model });
      return read(await run(bash, testContext()), bash).reason;
    },
  ];
  for (const ask of ways) {
    const model = scripted([{ text: '{"ok": true}', tools: [no] }]);
    assert.equal(await ask(model), "not now", "what it calls counts, and not what it writes beside it");
    const { tools, params } = model.requests[0]!;
    assert.deepEqual(params, { tool_choice: { type: "tool", name: "verdict" } });
    const [{ name, input_schema }] = tools as [ToolSpec];
    assert.equal(name, "verdict");
    assert.deepEqual(Object.keys(input_schema.properties!), ["action", "reason", "modified_data"]);
    assert.deepEqual(input_schema.required, ["action", "reason"]);
    const several = scripted([{
      tools: [verdict({ action: "continue", reason: "" }), no, verdict({ action: "continue", reason: "" })],
    }]);
    assert.equal(await ask(several), "not now", "a denial among several wins");
    const text = scripted([{ text: '{"ok": false, "reason": "not now"}' }]);
    assert.equal(await ask(Object.assign(text, { hasNoTools: true })), "not now");
    assert.deepEqual([text.requests[0]!.tools, text.requests[0]!.params], [[], undefined]);
    assert.match(text.requests[0]!.system, /JSON only: \{"action": .*, "reason": .*, "modified_data": /);
  }
});

test("S4.20, U7: promptStop() sends the agent back if the model says no, and lets it stop on failure", async () => {
  const stop = async (...replies: { text?: string; http?: number }[]) => {
    const hooks = codeHooks([{ stop: promptStop(scripted(replies), "Done? {{last_assistant_message}}") }]);
    return await fire(hooks, fields("stop"), testEnv());
  };
  assert.equal((await stop({ text: '{"ok": true}' })).decision, "continue");
  const back = await stop({ text: '{"ok": false, "reason": "run the tests"}' });
  assert.deepEqual([back.decision, back.reason], ["deny", "run the tests"]);
  const failed = await stop({ http: 500 });
  assert.equal(failed.decision, "continue");
  assert.equal(failed.warnings.length, 1);
});

test("S4.20, S4.5: promptStop() steps aside once a hook has sent the agent back, unless it insists", async () => {
  const asked = async (options: { insist?: boolean }, active: boolean) => {
    const judge = scripted([{ text: '{"ok": false, "reason": "more"}' }]);
    const hooks = codeHooks([{ stop: promptStop(judge, "Done?", options) }]);
    const { decision } = await fire(hooks, fields("stop", { stop_hook_active: active }), testEnv());
    return [decision, judge.requests.length];
  };
  assert.deepEqual(await asked({}, false), ["deny", 1]);
  assert.deepEqual(await asked({}, true), ["continue", 0]);
  assert.deepEqual(await asked({ insist: true }, true), ["deny", 1]);
});

test("S3.20: templates see every event", () => {
  const event = fired("model-switch", { old_model: "a", new_model: "b" });
  assert.equal(
    compileTemplate("{{event}} {{old_model}}->{{new_model}} {{triggered_by}}").render(event),
    "ModelSwitch a->b user",
  );
});
