import { fire } from "../../core/dispatch.ts";
import type { AnyEvent } from "../../core/events.ts";
import type { Folded } from "../../core/fold.ts";
import type { Context, HookRecord } from "../../core/hook.ts";
import { type Opinion, readNative } from "../../core/verdict.ts";
import { checkedConfig } from "../file/config.ts";
import { extensionOf, formatFileName, parseFileName, parseMoment } from "../file/file-name.ts";
import type { HostEvent } from "./from-host.ts";
import { recordBase } from "../file/record.ts";
import { fitting, type Served, toHost } from "./to-host.ts";
import type { Serving, Tried } from "../serve.ts";

/** Says what a module answered in the host's words. */
export async function serveAnswer(serving: Serving, tried: Tried): Promise<Served> {
  const { path, options } = serving;
  const name = path.slice(path.lastIndexOf("/") + 1);
  const named = options.event === undefined
    ? name
    : `${formatFileName(parseMoment(options.event))}${extensionOf(name)}`;
  const file = { ...parseFileName(named), name, path, at: path, text: "", executable: false };
  let base: ReturnType<typeof recordBase>;
  try {
    base = recordBase(file, checkedConfig(tried.config), path);
  } catch {
    // A hook with a mistake in its config refuses what it guards, whatever it answered.
    return (await import("./serve-whole.ts")).serveWhole(serving);
  }
  const record: HookRecord = {
    ...base,
    kind: "module",
    dialect: "native",
    run: (_, ctx) => repeated(tried, ctx as Context),
    read: (raw, event) => readNative(raw, event.event),
  };
  return servedAnswer(await askedByHost(record, serving), serving);
}

/** What the module did when it was asked, done again for those who keep the books. */
function repeated(tried: Tried, ctx: Context): unknown {
  const { said, inputs, aborted } = tried.ctx ?? {};
  if (said) ctx.said = said;
  if (inputs) ctx.inputs = inputs;
  ctx.aborted = aborted;
  if ("error" in tried) throw tried.error;
  return tried.answer;
}

/** Asks one hook as the host would have it asked. */
export function askedByHost(record: HookRecord, { heard, env, options }: Serving): Promise<Folded> {
  let own: Context;
  const asked: HookRecord = {
    ...underHostNames(record, heard),
    // A host that does not wait has been told so in its own settings.
    mode: record.mode === "gate" ? "gate" : "observe",
    run: (event, ctx) => record.run(event, own = ctx as Context),
    read: (raw, event) => fitting(withSaid(record.read(raw, event), own), event, options.host),
  };
  return fire([asked], { ...heard.fired }, env);
}

/** What the hook said by its context is part of its answer: a host can carry out the one no better than the other. */
function withSaid(opinion: Opinion, ctx: Context): Opinion {
  const said = [...ctx.said ?? [], ...ctx.inputs ?? []];
  if (said.length === 0) return opinion;
  ctx.said = ctx.inputs = undefined;
  return { ...opinion, contexts: [...said.map(({ text }) => ({ text })), ...opinion.contexts ?? []] };
}

/** A matcher may know the tool by the host's name or by ours. */
function underHostNames(record: HookRecord, { toolNames }: HostEvent): HookRecord {
  const { misses } = record;
  if (!misses || toolNames.length < 2) return record;
  return {
    ...record,
    misses: (event) => {
      const whys = toolNames.map((tool_name) => misses({ ...event, tool_name } as AnyEvent));
      return whys.includes(undefined) ? undefined : whys[0];
    },
  };
}

/** What the host gets to read: the answer, and on stderr what the hook logged too. */
export function servedAnswer(folded: Folded, { heard, env, options }: Serving): Served {
  const answer = toHost(folded, heard.fired as AnyEvent, options.host, heard.wireName);
  return { ...answer, stderr: env.logged.join("") + answer.stderr };
}
