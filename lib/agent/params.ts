import { isObject, present } from "../core/json.ts";
import { DEFAULT_MAX_TOKENS, type Effort, type ModelParams } from "../core/model.ts";
import type { Run } from "../core/run.ts";
import { shown } from "../core/shown.ts";

/** Parameters of the API by its own names, sent as they are. Those that are not listed here are sent too. */
export interface Params {
  readonly thinking?:
    | { readonly type: "adaptive"; readonly display?: "summarized" | "omitted" }
    | { readonly type: "enabled"; readonly budget_tokens: number; readonly display?: "summarized" | "omitted" }
    | { readonly type: "disabled" }
    | { readonly type: "between_tools" };
  readonly output_config?: {
    readonly effort?: Effort;
    readonly format?: { readonly type: "json_schema"; readonly schema: { readonly [key: string]: unknown } };
    readonly [key: string]: unknown;
  };
  /** `any` and `tool` hold for the first call of a turn: forced in each, no turn would end. */
  readonly tool_choice?: {
    readonly type: "auto" | "any" | "tool" | "none";
    readonly name?: string;
    readonly disable_parallel_tool_use?: boolean;
  };
  readonly stop_sequences?: readonly string[];
  readonly service_tier?: "auto" | "standard_only";
  readonly speed?: "standard" | "fast";
  readonly container?: string | { readonly id?: string; readonly skills?: readonly object[] };
  /** Sent as the header `anthropic-beta`. */
  readonly betas?: readonly string[];
  readonly context_management?: {
    readonly edits: readonly { readonly type: string; readonly [key: string]: unknown }[];
  };
  readonly mcp_servers?: readonly {
    readonly type: "url";
    readonly name: string;
    readonly url: string;
    readonly authorization_token?: string;
  }[];
  readonly temperature?: number;
  readonly top_p?: number;
  readonly top_k?: number;
  readonly [key: string]: unknown;
}

/** What an agent, a run or a prompt may ask of the model beside the conversation. */
export interface ParamOptions {
  /** What a model may write in one reply, in tokens. @default 32_000 */
  maxTokens?: number;
  /** How hard the model is to think: each model maps it to its API. @default as the API has it */
  effort?: Effort;
  /** Further parameters of the API, sent as they are; a run's replace its agent's, key by key. */
  params?: Params;
}

const EFFORTS: readonly Effort[] = ["low", "medium", "high", "xhigh", "max"];

export const PARAM_OPTIONS = { maxTokens: "any", effort: EFFORTS, params: "an object" } as const;

/** Why a parameter cannot stand in `params`: what to use instead. */
const ELSEWHERE: { readonly [param: string]: string } = {
  model: "set the option model",
  messages: "prompt the agent with them",
  system: "set the option system",
  tools: "set the option tools",
  stream: "replies are always streamed",
  max_tokens: "set the option maxTokens",
  effort: "set the option effort",
  headers: "give anthropic({ headers })",
  thread: "it excludes what the loop needs, the cache and thinking among it",
};

/** @throws {TypeError} if they cannot be asked of a model */
export function checkModelParams({ maxTokens, params }: ParamOptions, doing: string): void {
  if (maxTokens !== undefined && !(Number.isInteger(maxTokens) && maxTokens > 0)) {
    throw new TypeError(
      `Cannot ${doing} as 'maxTokens' must be a whole number above 0: current value is ${shown(maxTokens)}`,
    );
  }
  const wrong = Object.keys(params ?? {}).find((key) => Object.hasOwn(ELSEWHERE, key));
  if (wrong !== undefined) throw new TypeError(`Cannot ${doing} as '${wrong}' is not for params: ${ELSEWHERE[wrong]}`);
  const { betas } = params ?? {};
  if (betas !== undefined && !(Array.isArray(betas) && betas.every((one) => typeof one === "string"))) {
    throw new TypeError(`Cannot ${doing} as params.betas must be a list of texts: current value is ${shown(betas)}`);
  }
}

/** What is asked, of one after the other: a later one's parameters replace those of one before, key by key. */
export function modelParamsOf(...given: readonly (ParamOptions | undefined)[]): ModelParams {
  const own = given.map(({ maxTokens, effort, params } = {}) => present({ maxTokens, effort, params }));
  const { maxTokens = DEFAULT_MAX_TOKENS, effort, ...rest }: ParamOptions = Object.assign({}, ...own);
  const params: Params | undefined = rest.params && Object.assign({}, ...given.map((one) => one?.params));
  if (effort !== undefined && params?.output_config?.effort !== undefined) {
    throw new TypeError(
      "Cannot run an agent as 'effort' and params.output_config.effort are both given: keep one of them",
    );
  }
  return present({ maxTokens, effort, params });
}

/** What is asked for a summary: nothing that would give it another form or end it early. */
export function summaryParams(modelParams: ModelParams): ModelParams {
  const { params, ...rest } = withoutFormat(modelParams);
  const { tool_choice: _, stop_sequences: __, ...left } = params ?? {};
  return { ...rest, ...(Object.keys(left).length > 0 && { params: left }) };
}

/** Parameters without the form of an answer. They may be those of a whole agent. */
export function withoutFormat({ maxTokens, effort, params }: ModelParams): ModelParams {
  const { output_config, ...others } = (params ?? {}) as Params;
  const { format: _, ...config } = output_config ?? {};
  const left = { ...others, ...(Object.keys(config).length > 0 && { output_config: config }) };
  return { maxTokens, ...(effort && { effort }), ...(Object.keys(left).length > 0 && { params: left }) };
}

/** The parameters of a call: a tool that is forced in every call would never let the turn end. */
export function paramsOf({ modelParams: { params }, state }: Run, isFirst: boolean): ModelParams["params"] {
  const { container } = state;
  const { type, disable_parallel_tool_use }: Partial<Params["tool_choice"]> = (params as Params)?.tool_choice ?? {};
  const free = !isFirst && (type === "any" || type === "tool");
  // As it is if nothing changes: requests keep their bytes by it.
  if (container === undefined && !free) return params;
  return {
    ...params,
    ...(free && { tool_choice: { type: "auto", ...(disable_parallel_tool_use && { disable_parallel_tool_use }) } }),
    ...(container !== undefined &&
      { container: isObject(params?.container) ? { ...params.container, id: container } : container }),
  };
}
