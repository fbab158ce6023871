import assert from "node:assert/strict";
import { test } from "node:test";
import { agent, deny, type EventOf, modify, tool } from "crochet";
import { scripted } from "crochet/testing";
import { invalidConversation } from "../../lib/core/messages.ts";

/** A tool that throws so many times, and how often it was tried. */
const flaky = (effect: "read" | "write", failures: number) => {
  let tries = 0;
  const made = tool({
    name: "Flaky",
    description: "",
    effect,
    input: { type: "object" },
    run: () => {
      if (tries++ < failures) throw new RangeError("not yet");
      return "at last";
    },
  });
  return { made, tries: () => tries };
};

test("S3.3, S3.4: a tool that throws fires Error with its type, message, tool and severity", async () => {
  const seen: EventOf<"error">[] = [];
  await agent({
    model: scripted([{ tools: [{ name: "Flaky", input: {} }] }, { text: "ok" }]),
    tools: [flaky("write", 9).made],
    hooks: { error: (e) => void seen.push(e) },
  }).run("go");
  assert.equal(seen.length, 1);
  const { error_type, error_message, tool: name, severity, stack_trace } = seen[0]!;
  assert.deepEqual([error_type, error_message, name, severity], ["RangeError", "not yet", "Flaky", "error"]);
  assert.match(stack_trace!, /RangeError/);
});

test("S3.4: an Error hook may ask for one retry, of a tool that changes nothing and never of one that writes", async () => {
  for (const [effect, tries] of [["read", 2], ["write", 1]] as const) {
    const { made, tries: count } = flaky(effect, 1);
    await agent({
      model: scripted([{ tools: [{ name: "Flaky", input: {} }] }, { text: "ok" }]),
      tools: [made],
      hooks: { error: () => modify(true) },
    }).run("go");
    assert.equal(count(), tries, effect);
  }
});

test("S3.4: Error hooks hear a tool's second failure, which is not tried again, and may end the run by it", async () => {
  for (const ends of [false, true]) {
    const heard: [message: string, tool: string | null, retry: boolean][] = [];
    const { made, tries } = flaky("read", 9);
    const { stop } = await agent({
      model: scripted([{ tools: [{ name: "Flaky", input: {} }] }, { text: "ok" }]),
      tools: [made],
      hooks: {
        error: ({ error_message, tool, retry }) => {
          heard.push([error_message, tool, retry]);
          return ends && heard.length > 1 ? deny("twice is enough") : modify(true);
        },
      },
    }).run("go");
    assert.deepEqual(heard, [["not yet", "Flaky", true], ["not yet", "Flaky", false]]);
    assert.deepEqual([tries(), stop], [2, ends ? "error" : "done"]);
  }
});

test("S3.4: an Error hook that denies ends the run, for instance after repeated errors", async () => {
  let errors = 0;
  const result = await agent({
    model: scripted([], { then: { tools: [{ name: "Flaky", input: {} }] } }),
    tools: [flaky("read", 99).made],
    hooks: { error: () => ++errors >= 3 ? deny("three errors are enough") : undefined },
  }).run("go");
  assert.equal(result.stop, "error");
  assert.equal(errors, 3);
  assert.match(result.error!.message, /three errors are enough/);
  assert.equal(invalidConversation(result.messages), undefined);
});

test("a result is never taken for a failure or a refusal because of a field that only the loop sets", async () => {
  let errors = 0;
  const result = { content: "fine", thrown: { name: "E", message: "no" }, refused: { by: "x", reason: "y" }, ms: -1 };
  const odd = tool({ name: "Odd", description: "", effect: "read", input: { type: "object" }, run: () => result });
  const { denials, messages } = await agent({
    model: scripted([{ tools: [{ name: "Odd", input: {} }] }, { text: "ok" }]),
    tools: [odd],
    hooks: { error: () => void errors++ },
  }).run("go");
  assert.deepEqual([errors, denials], [0, []]);
  assert.deepEqual(messages[2]!.content.map((block) => (block as { content?: unknown }).content), ["fine"]);
});
