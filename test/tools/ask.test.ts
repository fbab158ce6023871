import assert from "node:assert/strict";
import { test } from "node:test";
import type { Tool } from "../../lib/core/tool.ts";
import { agent, modify } from "../../lib/index.ts";
import { scripted } from "../../lib/testing/index.ts";
import {
  AskUserQuestion,
  askWith,
  EnterPlanMode,
  ExitPlanMode,
  type Question,
  type QuestionAsker,
} from "../../lib/tools/index.ts";
import { PLAN_MODE, QUESTIONS } from "../../lib/tools/tool-state.ts";
import type { AskUserQuestionResponse } from "../../lib/tools/ask.ts";
import type { PlanRequest } from "../../lib/tools/question-asker.ts";
import { call } from "./_tree.ts";

const cwd = "/";
const options = [{ label: "Postgres", description: "rows" }, { label: "SQLite", description: "a file" }];
const which: Question = { question: "Which database?", header: "Database", options, multiSelect: false };
const where: Question = { question: "Where?", header: "Place", options, multiSelect: true };

function answering(answers: Record<string, string> | undefined): QuestionAsker & { asked: (readonly Question[])[] } {
  const asked: (readonly Question[])[] = [];
  return {
    asked,
    answer: (questions) => {
      asked.push(questions);
      return Promise.resolve(answers);
    },
    approve: () => Promise.resolve(undefined),
  };
}

test("AskUserQuestion asks the asker of the agent, and gives the model what the user answered", async () => {
  const asker = answering({ "Which database?": "Postgres", "Where?": "here, there" });
  const state = new Map<string, unknown>([[QUESTIONS, asker]]);
  const { content, response, wait } = await call(AskUserQuestion, { questions: [which, where] }, { cwd, state });
  assert.equal(content, 'The user has answered: "Which database?"="Postgres", "Where?"="here, there".');
  assert.deepEqual(response, {
    questions: [which, where],
    answers: { "Which database?": "Postgres", "Where?": "here, there" },
  });
  assert.equal(wait, undefined);
  assert.deepEqual(asker.asked, [[which, where]]);
});

test("AskUserQuestion ends the turn if there is no user, or the user does not answer", async () => {
  for (const state of [new Map(), new Map([[QUESTIONS, answering(undefined)]])]) {
    const { content, response, wait, isError } = await call(AskUserQuestion, { questions: [which] }, { cwd, state });
    assert.match(
      content as string,
      /^Not answered yet: "Which database\?"\. The turn ends here; the user's next message is the answer\.$/,
    );
    assert.deepEqual((response as AskUserQuestionResponse).answers, {});
    assert.deepEqual([wait, isError], [true, undefined]);
  }
});

test("AskUserQuestion never asks what a hook has answered already, and asks the rest", async () => {
  const asker = answering({ "Where?": "there" });
  const state = new Map<string, unknown>([[QUESTIONS, asker]]);
  const all = { questions: [which, where], answers: { "Which database?": "SQLite", "Where?": ["here", "there"] } };
  const whole = await call(AskUserQuestion, all, { cwd, state: new Map() });
  assert.equal(whole.content, 'The user has answered: "Which database?"="SQLite", "Where?"="here, there".');
  assert.equal(whole.wait, undefined);
  const part = await call(AskUserQuestion, { ...all, answers: { "Which database?": "SQLite" } }, { cwd, state });
  assert.deepEqual((part.response as AskUserQuestionResponse).answers, {
    "Which database?": "SQLite",
    "Where?": "there",
  });
  assert.deepEqual(asker.asked, [[where]]);
});

test("AskUserQuestion refuses what it cannot ask", async () => {
  const five = Array.from({ length: 5 }, (_, i) => ({ ...which, question: String(i) }));
  const wrong: [input: object, why: RegExp][] = [
    [{}, /required property "questions"/],
    [{ questions: [] }, /^questions: .*too few/],
    [{ questions: [which, which] }, /each must have a text of its own/],
    [{ questions: [{ ...which, options: options.slice(1) }] }, /^questions\.0\.options: .*too few/],
    [{ questions: [{ ...which, question: "" }] }, /^questions\.0\.question: .*too short/],
    [{ questions: five }, /^questions: .*too many/],
    [{ questions: [which], answers: "Postgres" }, /^answers: must be texts/],
    [{ questions: [which], answers: { "Which database?": 5 } }, /^answers: must be texts/],
  ];
  for (const [input, why] of wrong) {
    await assert.rejects(async () => await AskUserQuestion.parse(input), { message: why });
  }
});

test("AskUserQuestion never invites the model to answer its own question", () => {
  const { properties } = AskUserQuestion.input_schema as { properties: object };
  assert.deepEqual(Object.keys(properties), ["questions"]);
});

test("EnterPlanMode and ExitPlanMode ask, give the answer, and turn plan mode on and off when the user agrees", async () => {
  const seen: (PlanRequest | boolean)[] = [];
  let reply: { approved: boolean; feedback?: string } = { approved: true };
  const asker: QuestionAsker = {
    answer: () => Promise.resolve(undefined),
    approve: (request) => {
      seen.push(request);
      return Promise.resolve(reply);
    },
  };
  const state = new Map<string, unknown>([[QUESTIONS, asker], [PLAN_MODE, (on: boolean) => seen.push(on)]]);
  const enter = await call(EnterPlanMode, {}, { cwd, state });
  assert.match(enter.content as string, /^The user agrees to planning first\. Look around and think, change nothing/);
  const exit = await call(ExitPlanMode, { plan: "1. do it" }, { cwd, state });
  assert.equal(exit.content, "The user agrees to the plan. Start with it now.");
  assert.deepEqual(exit.response, { plan: "1. do it", approved: true });
  reply = { approved: false, feedback: "test it first" };
  const refused = await call(ExitPlanMode, { plan: "1. do it" }, { cwd, state });
  assert.equal(refused.content, "The user does not agree to the plan. The user says: test it first");
  assert.equal(refused.isError, true);
  const plan = { tool: "ExitPlanMode", plan: "1. do it" };
  assert.deepEqual(seen, [{ tool: "EnterPlanMode" }, true, plan, false, plan]);
});

test("EnterPlanMode and ExitPlanMode end the turn if there is no user, and never turn plan mode on or off", async () => {
  const state = new Map<string, unknown>([[PLAN_MODE, () => assert.fail("nobody agreed")]]);
  const calls: [Tool, object][] = [[EnterPlanMode, {}], [ExitPlanMode, { plan: "x", approved: true }]];
  for (const [tool, input] of calls) {
    const { content, wait, response } = await call(tool, input, { cwd, state });
    assert.match(content as string, /^The user has not agreed to .* yet\. The turn ends here/);
    assert.equal(wait, true);
    assert.equal((response as { approved?: boolean }).approved, undefined);
  }
});

test("an asker that could not be asked is refused before the agent begins, by each way to give it one", async () => {
  const approve = () => Promise.resolve(undefined);
  const helper = agent({ model: scripted([{ text: "ok" }]) });
  for (const [asker, lacks] of [[{ approve }, "answer"], [{ answer: approve }, "approve"], [{}, "answer"]] as const) {
    const wrong = {
      name: "TypeError",
      message: new RegExp(`as the questionAsker has no function '${lacks}': give it`),
    };
    await assert.rejects(helper.run("go", { questionAsker: asker as never }), wrong);
    await assert.rejects(helper.open({ questionAsker: asker as never }), wrong);
  }
});

test("the tools that ask are never in the way of a planning agent, and run beside reads", () => {
  for (const tool of [AskUserQuestion, EnterPlanMode, ExitPlanMode]) assert.equal(tool.effect, "none");
});

test("a person is never asked two things at a time", async () => {
  let open = 0;
  const order: string[] = [];
  const asker: QuestionAsker = {
    answer: async ([question]) => {
      assert.equal(++open, 1);
      await new Promise((resolve) => setTimeout(resolve, 5));
      open--;
      order.push(question!.question);
      if (question!.question === "Which database?") throw new Error("the terminal is gone");
      return { [question!.question]: "yes" };
    },
    approve: () => Promise.resolve(undefined),
  };
  const state = new Map<string, unknown>([[QUESTIONS, asker]]);
  const ends = await Promise.allSettled(
    [which, where].map((question) => call(AskUserQuestion, { questions: [question] }, { cwd, state })),
  );
  assert.deepEqual(ends.map((end) => end.status), ["rejected", "fulfilled"]);
  assert.deepEqual(order, ["Which database?", "Where?"]);
});

test("askWith() answers by question or header, joins several, and says what is not scripted", async () => {
  const signal = new AbortController().signal;
  const asker = askWith({ "Which database?": "SQLite", Place: ["here", "there"] }, { plan: "no" });
  assert.deepEqual(await asker.answer([which, where], signal), {
    "Which database?": "SQLite",
    "Where?": "here, there",
  });
  assert.deepEqual(await asker.approve({ tool: "ExitPlanMode", plan: "x" }, signal), {
    approved: false,
    feedback: "no",
  });
  assert.deepEqual(await askWith({}).approve({ tool: "EnterPlanMode" }, signal), { approved: true });
  const state = new Map([[QUESTIONS, askWith({ "Which database?": "SQLite" })]]);
  await assert.rejects(
    call(AskUserQuestion, { questions: [where] }, { cwd, state }),
    /Cannot answer 'Where\?' as no answer is scripted: there is one for 'Which database\?'/,
  );
});

const asks = { tools: [{ name: "AskUserQuestion", input: { questions: [which] } }] };

test("an agent asks with scripted answers and continues", async () => {
  const model = scripted([asks, { text: "I take Postgres" }]);
  const questionAsker = askWith({ Database: "Postgres" });
  const result = await agent({ model, tools: [AskUserQuestion] }).run("go", { questionAsker });
  assert.equal(result.stop, "done");
  assert.match(JSON.stringify(model.requests[1]!.messages.at(-1)), /Which database.*Postgres/);
  model.done();
});

test("an agent whose question is not answered waits, and never calls the model again", async () => {
  const model = scripted([asks, { text: "never said" }]);
  const result = await agent({ model, tools: [AskUserQuestion] }).run("go");
  assert.equal(result.stop, "waiting");
  assert.equal(model.requests.length, 1);
});

test("a hook that puts answers into the input satisfies the question, as in Claude Code", async () => {
  const model = scripted([asks, { text: "thanks" }]);
  const result = await agent({
    model,
    tools: [AskUserQuestion],
    hooks: {
      preToolUse: [
        ({ input }) => ({ action: "modify", value: { ...input, answers: { "Which database?": "SQLite" } } }),
      ],
    },
  }).run("go");
  assert.equal(result.stop, "done");
  assert.match(JSON.stringify(model.requests[1]!.messages.at(-1)), /Which database.*SQLite/);
});

test("AskUserQuestion never takes a model's own answer for the person's, and takes a hook's", async () => {
  const answers = { "Which database?": "SQLite" };
  const ask = (input: object) => scripted([{ tools: [{ name: "AskUserQuestion", input }] }, { text: "thanks" }]);
  const alone = await agent({ model: ask({ questions: [which], answers }), tools: [AskUserQuestion] }).run("go");
  assert.equal(alone.stop, "waiting");
  const hooks = { preToolUse: (e: { input: object }) => modify({ ...e.input, answers }) };
  const hooked = await agent({ model: ask({ questions: [which] }), tools: [AskUserQuestion], hooks }).run("go");
  assert.deepEqual([hooked.stop, hooked.text], ["done", "thanks"]);
});
