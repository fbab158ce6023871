import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { after } from "node:test";
import { type EventName, EVENTS } from "../../lib/core/events.ts";
import { invalidConversation } from "../../lib/core/messages.ts";
import { ModelError } from "../../lib/core/model.ts";
import { UnusableAnswer } from "../../lib/core/verdict.ts";
import { readDefinitions } from "../../lib/hooks/definitions.ts";
import { HookLoadError } from "../../lib/hooks/file/load-error.ts";
import { readClaude, readStdout } from "../../lib/hooks/process/read-result.ts";
import { jsonInText, readDefinition, readPrompt } from "../../lib/hooks/read-answer.ts";
import { rulesHook } from "../hooks/_rules.ts";
import { sampleEvent } from "../../lib/hooks/samples.ts";
import { loadSettings } from "../../lib/hooks/hook-settings.ts";
import { tomlHooks } from "../../lib/hooks/toml.ts";
import { eventParser } from "../../lib/http/sse.ts";
import { decide } from "../../lib/permissions/rules.ts";
import { ImportRefused } from "../../lib/replay/accumulate.ts";
import { readRecording } from "../../lib/extensions/import/read-recording.ts";
import { parseTape, TapeError } from "../../lib/replay/read-tape.ts";
import { jsonlStore } from "../../lib/log/stores/jsonl.ts";
import { resumable } from "../../lib/log/stores/store.ts";
import { logText } from "../_log.ts";
import { readLoggedRun } from "../../lib/log/logged-run.ts";
import { viewOf } from "../../lib/extensions/view/view-of-run.ts";
import { fuzz, isRefusal, refusing } from "./_fuzz.ts";
import { ROOT } from "../_runtime.ts";

const DIR = mkdtempSync(join(tmpdir(), "crochet-fuzz-"));
after(() => rmSync(DIR, { recursive: true }));

const EVENT_NAMES = Object.keys(EVENTS) as EventName[];
const shipped = (path: string) => readFileSync(join(ROOT, path), "utf8");
const JSON_WORDS = [
  '"hookSpecificOutput":',
  '"permissionDecision":"deny"',
  '"continue":false',
  '"decision":"block"',
  '"updatedInput":{}',
  '"action":"modify"',
  '"modified_data":',
];

fuzz("the reader of event streams always gives the events of a damaged stream, or refuses it", {
  corpus: [
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","content":[]}}\n\nevent: ping\ndata: {"type":"ping"}\n\n',
    'data: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"é"}}\r\n\r\ndata: [DONE]\n\n',
    'event:error\ndata:{"type":"error","error":{"type":"overloaded_error","message":"later"}}\n\n',
  ],
  words: ["event:", "data:", "\n\n", "\r", ":\n", "data: [DONE]", "id: 1", "retry: 5"],
  async read(text) {
    const bytes = new TextEncoder().encode(text);
    const whole = await events([bytes]);
    const single = await events(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1)));
    assert.deepEqual(single, whole);
  },
});

/** The events found in a stream, and what was said where the rest was refused. */
async function events(chunks: readonly Uint8Array[]): Promise<{ found: unknown[]; refused: string | undefined }> {
  const found: unknown[] = [];
  const refused = await refusing(() => {
    const parser = eventParser();
    for (const chunk of chunks) found.push(...parser.push(chunk));
    found.push(...parser.end());
  }, ModelError);
  return { found, refused };
}

fuzz("the reader of what hooks print always finds an opinion, plain words, or a refusal", {
  corpus: [
    '{"hookSpecificOutput":{"hookEventName":"PreToolUse","permissionDecision":"deny","permissionDecisionReason":"no"}}',
    '{"continue":false,"stopReason":"enough","systemMessage":"over"}',
    'Some words\n{"decision":"block","reason":"tests fail"}\n',
    '{"ok":false,"reason":"no"} {"action":"modify","modified_data":{"args":{"command":"ls"}}}',
  ],
  words: JSON_WORDS,
  async read(text) {
    await refusing(() => {
      const printed = readStdout(text);
      if ("json" in printed) { for (const event of EVENT_NAMES) readEach(printed.json, event); }
    }, UnusableAnswer);
    for (const object of jsonInText(text, () => true)) {
      for (const event of EVENT_NAMES) readEach(object, event);
    }
  },
});

function readEach(answer: object, event: EventName): void {
  for (const read of [readClaude, readPrompt, readDefinition]) {
    try {
      read(answer, event);
    } catch (error) {
      if (!(error instanceof UnusableAnswer)) throw error;
    }
  }
}

fuzz("the reader of tapes always reads a damaged tape, or refuses it with the reason", {
  corpus: ["hello", "fix-typo", "delegate"].map((name) => shipped(`fixtures/${name}/tape.jsonl`)),
  words: [
    '{"call":"main#2","head":1}',
    '"$echo":',
    '"parent":"main#1"',
    '{"tape":1}',
    '"add":',
    '"key":',
    "main#99",
    '{"$blob":"x"}',
  ],
  read: (text) => refusing(() => parseTape(text, "damaged.jsonl"), TapeError),
});

fuzz("the importer always reads a damaged recording, or refuses it with the reason", {
  corpus: [
    JSON.stringify([{
      scope: "https://api.anthropic.com:443",
      method: "POST",
      path: "/v1/messages",
      body: { model: "m", messages: [] },
      status: 200,
      response: { type: "message", content: [] },
      rawHeaders: ["content-type", "application/json"],
    }]),
    'interactions:\n- request:\n    method: POST\n    uri: https://api.anthropic.com/v1/messages\n    body: \'{"model":"m","messages":[]}\'\n    headers: {}\n  response:\n    status: {code: 200, message: OK}\n    headers: {content-type: [application/json]}\n    body: {string: \'{"type":"message","content":[]}\'}\nversion: 1\n',
    'event: message_start\ndata: {"type":"message_start","message":{"id":"m","content":[]}}\n\nevent: message_stop\ndata: {"type":"message_stop"}\n\n',
  ],
  words: [
    "interactions:",
    "http_interactions:",
    "body:",
    "string: !!binary ",
    "&a",
    "*a",
    "<<: *a",
    "- ",
    '"encoding":"base64"',
  ],
  read: (text) => refusing(() => readRecording(new TextEncoder().encode(text)), ImportRefused),
});

fuzz("settings that are damaged always load as far as they can, with a problem for the rest", {
  corpus: [
    JSON.stringify(
      {
        permissions: { allow: ["Bash(git *)"], deny: ["Read(.env)"], defaultMode: "plan" },
        hooks: {
          PreToolUse: [{
            matcher: "Bash|mcp__.*",
            hooks: [{ type: "command", command: "true", timeout: 5, if: "Bash(rm *)" }],
          }],
          Stop: [{ hooks: [{ type: "prompt", prompt: "done?" }, { type: "http", url: "http://127.0.0.1:1/" }] }],
        },
      },
      null,
      2,
    ),
  ],
  words: [
    '"async":true',
    '"matcher":"("',
    '"matcher":"(a+)+$"',
    '"hooks":[null]',
    '"disableAllHooks":true',
    "// note\n",
    '"args":[]',
  ],
  async read(text) {
    const { problems } = await loadSettings([{ path: join(DIR, "settings.json"), text }], { projectDir: DIR });
    for (const { file, path, message, level } of problems) {
      const place = `${basename(file)}${path && ` ${path}`}: `;
      assert.ok(message.startsWith(place), message);
      assert.ok(level === "warning" || isRefusal(message.slice(place.length)), message);
    }
  },
});

fuzz("hook.toml that is damaged is always read, or refused with its place", {
  corpus: [
    '[turn_start]\ncommand = "sh"\nargs = ["-c", "true"]\nrun_on_hook_input = true\n\n[turn_end]\ncommand = "date"\ntimeout = 5\n',
  ],
  words: [
    "[turn_end]",
    "[[turn_start]]",
    'command = ""',
    "args = 5",
    "timeout = -1",
    "timeout = nan",
    "'''",
    "1979-05-27",
  ],
  read: async (text) => {
    const { problems } = await tomlHooks(DIR, text);
    for (const problem of problems) assert.match(problem, /^Cannot load \.agent\/hook\.toml/);
  },
});

fuzz("definitions that are damaged are always read, or refused with their place", {
  corpus: [
    "hooks:\n  enabled: true\n  definitions:\n    - name: guard\n      matcher:\n        events: [tool:pre]\n        tools: [Bash]\n      type: inline\n      inline:\n        rules:\n          - condition: { field: args.command, operator: contains, value: rm }\n            action: deny\n            reason: no\n",
    "hooks:\n  definitions:\n    - name: check\n      matcher: { events: [tool:post], paths: ['src/**'] }\n      type: command\n      command: 'true'\n      timeout: 5\n",
  ],
  words: [
    "type: llm",
    "prompt: x",
    "matcher:",
    "events: [nope]",
    "- name: guard",
    "&a",
    "*a",
    "!!js/function",
    "operator: matches",
    "value: '(a+)+$'",
    "? ",
    "|\n",
    "<<:",
  ],
  async read(text) {
    const problems: string[] = [];
    const onProblem = (message: string) => void problems.push(message);
    await refusing(() => readDefinitions(text, "hooks.yaml", { workspace: DIR, onProblem }), HookLoadError);
    for (const problem of problems) assert.match(problem, /^Cannot load hooks\.yaml:\d+:\d+ as /);
  },
});

const CALL = sampleEvent("pre-tool-use", { cwd: DIR });

for (const form of ["lines", "yaml"] as const) {
  fuzz(`rules (${form}) that are damaged always load and answer, or are refused with their place`, {
    corpus: form === "lines"
      ? [
        'tool equals "Bash" and args.command matches \'\\brm\\s+-rf\\b\' -> deny("No rm -rf here")\n',
        'not (args.timeout equals 0) or tool glob "m*" -> modify(args.timeout = 60)\n',
      ]
      : [shipped("hooks/pre-tool-use@Bash.guard.rules.yaml")],
    words: [
      "and",
      "or",
      "not",
      "(",
      ")",
      "->",
      "deny(",
      "modify(args = {})",
      "matches '(a*)*b'",
      'glob "**/{a,b}"',
      "operator: matches",
      "value: '(x+x+)+y'",
      "any:",
      "all:",
      "args.__proto__.x",
    ],
    read: (text) =>
      refusing(async () => {
        const hook = await rulesHook(text, form === "lines" ? "damaged.rules" : "damaged.rules.yaml");
        hook.read(await hook.run(CALL as never, undefined as never), CALL as never);
      }, HookLoadError),
  });
}

fuzz("permission rules and commands that are damaged are always decided, or the rule is refused", {
  corpus: [
    "git log --oneline | head -5",
    'for f in *.ts; do cat "$f" > /dev/null; done',
    "sh -c 'rm -rf \"$HOME\"' && echo $(date) <<EOF\nx\nEOF\n",
    "Bash(git *)",
    "Edit(src/**/*.{ts,js})",
    "Bash(npm run test:*)",
  ],
  words: [
    "$(",
    "`",
    "<(",
    "<<",
    "EOF",
    "&&",
    "||",
    ";",
    "|",
    "${x:-",
    "}",
    "((",
    "))",
    "[[",
    "]]",
    "case x in",
    "esac",
    "function f",
    "\\\n",
    "$'",
    "Bash(",
    ":*)",
    "**",
  ],
  read: async (text) => {
    const call = { tool_name: "Bash", input: { command: text }, cwd: DIR, effect: "write" } as const;
    const { behavior } = decide({ allow: ["Bash(git *)"], deny: ["Bash(rm *)"] }, call);
    assert.ok(["allow", "ask", "deny"].includes(behavior));
    await refusing(() => decide({ allow: [text], deny: [text] }, call), TypeError);
    await refusing(
      () => decide({ deny: [text] }, { ...call, tool_name: "Edit", input: { file_path: text } }),
      TypeError,
    );
  },
});

fuzz("a damaged transcript always loads as a conversation that can go on, or is refused with its line", {
  corpus: [
    [
      { type: "about", about: { name: "fixer", model: "m", system: "s", tools: [], created: "2026-01-01T00:00:00Z" } },
      { type: "message", index: 0, message: { role: "user", content: [{ type: "text", text: "hi" }] } },
      {
        type: "message",
        index: 1,
        message: { role: "assistant", content: [{ type: "tool_use", id: "t", name: "Bash", input: {} }] },
      },
      { type: "checkpoint", id: "c", at: 2, kind: "manual", time: "2026-01-01T00:00:00Z" },
      { type: "compact", messages: [{ role: "user", content: [{ type: "text", text: "so far" }] }] },
      { type: "end", stop: "done", usage: {}, cost: 0, time: "2026-01-01T00:00:00Z" },
    ].map((entry) => JSON.stringify(entry) + "\n").join(""),
  ],
  words: [
    '{"type":"message"}\n',
    '"index":1e9',
    '"index":-1',
    "null\n",
    '"content":null',
    '"messages":5',
    '"role":"system"',
    '"about":null',
    "[]\n",
  ],
  read: (text) => {
    writeFileSync(join(DIR, "damaged.jsonl"), text);
    return refusing(async () => {
      const loaded = await jsonlStore(DIR).load("damaged");
      assert.equal(invalidConversation(resumable(loaded!.messages)), undefined);
    });
  },
});

fuzz("a damaged log is always retold as far as it goes, or refused with its line", {
  corpus: [
    logText("r", [
      { type: "message", agent_id: "r", index: 0, message: { role: "user", content: [] } },
      { type: "end", agent_id: "r", stop: "done", text: "" },
    ]),
  ],
  words: [
    '{"log":2}\n',
    "null\n",
    '"agent_id":5',
    '"message":null',
    '"type":"compact"',
    '"log":3',
    "[]\n",
  ],
  read: (text) => {
    writeFileSync(join(DIR, "damaged-run.jsonl"), text);
    return refusing(() => viewOf(readLoggedRun(join(DIR, "damaged-run.jsonl")), "damaged"));
  },
});
