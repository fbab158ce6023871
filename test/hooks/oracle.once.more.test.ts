import assert from "node:assert/strict";
import { test } from "node:test";
import { testData } from "../_data.ts";
import { type Case, type Content, type Outcome, readCases, runCase } from "./_oracle.ts";

/** Why we differ from the host. There are no other reasons. */
type Reason =
  | "race"
  | "silent drop"
  | "fail-open"
  | "event or handler we do not have"
  | "uncapped loop"
  | "exit code of an overridden stop";

interface Difference {
  readonly reason: Reason;
  readonly why: string;
  /** What is so with us; all else is as in the host. */
  readonly ours: Partial<Compared>;
}

const overridden: Difference = {
  reason: "exit code of an overridden stop",
  why: "a limit that ended the run is a failure, and says which hook kept it going",
  ours: { exit_code: 1 },
};

/** The cases where we differ on purpose, and how. An entry that no longer differs fails. */
const DIFFERENCES: { readonly [name: string]: Difference } = {
  pr_two_conflict: {
    reason: "race",
    why: "the host takes the first answer to come; here the first hook that denies has denied",
    ours: { tool_ran: false, next: [{ tool_result: "slow deny", is_error: true }] },
  },
  ctx_ctx: {
    reason: "race",
    why: "the host joins contexts as hooks end; here they stand as hooks were declared",
    ours: {
      next: [
        { tool_result: "tool-output", is_error: false },
        "<system-reminder>\nPreToolUse:Bash hook additional context: CTX1\nCTX2\n</system-reminder>",
      ],
    },
  },
  ups_badjson: {
    reason: "fail-open",
    why: "an answer that was cut off is a failure with a warning, never words for the model",
    ours: { first: ["go"] },
  },
  sigint_during_hook: {
    reason: "fail-open",
    why: "the host reports an interrupted run as one that went well; here that is exit code 130",
    ours: { exit_code: 130 },
  },
  expansion_ctx: {
    reason: "event or handler we do not have",
    why: "UserPromptExpansion",
    ours: { first: ["/foo bar"] },
  },
  taskcreated_exit2: {
    reason: "event or handler we do not have",
    why: "TaskCreated, and its tool",
    ours: {
      next: [{
        tool_result: "Cannot call TaskCreate as there is no such tool: the tools are Bash, Read, Edit, Write, Agent",
        is_error: true,
      }],
    },
  },
  stop_cap_0: {
    reason: "uncapped loop",
    why: "without the cap on idle continuations the limit on model calls still ends the run",
    ours: {
      requests: 100,
      exit_code: 1,
      stops: Array.from({ length: 100 }, (_, i) => ["Stop", i > 0]),
    },
  },
  stop_block_forever: overridden,
  stop_cap_20: overridden,
  stop_ctx_forever: overridden,
};

/** Everything of a run that is compared, in the same words on both sides. */
interface Compared {
  readonly tool_ran: boolean;
  readonly requests: number;
  readonly exit_code: number | string;
  readonly first?: Content;
  readonly next?: Content;
  readonly each?: readonly Content[];
  readonly subagent?: readonly Content[];
  readonly stops?: readonly (readonly unknown[])[];
  /** What a person reads where a hook dropped the prompt. */
  readonly dropped?: string;
}

function hostSide({ host }: Case): Partial<Compared> {
  const { tool_ran, requests, exit_code, model_saw_first, model_saw_next, model_saw_each, subagent_saw } = host;
  const answer = model_saw_next?.[0]?.content[0];
  if (typeof answer === "object" && SHELL_FAILED.test(answer.tool_result)) return { requests, exit_code };
  return {
    tool_ran,
    requests,
    exit_code,
    ...(model_saw_first?.[0] && { first: fromHooks(model_saw_first[0].content) }),
    ...(model_saw_next?.[0] && { next: fromHooks(model_saw_next[0].content) }),
    ...(model_saw_each && { each: model_saw_each.map((said) => fromHooks(said[0]!.content)) }),
    ...(subagent_saw && { subagent: subagent_saw.map((said) => fromHooks(said[0]!.content)) }),
    ...(host.stop_inputs && { stops: host.stop_inputs }),
    ...(host.requests === 0 && host.result?.result && { dropped: host.result.result }),
  };
}

/** Our side, with the aspects the host's has. */
function ourSide(outcome: Outcome, host: Partial<Compared>): Partial<Compared> {
  const { tool_ran, exit_code, requests, subagents, stops, text } = outcome;
  return {
    ...(host.tool_ran !== undefined && { tool_ran }),
    requests: requests.length + subagents.length,
    exit_code,
    ...(host.first && { first: fromHooks(requests[0] ?? [], host.first) }),
    ...(host.next && { next: fromHooks(requests[1] ?? [], host.next) }),
    ...(host.each && { each: requests.slice(1).map((content, i) => fromHooks(content, host.each![i])) }),
    ...(host.subagent && { subagent: subagents.map((content, i) => fromHooks(content, host.subagent![i])) }),
    ...(host.stops && { stops: stops.map((stop, i) => stop.slice(0, host.stops![i]?.length ?? 3)) }),
    ...(host.dropped !== undefined && { dropped: text }),
  };
}

/** A command too long for the host's way of starting a shell: whether the tool ran then says nothing about hooks. */
const SHELL_FAILED = /^Could not start \/bin\/bash/;

function fromHooks(content: Content, host?: Content): Content {
  const kept = content.map((part) =>
    typeof part === "string"
      ? comparable(part)
      : { tool_result: comparable(part.tool_result), is_error: part.is_error ?? false }
  ).filter((part) => typeof part !== "string" || part.trim() !== "");
  return kept.map((part, i) => {
    const other = host?.[i];
    if (typeof part === "string") return typeof other === "string" ? clippedAs(part, other) : part;
    if (typeof other !== "object" || other.is_error !== part.is_error) return part;
    return other.tool_result === OWN ? other : { ...part, tool_result: clippedAs(part.tool_result, other.tool_result) };
  });
}

/** In the data in place of what is the host's own and no hook's: the words of permissions, tools and schemas. */
const OWN = "(the host's own words)";

function comparable(text: string): string {
  return text
    .replaceAll(/(?<=Full output saved to: )\S+/g, "<file>")
    .replace(/(?<=failed schema validation: )[\s\S]*(?=\nThe tool input)/, OWN);
}

/** Long texts were kept without their middle. */
function clippedAs(text: string, host: string): string {
  const [head, tail] = host.split(/…\[\d+ chars\]…/);
  return tail !== undefined && text.startsWith(head!) && text.endsWith(tail) ? host : text;
}

const cases = readCases(testData("oracle-cases.jsonl"));

test("every difference from the host is about a case there is", () => {
  const names = new Set(cases.map((c) => c.name));
  assert.deepEqual(Object.keys(DIFFERENCES).filter((name) => !names.has(name)), []);
});

for (const given of cases) {
  const difference = DIFFERENCES[given.name];
  const claim = difference ? `differs from the host by intent (${difference.reason})` : "ends as in the host";
  test(`oracle ${given.name} ${claim}`, async () => {
    const host = hostSide(given);
    const outcome = await runCase(given);
    const ours = ourSide(outcome, host);
    assert.deepEqual(ours, { ...host, ...difference?.ours }, outcome.warnings.join("\n"));
    if (difference) assert.notDeepEqual(ours, host, "it does not differ any more: take it out of the table");
  });
}
