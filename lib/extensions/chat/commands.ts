import { askedFirst } from "../../core/dispatch.ts";
import { price, PRICED_MODELS } from "../../models/anthropic/prices.ts";
import { NO_USAGE } from "../../core/messages.ts";
import { narrowestName } from "../../core/names.ts";
import { nearest } from "../../input/nearest.ts";
import { OPENAI_NAME } from "../../models/openai/openai-model.ts";
import type { Listed } from "../../log/stores/store.ts";
import { kindWords } from "../../cli/kit/find-hooks.ts";
import { UsageError } from "../../cli/kit/io.ts";
import { expectRun, logsOf, runId } from "../../cli/kit/project.ts";
import { forgetRule, ownSessions, rememberedRules } from "../../cli/kit/stored.ts";
import type { CallsCost } from "../view/terminal/tally.ts";
import { count, cut, dollars, oneLine, openText, plainText, several, table } from "../../cli/show/text.ts";
import type { Stage } from "../view/terminal/stage.ts";
import { choose } from "../view/terminal/widgets.ts";
import type { Conversation } from "./command.ts";

interface ChatCommand {
  readonly words?: string;
  readonly about: string;
  /** Needs no turn of its own, so it can be used while the agent works. */
  readonly atOnce?: boolean;
  readonly run: (
    rest: string,
    chat: Conversation,
    signal: AbortSignal,
  ) => Promise<readonly string[]> | readonly string[];
}

const COMMANDS: ReadonlyMap<string, ChatCommand> = new Map(Object.entries<ChatCommand>({
  help: { about: "these commands and the keys", atOnce: true, run: help },
  hooks: { about: "the hooks that are asked here, in order", atOnce: true, run: hooks },
  model: { words: "[name]", about: "the model, or another one from now on", run: model },
  cost: { about: "tokens and cost so far", atOnce: true, run: cost },
  resume: { words: "[id]", about: "continue a stored run", run: resume },
  compact: { about: "summarise what is past to make room", run: compact },
  permissions: { words: "[forget <rule>]", about: "what may run without asking", atOnce: true, run: permissions },
  quit: { about: "leave; the run is kept", atOnce: true, run: (_, chat) => (chat.quit(), []) },
}));

/** A line that is a command: a slash and a word. A prompt may also begin with a path. */
const LINE = /^\/([a-z-]+)(?:\s+([\s\S]*))?$/i;

export function isCommand(line: string): boolean {
  return LINE.test(line);
}

export function worksAtOnce(line: string): boolean {
  return COMMANDS.get(LINE.exec(line)?.[1]?.toLowerCase() ?? "")?.atOnce === true;
}

/** Does what a line says, and prints what came of it; what goes wrong is one line. */
export async function runCommand(line: string, chat: Conversation, signal: AbortSignal): Promise<void> {
  const [, name = "", rest = ""] = LINE.exec(line)!;
  const { stage } = chat;
  try {
    const command = COMMANDS.get(name.toLowerCase());
    if (!command) {
      const meant = nearest(name, [...COMMANDS.keys()]);
      throw new UsageError(
        `Unknown command /${name}: did you mean /${meant}? Put a space before it to send it as a prompt`,
      );
    }
    const rows = await command.run(rest.trim(), chat, signal);
    if (rows.length > 0) stage.view.say(rows.map((row) => cut(row, stage.columns - 1)));
  } catch (error) {
    stage.view.warn((error as Error).message);
  }
}

function help(): string[] {
  const commands = [...COMMANDS].map(([name, { words, about }]) => [`/${name}${words ? ` ${words}` : ""}`, about]);
  const keys = [
    ["Enter", "send; while the agent works it waits for the next turn"],
    ["\\ Enter", "a new line; so do Alt-Enter and a paste"],
    ["Esc, Ctrl-C", "interrupt the turn with everything it runs"],
    ["Ctrl-C twice", "quit; Ctrl-D at an empty prompt does too"],
    ["↑ ↓", "prompts from before"],
  ];
  return [...commands, [], ...keys].map(([key, about]) => key === undefined ? "" : `  ${key.padEnd(30)}${about}`);
}

async function hooks(_: string, { session }: Conversation): Promise<string[]> {
  const all = [...await session.hooks()].sort(askedFirst);
  if (all.length === 0) return ["No hooks are asked here: 'crochet hooks add' shows some to begin with"];
  const rows = all.map((hook) => [
    plainText(hook.name),
    hook.on.map(narrowestName).join(" "),
    plainText(hook.matcher ?? ""),
    kindWords(hook),
    hook.enabled ? "on" : "off",
  ]);
  return table(["hook", "event", "matcher", "kind", "on"], rows).trimEnd().split("\n");
}

async function model(rest: string, { session }: Conversation): Promise<string[]> {
  if (rest === "") return [`${session.model} · /model <name> changes it`];
  if (/\s/.test(rest)) throw new UsageError(`Cannot change to '${rest}' as a model's name has no spaces`);
  const was = session.model;
  const changed = await session.setModel(rest);
  if (!changed) return [`${was} stays: a hook refused the change`];
  if (OPENAI_NAME.test(rest) || price(rest, NO_USAGE) !== undefined) return [];
  return [
    `'${rest}' is not a model known here: did you mean ${nearest(rest, PRICED_MODELS)}?`,
    `The next prompt shows if the API has it; /model ${was} goes back`,
  ];
}

function cost(_: string, { tally }: Conversation): string[] {
  if (tally.all.calls === 0) return ["Nothing so far"];
  const line = (name: string, of: CallsCost) => [
    name,
    String(of.calls),
    count(of.usage.input_tokens + of.usage.cache_creation_input_tokens),
    count(of.usage.cache_read_input_tokens),
    count(of.usage.output_tokens),
    dollars(of.cost),
  ];
  const models = [...tally.byModel].map(([name, of]) => line(name, of));
  const rows = models.length > 1 ? [...models, line("together", tally.all)] : models;
  return table(["model", "calls", "sent", "from cache", "written", "cost"], rows).trimEnd().split("\n");
}

/** How many stored sessions are offered. */
const OFFERED = 9;

async function resume(rest: string, chat: Conversation, signal: AbortSignal): Promise<string[]> {
  const { store, session, stage, cwd, io } = chat;
  const stored = (await ownSessions(store)).filter(({ id }) => id !== session.id);
  const others = logsOf(cwd, io.env).filter((path) => runId(path) !== session.id);
  const id = rest
    ? runId(expectRun(rest, "resume", cwd, io.env, rest === session.id ? undefined : others))
    : await chosen(stored.slice(0, OFFERED), stage, signal);
  if (id === undefined) return stored.length === 0 ? ["No other run is stored here"] : [];
  if (id === session.id) return ["That is this run"];
  await chat.resume(id);
  return [];
}

async function chosen(stored: readonly Listed[], stage: Stage, signal: AbortSignal): Promise<string | undefined> {
  if (stored.length === 0) return undefined;
  const { colours } = stage;
  const options = stored.map(({ about, messages }) => ({
    label: oneLine(about?.prompt ?? "") || "(no prompt)",
    note: `${(about?.created ?? "").slice(0, 16).replace("T", " ")} · ${several(messages, "message")}`,
  }));
  const head = () => [`${colours.yellow("?")} ${colours.bold("Which run?")}`];
  const picked = await choose(stage, { head, options }, signal);
  return picked && stored[picked[0]!]?.id;
}

async function compact(_: string, { session }: Conversation, signal: AbortSignal): Promise<string[]> {
  return await session.compact({ signal }) ? [] : ["There is nothing to make smaller yet"];
}

function permissions(rest: string, { session, cwd, io: { env } }: Conversation): string[] {
  const [, forget] = /^forget\s+(.+)$/s.exec(rest) ?? [];
  const kept = rememberedRules(cwd, env);
  if (forget !== undefined) {
    const rule = kept[Number(forget) - 1] ?? forget;
    if (forgetRule(cwd, env, rule)) return [`Forgotten: ${openText(rule)}; it still holds until this chat ends`];
    const known = kept.length === 0 ? "nothing is remembered here" : `remembered are ${kept.map(openText).join(", ")}`;
    throw new UsageError(`Cannot forget '${openText(rule)}' as it is not remembered: ${known}`);
  }
  if (rest !== "") throw new UsageError(`Cannot read '/permissions ${rest}': write /permissions forget <rule>`);
  const rules = session.permissions();
  if (!rules) return ["Every call may run: the agent's script sets no permissions"];
  const list = (name: "allow" | "ask" | "deny") =>
    [...new Set(rules[name] ?? [])].map((rule) => {
      const n = name === "allow" ? kept.indexOf(rule) + 1 : 0;
      return `  ${name.padEnd(6)}${openText(rule)}${n > 0 ? `  always, since you said so (forget ${n})` : ""}`;
    });
  return [`mode ${rules.mode ?? "default"}`, ...list("deny"), ...list("ask"), ...list("allow")];
}
