import { isObject } from "../core/json.ts";
import { type Block, invalidConversation, isToolResult, isToolUse, type Message } from "../core/messages.ts";
import type { ModelRequest, ToolSpec } from "../core/model.ts";

type RequestFields = Record<string, unknown>;

/**
 * What the Messages API would refuse in a request body. Stricter in one point: roles must alternate, as joining turns
 * hides mistakes in a loop. `isPaused` tells whether a reply paused after a block; `betas` is the header.
 */
export function invalidRequest(
  body: unknown,
  isPaused: (block: Block) => boolean = () => false,
  betas = "",
): string | undefined {
  if (!isObject(body)) return "the body is not an object";
  const { model, max_tokens, system = "", messages, tools = [], stream } = body;
  if (typeof model !== "string" || model === "") return "model: Field required";
  if (!Number.isInteger(max_tokens) || (max_tokens as number) < 1) {
    return "max_tokens: Input should be a positive integer";
  }
  if (stream !== undefined && typeof stream !== "boolean") return "stream: Input should be a boolean";
  if (typeof system !== "string" && !(Array.isArray(system) && system.every(isText))) {
    return "system: Input should be a string or a list of text blocks";
  }
  if (!Array.isArray(messages) || messages.length === 0) return "messages: at least one message is required";
  if (!Array.isArray(tools)) return "tools: Input should be a list";
  for (const [i, message] of messages.entries()) {
    const between = i > 0 && isSystem(message) && /\bmid-conversation-/.test(betas);
    const problem = (between ? invalidBetween : invalidMessage)(message, `messages.${i}`);
    if (problem) return problem;
  }
  const conversation = messages.filter((message) => !isSystem(message)).map(plainMessage);
  const problem = invalidConversation(conversation.map(inOrderOfCalls)) ?? invalidTools(tools);
  if (problem) return problem;
  const { role, content } = conversation.at(-1)!;
  if (role !== "user" && !isPaused(content.at(-1)!)) return "messages: the conversation must end with a user message";
  const breakpoints = JSON.stringify(body).match(/"cache_control":\{/g)?.length ?? 0;
  return breakpoints > 4 ? `at most 4 blocks may have cache_control, found ${breakpoints}` : undefined;
}

/** A client may send the results of parallel calls as they ended. */
function inOrderOfCalls(message: Message, i: number, all: readonly Message[]): Message {
  const calls = all[i - 1]?.content.filter(isToolUse).map(({ id }) => id) ?? [];
  const place = (result: { readonly tool_use_id: string }) => calls.indexOf(result.tool_use_id);
  const results = message.content.filter(isToolResult).sort((a, b) => place(a) - place(b));
  return { ...message, content: message.content.map((block) => isToolResult(block) ? results.shift()! : block) };
}

function isText(block: unknown): boolean {
  return isObject(block) && block.type === "text" && typeof block.text === "string";
}

function isSystem(message: unknown): boolean {
  return isObject(message) && message.role === "system";
}

/** Of a message to the model between the turns, which only a beta lets a client send. */
function invalidBetween(message: unknown, path: string): string | undefined {
  const { output_config: _, ...rest } = message as RequestFields;
  if (Array.isArray(rest.content) && !rest.content.every(isText)) {
    return `${path}.content: Input should be a string or a list of text blocks`;
  }
  return invalidMessage({ ...rest, role: "user" }, path);
}

function invalidMessage(message: unknown, path: string): string | undefined {
  if (!isObject(message)) return `${path}: Input should be an object`;
  const extra = Object.keys(message).find((key) => key !== "role" && key !== "content");
  if (extra) return `${path}.${extra}: Extra inputs are not permitted`;
  if (message.role !== "user" && message.role !== "assistant") {
    return `${path}.role: Input should be 'user' or 'assistant'`;
  }
  if (typeof message.content === "string") {
    return message.content === "" ? `${path}: content must not be empty` : undefined;
  }
  if (!Array.isArray(message.content)) return `${path}.content: Input should be a string or a list`;
  const problem = invalidBlocks(message.content, path);
  if (problem !== undefined) return problem;
  const texts = message.content.filter((block) => block.type === "text");
  const blank = texts.length > 0 && texts.every((block) => block.text.trim() === "");
  return blank ? `${path}: text content blocks must contain non-whitespace text` : undefined;
}

function invalidBlocks(blocks: readonly unknown[], path: string): string | undefined {
  return blocks.map((block, i) => invalidBlock(block, `${path}.content.${i}`)).find((problem) => problem !== undefined);
}

function invalidBlock(block: unknown, path: string): string | undefined {
  if (!isObject(block) || typeof block.type !== "string") return `${path}.type: Field required`;
  switch (block.type) {
    case "text":
      if (typeof block.text !== "string") return `${path}.text: Field required`;
      return block.text === "" ? `${path}: text content blocks must be non-empty` : undefined;
    case "tool_use":
      if (typeof block.id !== "string" || !/^[a-zA-Z0-9_-]+$/.test(block.id)) {
        return `${path}.id: should match '^[a-zA-Z0-9_-]+$'`;
      }
      if (typeof block.name !== "string" || block.name === "") return `${path}.name: Field required`;
      return isObject(block.input) ? undefined : `${path}.input: Input should be an object`;
    case "tool_result":
      return typeof block.tool_use_id === "string" ? invalidResult(block, path) : `${path}.tool_use_id: Field required`;
    default:
      return undefined;
  }
}

function invalidResult({ content = "", is_error }: RequestFields, path: string): string | undefined {
  if (is_error === true && (content as string | unknown[]).length === 0) {
    return `${path}: content cannot be empty if \`is_error\` is true`;
  }
  if (!Array.isArray(content)) return undefined;
  if (is_error === true && !content.every(isText)) {
    return `${path}: all content must be type \`text\` if \`is_error\` is true`;
  }
  return invalidBlocks(content, path);
}

function invalidTools(tools: readonly unknown[]): string | undefined {
  const names = new Set<unknown>();
  for (const [i, tool] of tools.entries()) {
    if (isObject(tool) && tool.type === "mcp_toolset") continue;
    if (!isObject(tool) || typeof tool.name !== "string") return `tools.${i}.name: Field required`;
    if (names.has(tool.name)) return `tools: Tool names must be unique, '${tool.name}' is not`;
    names.add(tool.name);
    if (tool.type !== undefined && tool.type !== "custom") continue;
    if (!isObject(tool.input_schema) || tool.input_schema.type !== "object") {
      return `tools.${i}.input_schema.type: Field required`;
    }
  }
  return undefined;
}

/** A sound request body as the core would ask it: without cache breakpoints, with all content as blocks. */
export function asModelRequest(body: RequestFields): ModelRequest {
  const { model, system = "", messages, tools = [], max_tokens, stream: _, ...params } = body;
  return {
    model: model as string,
    system: typeof system === "string" ? system : (system as { text: string }[]).map((block) => block.text).join("\n"),
    messages: withTheTurns(messages as RequestFields[]),
    tools: (tools as RequestFields[]).map((tool) => unmarked(tool) as unknown as ToolSpec),
    max_tokens: max_tokens as number,
    ...(Object.keys(params).length > 0 && { params }),
  };
}

/** Messages in two roles: what was said between the turns belongs to the user's before it. */
function withTheTurns(messages: readonly RequestFields[]): Message[] {
  const turns: Message[] = [];
  for (const message of messages) {
    const { role, content } = plainMessage(message);
    const at = isSystem(message) ? turns.findLastIndex((turn) => turn.role === "user") : turns.length;
    turns[at] = { role: turns[at]?.role ?? role, content: [...turns[at]?.content ?? [], ...content] };
  }
  return turns;
}

function plainMessage(message: unknown): Message {
  const { role, content } = message as { role: Message["role"]; content: string | RequestFields[] };
  return {
    role,
    content: typeof content === "string"
      ? [{ type: "text", text: content }]
      : content.map((block) => unmarked(block) as unknown as Block),
  };
}

function unmarked({ cache_control: _, ...rest }: RequestFields): RequestFields {
  return rest;
}
