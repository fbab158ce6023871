import { anthropic, DEFAULT_MODEL, warm, wireOf } from "../models/anthropic/anthropic-model.ts";
import type { Model } from "../core/model.ts";
import { isOpenAI, openai, OPENAI_NAME } from "../models/openai/openai-model.ts";

/** One client for all agents of the process: it holds nothing of a conversation but its bytes. */
const shared: { anthropic?: Model; openai?: Model } = {};

/** Answers to every name: `openai:NAME` is asked at OPENAI_BASE_URL, any other of the Messages API. */
const named: Model = Object.assign<Model, Pick<Model, "named">>(
  (request, signal) => modelNamed(request.model)(request, signal),
  { named: modelNamed },
);

function modelNamed(name: string): Model {
  return OPENAI_NAME.test(name) ? shared.openai ??= openai({ model: name }) : shared.anthropic ??= anthropic();
}

export function modelOf(
  given: string | Model | undefined,
  offline = false,
): { model: Model; modelName: string; isNamed: boolean } {
  if (typeof given === "function") {
    const wire = offline ? undefined : wireOf(given);
    if (wire && wire.options.client === undefined) warm();
    return { model: given, modelName: given.name || "custom", isNamed: false };
  }
  const modelName = given ?? (process.env.CROCHET_MODEL || DEFAULT_MODEL);
  if (typeof modelName !== "string" || modelName === "") {
    throw new TypeError(`Cannot use ${JSON.stringify(given)} as a model: give a model's name or a Model function`);
  }
  if (modelName.replace(OPENAI_NAME, "") === "") {
    throw new TypeError(`Cannot use '${modelName}' as a model as no name follows: write openai:NAME`);
  }
  if (!offline && !OPENAI_NAME.test(modelName)) warm();
  return { model: named, modelName, isNamed: true };
}

/** Which API a model speaks, asked for a name. */
export function apiOf(model: Model, name: string): "anthropic" | "openai" | "custom" {
  const asked = model.named?.(name) ?? model;
  return isOpenAI(asked) ? "openai" : wireOf(asked) ? "anthropic" : "custom";
}

/** Whether the environment has what a model of this name needs to be called. */
export function isReachable(name: string, env: NodeJS.ProcessEnv): boolean {
  return OPENAI_NAME.test(name)
    ? Boolean(env.OPENAI_API_KEY || env.OPENAI_BASE_URL)
    : Boolean(env.ANTHROPIC_API_KEY || env.ANTHROPIC_AUTH_TOKEN);
}

/** The model for prompt hooks outside a run, as a run without a model of its own has it. */
export function promptModel(env: NodeJS.ProcessEnv): { model: Model | undefined; modelName?: string } {
  const { CROCHET_MODEL: name = "" } = env;
  const model = isReachable(name, env) ? named : undefined;
  // The default is a model that only the Messages API has.
  return OPENAI_NAME.test(name) ? { model, modelName: name } : { model };
}
