import assert from "node:assert/strict";
import { test } from "node:test";
import { asksModel } from "../../../lib/replay/requests/api.ts";
import { SentMatcher } from "../../../lib/replay/requests/match-request.ts";
import { compared } from "../../../lib/replay/requests/compare-rules.ts";
import { noRecordings } from "../../_data.ts";
import { sentMasks } from "../../../lib/extensions/tape/mask.ts";
import { ComparedProgram } from "../../../lib/replay/requests/compared-program.ts";
import { asked, recordedRuns, tapeOfRecorded } from "./_pairs.ts";

test("every recorded pair of runs is judged as its index says", { skip: noRecordings }, () => {
  const runs = recordedRuns();
  const wrong: string[] = [];
  let judged = 0;
  for (const run of runs) {
    if (run.against === undefined) continue;
    const { client, scenario, variant, against } = run;
    const other = runs.find((one) => one.client === client && one.scenario === scenario && one.variant === against)!;
    const matcher = new SentMatcher(tapeOfRecorded(other));
    let matched = 0;
    let call = 0;
    let first: { call: number; path: string } | undefined;
    for (const { sent, lane } of asked(run)) {
      const found = matcher.find(sent);
      if (!asksModel(sent)) continue;
      call++;
      if (found) matched += first ? 0 : 1;
      else first ??= { call, path: matcher.explain(sent, lane).path };
    }
    judged++;
    const got = first ? "drift" : "same";
    const isAt = !run.first || (first?.call === run.first.call && run.first.paths.map(dotted).includes(first.path));
    if (got !== run.expect || !isAt || (got === "same" && matched !== run.matched)) {
      wrong.push(
        `${client}/${scenario}/${variant}: ${got} ${matched} ${JSON.stringify(first)}, not ${JSON.stringify(run)}`,
      );
    }
  }
  assert.deepEqual(wrong, []);
  assert.ok(judged > 40);
});

/** A path of the index as ours are written. */
function dotted(path: string): string {
  return path.replace(/\[(\d+)\]/g, ".$1");
}

const CLAUDE = "claude-cli/2.1.197 (external, sdk-cli)";

/** What a request of a program reads as, with this text in its system prompt, its first message and a tool. */
function readAs(agent: string, text: string): string[] {
  const body = { system: [{ type: "text", text }], messages: [{ role: "user", content: text }], tools: [{ text }] };
  const sent = {
    api: "anthropic",
    method: "POST",
    path: "/v1/messages",
    headers: { "user-agent": agent },
    body,
  } as const;
  return JSON.stringify(compared(sent, true).sent.body).match(/"text":"(?:[^"\\]|\\.)*"/g)!;
}

test("a date is not compared wherever and however a program writes it, and the words around it are", () => {
  const dates = [
    ["Today's date is ", "2026-11-17", "2027-01-02"],
    ["Today's date is ", "Tuesday, November 17, 2026", "Saturday, January 2, 2027"],
    ["Today's date: ", "Tue Nov 17 2026", "Sat Jan 02 2027"],
    ["Current date: ", "2026-11-17", "2027-01-02"],
    ["The current month is ", "November 2026", "January 2027"],
    ["<current_date>", "2026-11-17", "2027-01-02"],
    [
      "<current_datetime>",
      "2026-11-17T19:49:19.406+00:00</current_datetime>",
      "2027-01-02T08:00:01Z</current_datetime>",
    ],
  ] as const;
  for (const [before, one, other] of dates) {
    assert.deepEqual(readAs("x/1", `${before}${one}. Go`), readAs("x/1", `${before}${other}. Go`), before);
    assert.notDeepEqual(readAs("x/1", `${before}${one}. Go`), readAs("x/1", `${before}${one}. Gone`), before);
  }
});

test("git's status is known by its lines, before or behind a heading, and ends with the last of them", () => {
  const intro = "This is the git status at the start of the conversation. Note that this is a snapshot.\n\n";
  const one =
    "Current branch: main\n\nMain branch (for PRs): main\n\nStatus:\n?? a.md\n M b\n\nRecent commits:\n3975a7f one";
  const other =
    "Current branch: x\n\nMain branch (for PRs): main\n\nGit user: ada\n\nStatus:\n(clean)\n\nRecent commits:\n";
  for (
    const frame of [
      (lines: string) => `# gitStatus\n${intro}${lines}\n\nMore`,
      (lines: string) => `gitStatus: ${intro}${lines}`,
    ]
  ) {
    const read = readAs(CLAUDE, frame(one)).slice(0, 2);
    assert.deepEqual(read, readAs(CLAUDE, frame(other)).slice(0, 2));
    assert.notDeepEqual(read, readAs(CLAUDE, frame(`${one}\n\nNever use tabs`)).slice(0, 2));
  }
  const snapshot =
    "\n\nGit snapshot at conversation start. Frozen.\n```text\ngit: Current branch: main\ngit: Status:\n```";
  const [system] = readAs("QwenCode/0.24.4 (linux; arm64)", `Be short.${snapshot}\n\nEnd`);
  assert.equal(system, readAs("QwenCode/0.24.4 (linux; arm64)", "Be short.\n\nEnd")[0]);
  assert.notEqual(system, readAs("QwenCode/0.24.4 (linux; arm64)", `Be short.${snapshot}\n\nEnds`)[0]);
});

test("how many tokens Codex counts in a result, of which paths are a part, is not compared; the result is", () => {
  const read = (output: string) => {
    const body = { input: [{ type: "function_call_output", call_id: "c1", output }] };
    const headers = { "user-agent": "codex_exec/0.166.0" };
    return compared({ api: "responses", method: "POST", path: "/v1/responses", headers, body }).sent.body;
  };
  assert.deepEqual(read("Original token count: 17\n{ROOT}"), read("Original token count: 19\n{ROOT}"));
  assert.notDeepEqual(read("Original token count: 17\n{ROOT}"), read("Original token count: 17\n{HOME}"));
});

test("an id that a program made for a folder of its own, in its first request, is its session's; any other is drift", () => {
  const [one, other] = ["2981d63d-a1b8-40a8-aa1d-b8c1005f9824", "6046de2e-f9ff-4552-afc4-3bc5f389731f"];
  // As Copilot asks, with what a request before it may have been, and one after it.
  const seen = (texts: readonly string[], headers = {}) => {
    const program = new ComparedProgram();
    const masks = sentMasks({ root: "/w", home: "/home/ada" }, program, undefined);
    return texts.map((content) => {
      const [method, path] = content === "" ? ["GET", "/models"] : ["POST", "/chat/completions"];
      const body = content === "" ? {} : { body: { messages: [{ role: "system", content }] } };
      const sent = { api: "chat", method, path, headers: {}, ...body } as const;
      assert.equal(program.learn(headers, sent), "main");
      return JSON.stringify(masks().sentOn(sent).body);
    });
  };
  const folder = (id: string) => `Session folder: /home/ada/.copilot/session-state/${id}\n`;
  const named = folder("{SESSION-ID}").replace("/home/ada", "{HOME}");
  const later = (id: string) => ["", folder(id), `${folder(id)}see ${id}/plan.md`];
  assert.deepEqual(seen(later(one)), seen(later(other)));
  assert.ok(seen(later(one))[1]!.includes(JSON.stringify(named).slice(1, -1)));
  const drifts = [
    (id: string) => [`Session ${id}`],
    (id: string) => [`The file is /srv/uploads/${id}/a.txt`],
    (id: string) => ["No folder yet", folder(id)],
    (id: string) => [`${folder(one!)}the other is /home/ada/.copilot/${id}`],
    (id: string) => [`/home/ada/.copilot/session-state/${id}-more`],
  ];
  for (const drift of drifts) assert.notDeepEqual(seen(drift(one!)), seen(drift(other!)), String(drift));
  const said = { "x-session-id": "ses_1" };
  assert.notDeepEqual(seen([folder(one!)], said), seen([folder(other!)], said), "a header names the session");
});
