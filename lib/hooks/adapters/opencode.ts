import { ask, refill, type SdkEvent } from "./asking.ts";

type OpencodeFields = Record<string, unknown>;

/** What opencode gives a plugin, as far as it is used here. */
interface OpencodePlugin {
  readonly client: {
    readonly tui: { showToast(options: object): Promise<unknown> };
    readonly session: { promptAsync(options: object): Promise<unknown> };
  };
}

interface Part extends OpencodeFields {
  readonly id: string;
  readonly type: string;
  text?: string;
}

interface SessionEvent {
  readonly type: string;
  readonly properties: {
    readonly sessionID?: string;
    readonly info?: { readonly id: string; readonly parentID?: string };
  };
}

interface Call {
  readonly tool: string;
  readonly sessionID: string;
  readonly callID: string;
  readonly args?: OpencodeFields;
}

/** The hooks of this project as a plugin of opencode. */
export const Crochet = async ({ client }: OpencodePlugin) => {
  const warn = (message: string) =>
    void client.tui.showToast({ body: { message, variant: "warning" } }).catch(() => console.error(message));
  const fire = (name: string, session_id: string, fields: OpencodeFields, field = "") =>
    ask({ hook_event_name: name, session_id, ...fields } as SdkEvent, field, warn);
  /** Sub-agents have sessions of their own. */
  const children = new Set<string>();
  /** What the model said last, and what a Stop hook sent it back with. */
  const last = new Map<string, string>();
  const sentBack = new Map<string, string>();

  const atStop = async (id: string) => {
    const fields = { stop_hook_active: sentBack.has(id), last_assistant_message: last.get(id) ?? "" };
    const { deny } = await fire("session.idle", id, fields);
    if (deny === undefined) return;
    sentBack.set(id, deny);
    await client.session.promptAsync({ path: { id }, body: { parts: [{ type: "text", text: deny }] } });
  };

  return await Promise.resolve({
    event: async ({ event: { type, properties: { sessionID, info } } }: { event: SessionEvent }) => {
      if (type === "session.created" && info?.parentID !== undefined) children.add(info.id);
      else if (type === "session.created") await fire(type, info?.id ?? sessionID ?? "", { source: "startup" });
      else if (type === "session.idle" && !children.has(sessionID!)) await atStop(sessionID!);
    },
    "chat.message": async ({ sessionID }: { sessionID: string }, { parts }: { parts: Part[] }) => {
      const first = parts.find(({ type }) => type === "text");
      const prompt = parts.flatMap(({ type, text }) => type === "text" ? [text] : []).join("\n");
      if (children.has(sessionID) || !first || sentBack.get(sessionID) === prompt) return;
      sentBack.delete(sessionID);
      const { deny, context } = await fire("chat.message", sessionID, { prompt });
      if (deny !== undefined) throw new Error(deny);
      if (context !== undefined) parts.push({ ...first, id: `${first.id}c`, text: context, synthetic: true });
    },
    "experimental.chat.system.transform": async ({ sessionID }: { sessionID?: string }) => {
      await fire("experimental.chat.system.transform", sessionID ?? "", {});
    },
    "experimental.session.compacting": async ({ sessionID }: { sessionID: string }) => {
      await fire("experimental.session.compacting", sessionID, { trigger: "auto" });
    },
    "experimental.text.complete": async ({ sessionID }: { sessionID: string }, { text }: { text: string }) => {
      await Promise.resolve(last.set(sessionID, text));
    },
    "tool.execute.before": async ({ tool, sessionID, callID }: Call, { args }: { args: OpencodeFields }) => {
      const fields = { tool_name: tool, tool_input: args, tool_use_id: callID };
      const { deny, value } = await fire("tool.execute.before", sessionID, fields, "tool_input");
      if (deny !== undefined) throw new Error(deny);
      if (value !== undefined) refill(args, value);
    },
    "tool.execute.after": async ({ tool, sessionID, callID, args }: Call, result: { output: string }) => {
      const fields = { tool_name: tool, tool_input: args, tool_use_id: callID, tool_response: result.output };
      const { value, context } = await fire("tool.execute.after", sessionID, fields, "tool_response");
      if (value !== undefined) result.output = String(value);
      if (context !== undefined) result.output += `\n${context}`;
    },
    dispose: async () => void await fire("dispose", "", { reason: "exit" }),
  });
};
