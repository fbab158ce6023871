import { ask, refill, type SdkEvent } from "./asking.ts";

type PiFields = Record<string, unknown>;

/** What pi gives an extension, as far as it is used here. */
interface Context {
  readonly hasUI: boolean;
  readonly ui: { notify(text: string, kind: string): void };
  readonly sessionManager: { getSessionId(): string };
}

type Handler = (event: PiFields, context: Context) => Promise<object | void>;

/** The hooks of this project as an extension of pi. */
export default function (pi: { on(event: string, handler: Handler): void }): void {
  let last = "";
  let sentBack = false;
  const fire = (name: string, context: Context, fields: PiFields, field = "") => {
    const warn = (text: string) => context.hasUI ? context.ui.notify(text, "warning") : console.error(text);
    const session_id = context.sessionManager.getSessionId();
    return ask({ hook_event_name: name, session_id, ...fields } as SdkEvent, field, warn);
  };

  pi.on("session_start", async ({ reason }, context) => {
    const source = reason === "resume" || reason === "fork" ? reason : "startup";
    await fire("session_start", context, { source });
  });
  pi.on("session_shutdown", async ({ reason }, context) => {
    await fire("session_shutdown", context, { reason });
  });
  pi.on("input", async ({ text, source }, context) => {
    if (source === "extension") return undefined;
    sentBack = false;
    const { deny, value = text, context: more } = await fire("input", context, { prompt: text }, "prompt");
    if (deny !== undefined) {
      if (context.hasUI) context.ui.notify(deny, "error");
      else console.error(deny);
      return { action: "handled" };
    }
    if (value === text && more === undefined) return undefined;
    return { action: "transform", text: more === undefined ? value : `${value}\n\n${more}` };
  });
  pi.on("context", async (_, context) => {
    await fire("context", context, {});
  });
  pi.on("tool_call", async ({ toolName, toolCallId, input }, context) => {
    const fields = { tool_name: toolName, tool_input: input, tool_use_id: toolCallId };
    const { deny, value } = await fire("tool_call", context, fields, "tool_input");
    if (deny !== undefined) return { block: true, reason: deny };
    if (value !== undefined) refill(input as PiFields, value);
  });
  pi.on("tool_result", async ({ toolName, toolCallId, input, content, isError }, context) => {
    const words = textOf(content);
    const response = isError ? { error: words } : words;
    const fields = { tool_name: toolName, tool_input: input, tool_use_id: toolCallId, tool_response: response };
    const { value, context: more } = await fire("tool_result", context, fields, "tool_response");
    if (value === undefined && more === undefined) return undefined;
    const kept = value === undefined ? content as object[] : [{ type: "text", text: value }];
    return { content: [...kept, ...(more === undefined ? [] : [{ type: "text", text: more }])] };
  });
  pi.on("turn_end", async ({ message }) => {
    last = await Promise.resolve(textOf((message as PiFields | undefined)?.content));
  });
  pi.on("agent_before_settle", async ({ outcome }, context) => {
    if (outcome !== undefined && outcome !== "completed") return undefined;
    const fields = { stop_hook_active: sentBack, last_assistant_message: last };
    const { deny } = await fire("agent_before_settle", context, fields);
    if (deny === undefined) return undefined;
    sentBack = true;
    const entry = { type: "custom_message", customType: "crochet", content: deny, display: true };
    return { entries: [entry], continue: true };
  });
  pi.on("session_before_compact", async ({ reason, customInstructions }, context) => {
    const trigger = reason === "manual" ? "manual" : "auto";
    const fields = { trigger, custom_instructions: customInstructions ?? "" };
    const { deny } = await fire("session_before_compact", context, fields);
    return deny === undefined ? undefined : { cancel: true };
  });
}

function textOf(content: unknown): string {
  const blocks = Array.isArray(content) ? content as { readonly type: string; readonly text?: string }[] : [];
  return blocks.flatMap(({ type, text }) => type === "text" ? [text] : []).join("");
}
