/** What a person must decide for an agent. */
export type PromptType = "plan_approval" | "question" | "permission";

/** What happened to a watched agent. */
export type AgentEvent =
  & { readonly at: string }
  & (
    /** `owner` is its process, if known; `name` is what a person calls it. */
    | { readonly type: "start"; readonly workspace?: string; readonly name?: string; readonly owner?: string }
    | { readonly type: "prompt"; readonly prompt_type: PromptType; readonly message: string }
    /** It did something, so its question was answered. */
    | { readonly type: "activity" }
    /** It ended its turn and waits for a person. */
    | { readonly type: "turn_end" }
    /** Its question stays open even if its process ends. */
    | { readonly type: "left" }
    | { readonly type: "end"; readonly failed?: boolean }
  );

/** The state of a watched agent. At most one decision is pending. */
export type AgentState =
  & { readonly since: string }
  & (
    | { readonly state: "working" | "waiting" | "stopped" | "failed" }
    | { readonly state: "prompting"; readonly prompt_type: PromptType; readonly message: string }
  );

/**
 * The state after an event (U14). A permission prompt never replaces a question or a plan, activity dismisses what is
 * pending, and an agent that has ended stays ended.
 */
export function nextState(now: AgentState | undefined, event: AgentEvent): AgentState {
  if (now?.state === "stopped" || now?.state === "failed") return now;
  switch (event.type) {
    case "prompt":
      if (now?.state === "prompting" && now.prompt_type !== "permission" && event.prompt_type === "permission") {
        return now;
      }
      return { state: "prompting", prompt_type: event.prompt_type, message: event.message, since: event.at };
    case "start":
    case "activity":
      return now?.state === "working" ? now : { state: "working", since: event.at };
    case "left":
      return now?.state === "prompting" ? now : { state: "waiting", since: event.at };
    case "turn_end":
      return now?.state === "waiting" ? now : { state: "waiting", since: event.at };
    case "end":
      return { state: event.failed ? "failed" : "stopped", since: event.at };
  }
}

/** The state after all events. */
export function stateOf(events: Iterable<AgentEvent>): AgentState | undefined {
  let state: AgentState | undefined;
  for (const event of events) state = nextState(state, event);
  return state;
}
