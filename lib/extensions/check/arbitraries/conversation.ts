import type { Arbitrary } from "fast-check";
import {
  assistant,
  type Block,
  type Message,
  text,
  toolResult,
  type ToolUseBlock,
  user,
} from "../../../core/messages.ts";
import { PROMPTS, SENTENCES } from "../../../hooks/event-fields.ts";
import { fastCheck } from "../../../testing/fast-check.ts";
import { FILES, recordArbitrary, spoken, textArbitrary } from "./texts.ts";
import { callArbitrary, type Called } from "./tool-inputs.ts";
import { checkOptions } from "../../../input/options.ts";

interface ConversationOptions {
  /** The tools that are called: a name or a matcher. @default every tool we know */
  readonly tool?: string;
  /** How many replies of the assistant there are at most. @default 4 */
  readonly replies?: number;
  /** Whose turn it is at the end. @default either */
  readonly ends?: "user" | "assistant";
}

const PIXEL = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";

const IMAGE: Block = { type: "image", source: { type: "base64", media_type: "image/png", data: PIXEL } };

/** What the user adds, what the assistant says to it, and its calls with the results they get. */
interface Exchange {
  readonly said: readonly Block[];
  readonly thinking: Block | undefined;
  readonly words: string | undefined;
  readonly calls: readonly (Called & { readonly failed: boolean })[];
}

/**
 * Conversations the API accepts, as an arbitrary of fast-check: roles alternate from the user, every tool call is
 * answered once and in order by the next message, nothing is empty; with thinking, pictures and failed calls among it.
 *
 * @example
 * ```ts
 * import fc from "fast-check";
 * import { conversationArbitrary } from "crochet/testing";
 *
 * fc.assert(fc.property(conversationArbitrary({ ends: "user" }), (messages) => messages.at(-1)?.role === "user"));
 * ```
 */
export function conversationArbitrary(options: ConversationOptions = {}): Arbitrary<readonly Message[]> {
  checkOptions(
    options,
    { tool: "a text", replies: "a whole number", ends: ["user", "assistant"] },
    "make conversations",
  );
  const { tool, replies = 4, ends } = options;
  if (replies < 1) throw new TypeError(`Cannot make conversations as 'replies' must be 1 or more, and is ${replies}`);
  const fc = fastCheck();
  const words = textArbitrary(fc, SENTENCES).map(spoken);
  const prompt = textArbitrary(fc, PROMPTS).map((said): Block => text(spoken(said)));
  const thinking = words.map((thought): Block => ({ type: "thinking", thinking: thought, signature: "c2lnbmF0dXJl" }));
  const call = callArbitrary(fc, tool, { cwd: "/home/dev/project", files: FILES, words: [] });
  const exchange = recordArbitrary<Exchange>(fc, {
    said: fc.array(fc.oneof({ withCrossShrink: true }, prompt, fc.constant(IMAGE)), { minLength: 1, maxLength: 2 }),
    thinking: fc.option(thinking, { nil: undefined }),
    words: fc.option(words, { nil: undefined }),
    calls: fc.array(fc.tuple(call, fc.boolean()).map(([made, failed]) => ({ ...made, failed })), { maxLength: 3 }),
  });
  return fc.tuple(
    fc.array(exchange, { minLength: 1, maxLength: replies }),
    ends === undefined ? fc.boolean() : fc.constant(ends === "assistant"),
  ).map(([exchanges, answered]) => messagesOf(exchanges, answered));
}

function messagesOf(exchanges: readonly Exchange[], answered: boolean): readonly Message[] {
  const messages: Message[] = [];
  let next: readonly Block[] = [];
  let calls = 0;
  for (const [i, { said, thinking, words, calls: made }] of exchanges.entries()) {
    // After calls their results come first, and often nothing else.
    messages.push(user(next.length > 0 && i % 2 === 1 ? next : [...next, ...said]));
    const last = i === exchanges.length - 1;
    if (last && !answered) return messages;
    // The last reply makes no calls, as they would get no results.
    const uses = last ? [] : made.map(({ tool_name, input }): ToolUseBlock => ({
      type: "tool_use",
      id: `toolu_${String(++calls).padStart(4, "0")}`,
      name: tool_name,
      input,
    }));
    messages.push(assistant([
      ...(thinking ? [thinking] : []),
      ...(words !== undefined || uses.length === 0 ? [text(words ?? "Done.")] : []),
      ...uses,
    ]));
    next = uses.map(({ id }, n) => {
      const { text: words, failed } = made[n]!;
      return toolResult(id, failed ? `Exit code 1\n${words}` : words, failed);
    });
  }
  return messages;
}
