/** What every contestant is to do: look things up until the model calls no more tools. */

/** What a run of a contestant came to, so that no one wins by doing less. */
export interface Outcome {
  readonly calls: number;
  /** Characters of the last tool input, parsed. */
  readonly input: number;
}

/** Runs a loop against a URL until the model calls no more tools, or for one call only. */
export type Run = (
  url: string,
  options: {
    result: string;
    once?: boolean;
    /** So many of its own hooks before each tool call, each doing nothing. */
    hooks?: number;
  },
) => Promise<Outcome>;

export const tool = {
  name: "look",
  description: "Looks something up.",
  input_schema: {
    type: "object" as const,
    properties: {
      query: { type: "string" },
      limit: { type: "integer" },
      path: { type: "string" },
      text: { type: "string" },
    },
  },
};
export const system = "You are a careful assistant. ".repeat(40);
export const prompt = "Look things up until you are done.";
export const settings = {
  model: "claude-bench",
  max_tokens: 1000,
  system,
  tools: [tool],
};

export function sizeOf(input: unknown): number {
  return Object.values(input as object).join("").length;
}
