/** The same recorded run, answered by each tool in turn: a run is 20 streamed calls, 19 of them with a tool. */
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { frameOf } from "../lib/log/frames.ts";
import { replyEvents, type ScriptedReply } from "../lib/models/scripted.ts";

export const CALLS = 20;
const system = "You are a careful assistant. ".repeat(40);
const prompt = "Look things up until you are done.";
const result = "r".repeat(200);
const input_schema = {
  type: "object" as const,
  properties: { query: { type: "string" }, limit: { type: "integer" } },
};
const look = {
  name: "look",
  description: "Looks something up.",
  input_schema,
};
const words = (i: number) => `Step ${i} of what is to be done here, said in some words so that it streams`;
const query = (i: number) => ({ query: `step ${i}`, limit: 10 });

const replies: ScriptedReply[] = Array.from(
  { length: CALLS },
  (_, i) => i === CALLS - 1 ? { text: "done" } : { text: words(i), tools: [{ name: "look", input: query(i) }] },
);

/** The body of each answer, byte for byte the same for all who serve bodies. */
const bodies = replies.map((reply, i) =>
  replyEvents(reply, {
    message: `msg_${i}`,
    model: "claude-bench",
    tool: () => `toolu_${i}`,
  })
    .map((event) => frameOf({ ms: 0, event }))
);

/** One run; how many calls it made and what was said at its end. */
type Run = () => Promise<{ calls: number; text: string }>;

interface Contestant {
  readonly run: Run;
  readonly stop?: () => Promise<void> | void;
}

const URL_OF_NOBODY = "http://127.0.0.1:9";

/** The loop everyone writes on the SDK's event stream, put together by hand: the fastest there is on its methods. */
async function sdkLoop(baseURL: string): Promise<Run> {
  const { default: Anthropic } = await import("@anthropic-ai/sdk");
  return async () => {
    const client = new Anthropic({ apiKey: "k", baseURL, maxRetries: 0 });
    const messages: any[] = [{ role: "user", content: prompt }];
    for (let calls = 1;; calls++) {
      const content: any[] = [];
      const inputs: string[] = [];
      const stream = await client.messages.create({
        model: "claude-bench",
        max_tokens: 1000,
        system,
        tools: [look],
        messages,
        stream: true,
      });
      for await (const event of stream) {
        if (event.type === "content_block_start") {
          content[event.index] = { ...event.content_block };
          inputs[event.index] = "";
        } else if (event.type === "content_block_delta") {
          if (event.delta.type === "text_delta") {
            content[event.index].text += event.delta.text;
          }
          if (event.delta.type === "input_json_delta") {
            inputs[event.index] += event.delta.partial_json;
          }
        } else if (event.type === "content_block_stop" && inputs[event.index]) {
          content[event.index].input = JSON.parse(inputs[event.index]!);
        }
      }
      messages.push({ role: "assistant", content });
      const uses = content.filter((block) => block.type === "tool_use");
      if (uses.length === 0) return { calls, text: content[0].text };
      messages.push({
        role: "user",
        content: uses.map((use) => ({
          type: "tool_result",
          tool_use_id: use.id,
          content: result,
        })),
      });
    }
  };
}

/** Which answer a request wants: each turn adds two messages. */
const turnOf = (body: { messages: unknown[] }) => (body.messages.length - 1) / 2;

const headers = {
  "content-type": "text/event-stream; charset=utf-8",
  "request-id": "req_1",
};

function streamOf(frames: readonly string[]): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    start(controller) {
      for (const frame of frames) controller.enqueue(encoder.encode(frame));
      controller.close();
    },
  });
}

/** Our whole agent on a tape that was recorded once. */
async function ours(wire: boolean): Promise<Contestant> {
  const { agent, tool } = await import("../lib/index.ts");
  const { scripted } = await import("../lib/testing/index.ts");
  const { readTape } = await import("../lib/replay/read-tape.ts");
  const folder = mkdtempSync(join(tmpdir(), "crochet-bench-"));
  const options = {
    name: "bench",
    system,
    limits: { iterations: 100 },
    tools: [
      tool({ name: look.name, description: look.description, input: input_schema, effect: "read", run: () => result }),
    ],
  };
  const recorded = await agent({ ...options, model: scripted(replies) }).run(
    prompt,
    { tape: { path: folder, mode: "record" }, cwd: folder },
  );
  if (recorded.stop !== "done") throw new Error(recorded.error?.message);
  const tape = await readTape(join(folder, "tape.jsonl"));
  const subject = agent({ ...options, model: scripted([]) });
  return {
    run: async () => {
      let ok = false;
      const { iterations, text, error } = await subject.run(prompt, {
        cwd: folder,
        tape: { tape, wire, onReport: (report) => ok = report.ok },
      });
      if (!ok) throw new Error(`Cannot replay: ${error?.message}`);
      return { calls: iterations, text };
    },
    stop: () => rmSync(folder, { recursive: true }),
  };
}

/** Each is loaded by itself, so that a process measures one. */
export const contestants: {
  readonly [name: string]: () => Promise<Contestant>;
} = {
  seam: () => ours(false),
  wire: () => ours(true),

  async aimock() {
    const { LLMock } = await import("@copilotkit/aimock");
    const mock = new LLMock({ port: 0, logLevel: "silent", chunkSize: 12 });
    for (let i = 0; i < CALLS; i++) {
      const response = i === CALLS - 1 ? { content: "done" } : {
        content: words(i),
        toolCalls: [{
          id: `toolu_${i}`,
          name: "look",
          arguments: JSON.stringify(query(i)),
        }],
      };
      mock.on({ turnIndex: i }, response);
    }
    await mock.start();
    return { run: await sdkLoop(mock.url), stop: () => mock.stop() };
  },

  async polly() {
    const { Polly } = await import("@pollyjs/core");
    const { default: FetchAdapter } = await import("@pollyjs/adapter-fetch");
    Polly.register(FetchAdapter as any);
    const run = await sdkLoop(URL_OF_NOBODY);
    return {
      // As in a test: one Polly for the run, the recorded answers by their requests.
      run: async () => {
        const polly = new Polly("bench", {
          adapters: ["fetch"],
          mode: "replay",
          logLevel: "silent",
          recordIfMissing: false,
        } as any);
        polly.server.post(`${URL_OF_NOBODY}/v1/messages`).intercept(
          (request: any, response: any) => {
            const frames = bodies[turnOf(JSON.parse(request.body))]!;
            response.status(200).setHeaders(headers).send(frames.join(""));
          },
        );
        try {
          return await run();
        } finally {
          await polly.stop();
        }
      },
    };
  },

  async nock() {
    const { default: nock } = await import("nock");
    const run = await sdkLoop("http://bench.invalid");
    return {
      run: async () => {
        for (let i = 0; i < CALLS; i++) {
          nock("http://bench.invalid")
            .post("/v1/messages", (body: any) => turnOf(body) === i)
            .reply(200, bodies[i]!.join(""), headers);
        }
        const end = await run();
        if (!nock.isDone()) throw new Error("not all answers were used");
        return end;
      },
      stop: () => nock.restore(),
    };
  },

  async msw() {
    const { setupServer } = await import("msw/node");
    const { http, HttpResponse } = await import("msw");
    const server = setupServer(
      http.post("http://bench.invalid/v1/messages", async ({ request }) => {
        const body = await request.json() as { messages: unknown[] };
        return new HttpResponse(streamOf(bodies[turnOf(body)]!), { headers });
      }),
    );
    server.listen({ onUnhandledRequest: "error" });
    return {
      run: await sdkLoop("http://bench.invalid"),
      stop: () => server.close(),
    };
  },
};
