import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import fc from "fast-check";
import type { EventName, Fired } from "../../lib/core/events.ts";
import type { Folded } from "../../lib/core/fold.ts";
import { Context } from "../../lib/core/hook.ts";
import { UnusableAnswer } from "../../lib/core/verdict.ts";
import { commandHook } from "../../lib/hooks/command-hook.ts";
import { answerOf, listeningTo } from "../../lib/hooks/process/command-answer.ts";
import { readStdout } from "../../lib/hooks/process/read-result.ts";
import { wireInput } from "../../lib/hooks/process/wire.ts";
import { tries } from "../_counts.ts";
import { scratch } from "../_scratch.ts";
import { environment, fireHook, POST, PRE, PROMPT, record, START, STOP } from "./_fire.ts";

const EVENTS: readonly Fired<EventName>[] = [
  PRE,
  POST,
  PROMPT,
  START,
  STOP,
  { ...PRE, event: "permission-request", reason: "r", permission_suggestions: [] },
  { event: "agent-start", task: "t", agent_type: "a" },
  { event: "pre-compact", trigger: "auto", instructions: "" },
  { event: "notification", message: "m", notification_type: "n", title: null },
  { event: "session-end", reason: "other", duration_ms: 1 },
];

const event = fc.constantFrom(...EVENTS);

/** Any value where an answer has a place for one: the right kind, a wrong one, or none. */
const value = fc.oneof(
  fc.constantFrom("block", "approve", "deny", "allow", "ask", "defer", "PreToolUse", "PostToolUse", "Stop", ""),
  fc.string(),
  fc.boolean(),
  fc.integer(),
  fc.constant(null),
  fc.jsonValue({ maxDepth: 2 }),
);
const specific = fc.record({
  hookEventName: value,
  permissionDecision: value,
  permissionDecisionReason: value,
  updatedInput: value,
  updatedToolOutput: value,
  updatedMCPToolOutput: value,
  additionalContext: value,
  initialUserMessage: value,
  suppressOriginalPrompt: value,
  decision: fc.oneof(
    value,
    fc.record({ behavior: value, message: value, updatedPermissions: value, interrupt: value }),
  ),
}, { requiredKeys: [] });
const answer = fc.record({
  continue: value,
  stopReason: value,
  systemMessage: value,
  decision: value,
  reason: value,
  async: value,
  hookSpecificOutput: fc.oneof(specific, value),
}, { requiredKeys: [] }).map((object) => JSON.stringify(object));

/** Anything at all on stdout, with much that is nearly an answer. */
const stdout = fc.oneof(
  answer,
  fc.tuple(answer, fc.nat(30)).map(([text, cut]) => text.slice(0, -cut - 1)),
  fc.tuple(fc.string(), answer, fc.string()).map((parts) => parts.join("\n")),
  fc.tuple(answer, answer).map((two) => two.join("\n")),
  fc.string({ unit: "binary" }),
  fc.string({ unit: fc.constantFrom("{", "}", '"', ":", ",", "\n", " ", "a", "[", "]", "\\") }),
);
const code = fc.oneof(fc.constantFrom(0, 1, 2, 127), fc.integer({ min: 0, max: 255 }), fc.constant(null));

test("answerOf() always gives an opinion or a named failure, whatever a process wrote and however it ended", () => {
  using folder = scratch();
  const { env } = environment(folder.path);
  const host = { projectDir: folder.path, outputDir: () => join(folder.path, "outputs") };
  fc.assert(
    fc.property(event, stdout, fc.string(), code, fc.boolean(), (fired, out, stderr, code, sub) => {
      const stamped = { event_id: "e", timestamp: "", session_id: "s", agent_id: "s", turn_id: "t", ...fired };
      const about = { ...stamped, ...(sub && { parent_agent_id: "p" }) };
      const listening = listeningTo(about, { command: "x", registered: undefined }, new Context(env, "hook"), host);
      try {
        const opinion = answerOf({ code, signal: code === null ? "SIGKILL" : null, stdout: out, stderr }, listening);
        assert.equal(typeof opinion, "object");
        assert.ok([undefined, "allow", "deny", "ask"].includes(opinion.decision));
        for (const said of opinion.contexts ?? []) assert.equal(typeof said.text, "string");
        if (opinion.decision === "deny") assert.equal(typeof opinion.reason, "string");
      } catch (error) {
        if (!(error instanceof UnusableAnswer)) throw error;
        assert.match(error.message, /^Cannot use /);
        assert.notEqual(code, 2, "exit code 2 is always an answer");
      }
    }),
    { numRuns: tries(625, 100_000, 3_000) },
  );
});

test("readStdout() never takes a verdict with text around it for plain words", () => {
  const verdict = fc.constantFrom(
    '{"decision":"block"}',
    '{"hookSpecificOutput":{"hookEventName":"PreToolUse"}}',
    '{"continue":false}',
  );
  const words = fc.string({ unit: fc.constantFrom("a", " ", "\n", "{", "}", '"', ":") });
  fc.assert(
    fc.property(verdict, words, words, (verdict, before, after) => {
      for (const text of [`${before}\n${verdict}`, `${verdict}${after}`, `${verdict}\n${after}`]) {
        let printed: ReturnType<typeof readStdout>;
        try {
          printed = readStdout(text);
        } catch (error) {
          assert.ok(error instanceof UnusableAnswer);
          continue;
        }
        assert.ok("json" in printed, JSON.stringify(text));
      }
    }),
    { numRuns: tries(208, 50_000, 1_000) },
  );
});

test("wireInput() always says in JSON what the event says, and is distinguished by its name", () => {
  const about = { event_id: "e", timestamp: "", session_id: "s", agent_id: "s", turn_id: "t" };
  const told = (fired: typeof PROMPT | typeof PRE) =>
    JSON.parse(JSON.stringify(wireInput({ ...about, ...fired }, "/")));
  fc.assert(
    fc.property(fc.string({ unit: "binary" }), fc.dictionary(fc.string(), fc.jsonValue()), (prompt, input) => {
      const said = told({ ...PROMPT, prompt });
      assert.deepEqual([said.hook_event_name, said.prompt], ["UserPromptSubmit", prompt]);
      const call = told({ ...PRE, input });
      assert.deepEqual([call.hook_event_name, call.tool_input], ["PreToolUse", JSON.parse(JSON.stringify(input))]);
    }),
    { numRuns: tries(41, 5_000, 200) },
  );
});

const octal = (bytes: Uint8Array) => [...bytes].map((b) => `\\${b.toString(8).padStart(3, "0")}`).join("");

/** One thing a process may do before it ends. */
const step = fc.oneof(
  fc.tuple(fc.uint8Array({ maxLength: 40 }), fc.boolean()).map(([bytes, err]) =>
    `printf '${octal(bytes)}'${err ? " >&2" : ""}`
  ),
  answer.map((text) => `printf '%s' '${text.replaceAll("'", "'\\''")}'`),
  fc.tuple(fc.integer({ min: 1, max: 400_000 }), fc.boolean())
    .map(([n, err]) => `head -c ${n} /dev/zero | tr '\\0' x${err ? " >&2" : ""}`),
  fc.constantFrom(
    "cat > /dev/null",
    "cat",
    "exec 0<&-",
    "exec 1>&-",
    "exec 2>&-",
    "sleep 0.7 &",
    "(sleep 0.3; echo late) &",
    "(setsid sleep 0.5 &)",
    "trap '' TERM",
    "trap 'exit 2' EXIT",
    "ulimit -f 0",
    "echo '{\"async\":true}'",
    "false",
    "no-such-command",
  ),
);
const ending = fc.oneof(
  fc.constantFrom(0, 1, 2, 126, 127, 137, 255).map((code) => `exit ${code}`),
  fc.constantFrom("HUP", "INT", "QUIT", "KILL", "SEGV", "PIPE", "TERM", "ABRT").map((signal) => `kill -${signal} $$`),
  fc.constantFrom("exec 1>&- 2>&-; sleep 0.1", "exec true", "exec false", "", "sleep 9", "{"),
);

/** Fails instead of waiting for ever. */
function within<T>(seconds: number, work: Promise<T>, what: string): Promise<T> {
  let timer: ReturnType<typeof setTimeout>;
  const late = new Promise<never>((_, reject) =>
    timer = setTimeout(() => reject(new Error(`hangs: ${what}`)), seconds * 1000)
  );
  return Promise.race([work, late]).finally(() => clearTimeout(timer));
}

test("a process always gives a verdict or a named failure, never a crash or a hang", async () => {
  using folder = scratch();
  const stop = new AbortController();
  const { env, background } = environment(folder.path, { signal: stop.signal });
  await fc.assert(
    fc.asyncProperty(event, fc.array(step, { maxLength: 4 }), ending, async (fired, steps, last) => {
      const command = `${[...steps, last].join("\n")}`;
      const parts = commandHook({ name: "hook", command }, {
        projectDir: folder.path,
        outputDir: () => join(folder.path, "outputs"),
      });
      const hook = record(fired.event, { ...parts, timeout: 3 });
      const folded: Folded = await within(30, fireHook(hook, fired, env), command);
      const [run] = folded.runs;
      if (run!.skipped !== undefined) return;
      assert.ok(run!.opinion !== undefined || run!.failure !== undefined, command);
      if (run!.failure !== undefined) assert.match(folded.warnings.join("\n"), /Hook hook failed on /, command);
    }),
    { numRuns: tries(10, 200, 20) },
  );
  stop.abort();
  await within(30, Promise.all(background), "in the background");
});
