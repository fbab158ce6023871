import { createHash } from "node:crypto";
import { canonical } from "../../lib/log/canonical.ts";
import { called, result, said, text, typed } from "../extensions/import/sessions/_logs.ts";

export const hash = (value: unknown) => createHash("sha256").update(canonical(value)).digest("hex");

export const SHAPE = {
  system: [text("You work in /proj. Memory: /home/ann/.claude/projects/-proj/memory/")],
  tools: [{ name: "Bash", input_schema: { type: "object" } }],
};
export const ASKED = { role: "user", content: [text("<system-reminder>x</system-reminder>"), text("count")] };
export const CALLED = [text("I count."), { type: "tool_use", id: "t1", name: "Bash", input: { command: "wc -l" } }];
export const TOLD = { type: "tool_result", tool_use_id: "t1", content: "2" };

export function request(id: string, more: Record<string, unknown>) {
  const params = { model: "claude-opus-5-5", betas: ["a", "b"], max_tokens: 9 };
  const at = { sessionId: "s1", timestamp: `2026-11-16T10:00:0${id}.000Z` };
  return { type: "api-request", ...at, id, shapeHash: hash(SHAPE), params, ...more };
}

/** A session of one call of a tool, with its two requests. */
export const SESSION = [
  typed("count", { userType: "external", entrypoint: "sdk-cli" }),
  { type: "api-request-shape", sessionId: "s1", shapeHash: hash(SHAPE), shape: SHAPE },
  { type: "api-request-blob", sessionId: "s1", hash: hash(ASKED), message: ASKED },
  request("1", {
    keep: 0,
    tail: [hash(ASKED)],
    cacheControl: [{ path: ["system", 0], value: { type: "ephemeral" } }],
  }),
  said("reply t1", CALLED[0]!, "tool_use", { requestRef: "1", requestId: "req_1" }),
  called("t1", "Bash", { command: "wc -l" }, { requestRef: "1", requestId: "req_1" }),
  result("t1", "2"),
  request("2", {
    base: "1",
    keep: 1,
    tail: [hash({ role: "assistant", content: CALLED }), hash({ role: "user", content: [TOLD] })],
  }),
  said("m2", text("Two."), "end_turn", { requestRef: "2" }),
];
