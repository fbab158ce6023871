import { isObject } from "./json.ts";
import { isToolUse, type Message } from "./messages.ts";
import type { Effort, ModelRequest } from "./model.ts";

type Params = NonNullable<ModelRequest["params"]>;

/** What is asked of the model beside the conversation. */
export interface Asks {
  readonly maxTokens: number;
  readonly effort?: Effort;
  readonly params?: Params;
}

/**
 * The parameters of each call of a session: the same object as long as nothing in it changes, as requests keep their
 * bytes by it.
 */
export class CallParams {
  /** The container of the last reply that had one: the API goes on in it. */
  container: string | undefined;
  #last:
    | { of: Params | undefined; container: string | undefined; isFirst: boolean; made: Params | undefined }
    | undefined;

  /** `isFirst`: the call is the first of its turn. A tool that is forced in every call would never let the turn end. */
  for(of: Params | undefined, isFirst: boolean): Params | undefined {
    const { container } = this;
    if (container === undefined && (isFirst || !isForced(of))) return of;
    const last = this.#last;
    if (last?.of === of && last?.container === container && last?.isFirst === isFirst) return last?.made;
    const made: Params = {
      ...of,
      ...(!isFirst && isForced(of) && { tool_choice: unforced(of) }),
      ...(container !== undefined &&
        { container: isObject(of?.container) ? { ...of.container, id: container } : container }),
    };
    this.#last = { of, container, isFirst, made };
    return made;
  }
}

interface Choice {
  readonly type?: string;
  readonly disable_parallel_tool_use?: boolean;
}

function isForced(params: Params | undefined): params is Params & { tool_choice: Choice } {
  const { type } = (params?.tool_choice ?? {}) as Choice;
  return type === "any" || type === "tool";
}

function unforced({ tool_choice: { disable_parallel_tool_use } }: { tool_choice: Choice }): Choice {
  return { type: "auto", ...(disable_parallel_tool_use && { disable_parallel_tool_use }) };
}

/**
 * Whether the API still works on a tool of its own that a reply called beside ours: it takes the results of our tools
 * then, and nothing else.
 */
export function awaitsApi({ content }: Message): boolean {
  const open = content.filter(({ type }) => type === "server_tool_use" || type === "mcp_tool_use");
  if (open.length === 0) return false;
  const answered = new Set(content.map((block) => (block as { tool_use_id?: unknown }).tool_use_id));
  return content.some(isToolUse) && open.some((block) => !answered.has((block as { id?: unknown }).id));
}
