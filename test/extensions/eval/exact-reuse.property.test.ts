import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { user } from "../../../lib/core/messages.ts";
import type { Model } from "../../../lib/core/model.ts";
import { readReply } from "../../../lib/core/reply.ts";
import { type RunLine } from "../../../lib/extensions/eval/attempt.ts";
import { whyAnew } from "../../../lib/extensions/eval/runs.ts";
import type { Tape } from "../../../lib/log/tape.ts";
import { anthropic, type AnthropicClient } from "../../../lib/models/anthropic/anthropic-model.ts";
import { scripted } from "../../../lib/models/scripted.ts";
import { readTape } from "../../../lib/replay/read-tape.ts";
import { openTape } from "../../../lib/replay/taped-session.ts";
import { tool } from "../../../lib/tools/make-tool.ts";
import { rounds } from "../../_counts.ts";
import { scratch } from "../../_scratch.ts";

/** Chooses by chances that are quarters, so that their sums are exact. */
type Choose = (chances: readonly number[]) => number;
type Law = Map<string, number>;

/** Plays a program once for each way its choices can come out, and gives each with its chance. */
async function everyWay<T>(program: (choose: Choose) => Promise<T>): Promise<{ came: T; chance: number }[]> {
  const all: { came: T; chance: number }[] = [];
  const path: number[] = [];
  for (let isFirst = true; isFirst || path.length > 0; isFirst = false) {
    let [at, chance] = [0, 1];
    const widths: (readonly number[])[] = [];
    const came = await program((chances) => {
      if (path.length === at) path.push(chances.findIndex((one) => one > 0));
      widths.push(chances);
      const chosen = path[at++]!;
      chance *= chances[chosen]!;
      return chosen;
    });
    all.push({ came, chance });
    path.length = at;
    while (path.length > 0) {
      const chances = widths[path.length - 1]!;
      const next = chances.findIndex((one, i) => i > path.at(-1)! && one > 0);
      path.pop();
      if (next >= 0) {
        path.push(next);
        break;
      }
    }
    if (path.length === 0) break;
  }
  return all;
}

/** How an agent asks, by what it has seen and its own coin, and what its tool says. */
interface Actor {
  readonly ask: (seen: readonly string[], coin: number) => string;
  readonly says: (at: number, reply: number, world: number) => string;
  readonly calls: number;
  /** Whether it asks the same again after a 0. */
  readonly retries: boolean;
  readonly readsWorld: boolean;
}
type Kernel = (asked: string) => readonly number[];

function random(seed: number) {
  let s = seed * 7919 + 7;
  const below = (n: number) => (s = s * 48271 % 0x7fff_ffff, s % n);
  const once = <T>(make: () => T) => {
    const known = new Map<string, T>();
    return (key: string) => {
      if (!known.has(key)) known.set(key, make());
      return known.get(key)!;
    };
  };
  return { below, once };
}

/** An agent as it was and as it is, which are equal but where a coin says otherwise, and the model that both ask. */
function actors(seed: number, calls: number): { was: Actor; now: Actor; kernel: Kernel; other: Kernel } {
  const { below, once } = random(seed);
  const [base, changed, fresh] = [once(() => below(5)), once(() => below(4) === 0), once(() => 5 + below(3))];
  const [tools, toolsNow] = [once(() => below(3)), once(() => below(3))];
  const readsWorld = seed % 3 === 0;
  const toolsDiffer = seed % 2 === 0;
  const retries = seed % 3 === 1;
  const rest = { calls: readsWorld ? 2 : calls, retries, readsWorld };
  const asks = (seen: readonly string[], coin: number) => `q${base(seen.join() + (seed % 5 === 0 ? coin : ""))}`;
  const says = (of: (key: string) => number): Actor["says"] => (at, reply, world) => `t${of(`${at}${reply}${world}`)}`;
  const quarters = () => {
    const chances = [0, 0];
    for (let i = 0; i < 4; i++) chances[below(2)]! += 0.25;
    return chances;
  };
  return {
    was: { ...rest, ask: asks, says: says(tools) },
    now: {
      ...rest,
      ask: (seen, coin) => changed(seen.join()) ? `q${fresh(seen.join())}` : asks(seen, coin),
      says: says(toolsDiffer ? toolsNow : tools),
    },
    kernel: once(quarters),
    other: once(quarters),
  };
}

const API = "https://api.anthropic.com";

/** A client of the Messages API that answers with a number, by middleware as the SDK has it. */
function api(answer: (asked: string) => number): Model {
  const reply = (body: string) => {
    const said = answer(JSON.parse(body).messages[0].content[0].text);
    const message = {
      id: "msg",
      type: "message",
      role: "assistant",
      model: "m",
      content: [],
      usage: { output_tokens: 1 },
    };
    const events = [
      { type: "message_start", message },
      { type: "content_block_start", index: 0, content_block: { type: "text", text: "" } },
      { type: "content_block_delta", index: 0, delta: { type: "text_delta", text: String(said) } },
      { type: "content_block_stop", index: 0 },
      { type: "message_delta", delta: { stop_reason: "end_turn" }, usage: { output_tokens: 1 } },
      { type: "message_stop" },
    ];
    const text = events.map((event) => `event: ${event.type}\ndata: ${JSON.stringify(event)}\n\n`).join("");
    return new Response(text, { headers: { "content-type": "text/event-stream" } });
  };
  const client: AnthropicClient = {
    ...{ baseURL: API, maxRetries: 0, timeout: 1000 },
    post: (path, options) => {
      const { body, middleware = [] } = options as { body: string; middleware?: readonly any[] };
      const last = (request: any) => Promise.resolve(reply(request.body));
      const next = middleware.reduceRight((inner, one) => (request: any) => one(request, inner, { options }), last);
      return { asResponse: () => next({ url: API + path, method: "post", headers: new Headers(), body }) };
    },
  };
  return anthropic({ client });
}

const code = (answer: (asked: string) => number): Model =>
  scripted([], {
    then: ({ messages }) => ({ text: String(answer((messages[0]!.content[0] as { text: string }).text)) }),
  });

interface Played {
  readonly said: readonly number[];
  readonly tools: readonly string[];
  readonly pass: boolean;
}

/** How many calls were made, and how many of them a model was asked. */
const counts = { made: 0, asked: 0 };

const context = { signal: new AbortController().signal, state: new Map() } as any;
const read = { type: "object", properties: {} } as const;
const signal = new AbortController().signal;

/** One run of an agent on our tape: it may continue an earlier one, and may be cut after so many calls. */
async function play(
  actor: Actor,
  choose: Choose,
  { kernel, continues, by = api, most = actor.calls, path }: {
    readonly kernel: Kernel;
    readonly continues?: Tape | undefined;
    readonly by?: typeof api;
    readonly most?: number;
    readonly path: string;
  },
): Promise<{ run: Played; tape: Tape }> {
  const coin = choose([0.5, 0.5]);
  const session = await openTape({ path, mode: "record", tools: true, ...(continues && { continues }) }, path);
  const said: number[] = [];
  const tools: string[] = [];
  const seen: string[] = [];
  const look = tool({
    ...{ name: "look", description: "Looks", input: read, effect: "read" as const },
    run: (given: any) => actor.says(given.at, given.reply, actor.readsWorld ? choose([0.5, 0.5]) : 0),
  });
  const lane = session.mainLane;
  const spec = lane.spec({
    ...{ type: "main", system: "", tools: [look], limits: {} as any, maxTokens: 9, hooks: () => [] as any },
    model: by((asked) => (counts.asked++, choose(kernel(asked)))),
  });
  while (said.length < Math.min(most, actor.calls)) {
    const request = { model: "m", system: "", messages: [user(actor.ask(seen, coin))], tools: [], max_tokens: 9 };
    const { message } = await readReply(spec.model(request, signal), () => {});
    const reply = Number((message.content[0] as { text: string }).text);
    const given = { at: seen.length, reply };
    const result = await spec.tools[0]!.run(given, { ...context, toolUseId: `c${said.length}` }) as any;
    counts.made++;
    said.push(reply);
    tools.push(JSON.stringify(typeof result === "string" ? result : result.content ?? result));
    if (!actor.retries || reply !== 0) seen.push(`${reply}${tools.at(-1)}`);
  }
  session.line({ prompt: "do" });
  await session.close("done");
  const pass = said.reduce((sum, one) => sum + one, 0) >= 2 || tools.at(-1)!.includes("t0");
  return { run: { said, tools, pass }, tape: await readTape(join(path, "tape.jsonl")) };
}

function add(law: Law, run: Played, chance: number): void {
  const key = JSON.stringify(run);
  law.set(key, (law.get(key) ?? 0) + chance);
}

/** Every row takes what the earlier run left, and says how today's run is made: its law must be that of a fresh one. */
const WAYS = ["once", "of code", "twice", "after a cut"] as const;

// Kills: recorded tool results served, a reply served twice, a code model whose replies are kept, and only runs that passed continued.
test("the law of runs that continue others is that of fresh runs, in every branch of random agents (enumerated)", async () => {
  using folder = scratch();
  let n = 0;
  const place = () => join(folder.path, String(n++));
  const many = rounds(2, 60, 8);
  const seeds = Array.from({ length: many }, (_, i) => i);
  for (const seed of seeds) {
    const { was, now, kernel, other } = actors(seed, many > 2 ? 3 : 2);
    for (const way of seeds.length > 4 ? WAYS : [WAYS[seeds.indexOf(seed)]!]) {
      const isCode = way === "of code";
      const today = { by: isCode ? code : api, kernel: isCode ? other : kernel };
      const fresh: Law = new Map();
      for (const { came, chance } of await everyWay((choose) => play(now, choose, { ...today, path: place() }))) {
        add(fresh, came.run, chance);
      }
      const earlier = await everyWay(async (choose) => {
        const first = await play(was, choose, { kernel, path: place(), ...(way === "after a cut" && { most: 1 }) });
        if (way !== "twice") return first;
        return await play(now, choose, { kernel, path: place(), continues: first.tape });
      });
      const law: Law = new Map();
      for (const { came: { run, tape }, chance } of earlier) {
        // As an eval decides whether it continues a run.
        const line: RunLine = { run: "a/now/1", pass: run.pass, calls: 1, tokens: 1, ms: 1 };
        const continues = whyAnew(line) === undefined ? tape : undefined;
        const ways = await everyWay((choose) => play(now, choose, { ...today, path: place(), continues }));
        for (const one of ways) add(law, one.came.run, chance * one.chance);
      }
      assert.deepEqual(new Map([...law].sort()), new Map([...fresh].sort()), `agent ${seed}, continued ${way}`);
    }
  }
  assert.ok(counts.asked < 0.9 * counts.made, `of ${counts.made} calls ${counts.asked} were asked`);
});
