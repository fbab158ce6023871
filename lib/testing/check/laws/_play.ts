import { appendFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import type { AnyEvent } from "../../../core/events.ts";
import type { HookContext, HookRecord } from "../../../core/hook.ts";
import { type AgentSpec, newLife } from "../../../core/life.ts";
import type { Message } from "../../../core/messages.ts";
import { openSession } from "../../../core/session.ts";
import type { Tool } from "../../../core/tool.ts";
import type { Opinion } from "../../../core/verdict.ts";
import { wireInput } from "../../../hooks/process/wire.ts";
import type { ScriptedReply } from "../../_reply-events.ts";
import { asCodex, asGemini, type WireEvent } from "../../arbitraries/host-events.ts";
import { scripted } from "../../scripted.ts";
import { type Asker, refuses } from "../asking/asker.ts";
import { isWire } from "../events.ts";
import type { Keeper } from "./keepers.ts";
import type { Probed } from "../asking/probe.ts";

/** What a model does in one round: it may call a tool first, and says something. */
export interface Move {
  readonly tool?: boolean;
  readonly text: string;
}

/** How a model behaves: what it does next, given what the hook said last. */
export type Strategy = (round: number, feedback: string) => Move;

/** One time the hook was asked whether the agent may end. */
export interface Round {
  readonly move: Move;
  readonly blocked: boolean;
  readonly reason: string;
  readonly probed: Probed;
}

export interface Played {
  readonly rounds: readonly Round[];
  /** Whether it blocked in the last round that was played. */
  readonly stuck: boolean;
  /** Files the hook itself wrote, and wrote again with other words. */
  readonly state: readonly string[];
}

export interface PlayOptions {
  readonly strategy: Strategy;
  readonly most: number;
  /** The moment, under its name: stop, subagent-stop or turn-end. */
  readonly event: Keeper;
  /** What a judge says each time, where the hook asks one. */
  readonly says?: string;
  /** What a tool call does to the project. */
  readonly work?: () => void;
}

const NOTES = "project/notes.txt";

/** Plays an agent with one hook in the real loop, its caps lifted, until the hook lets go or the rounds are over. */
export async function play(asker: Asker, options: PlayOptions): Promise<Played> {
  const { place } = asker.lane;
  const session = `check-${options.event}`;
  const { transcript } = place;
  const rounds: Round[] = [];
  const written = new Map<string, string>();
  const state = new Set<string>();
  let feedback = "";
  let move = options.strategy(1, "");
  let worked = false;
  const own = [NOTES, transcript.slice(place.root.length + 1)];

  const model = scripted([], {
    then: (): ScriptedReply => {
      if (move.tool && !worked) {
        worked = true;
        return { text: "I will look.", tools: [{ name: "Edit", input: { file_path: join(place.root, NOTES) } }] };
      }
      return { text: move.text };
    },
  });

  const asked = async (event: AnyEvent, ctx: HookContext, messages: readonly Message[]): Promise<Opinion> => {
    writeTranscript(transcript, messages, session, place.project);
    const probed = await asker.ask({
      event: eventFor(event, asker, options.event, transcript),
      ...(options.says !== undefined && { says: options.says }),
    }, { keep: true });
    for (const path of probed.changed ?? []) {
      if (own.some((mine) => isPart(path, mine))) continue;
      const now = contentOf(join(place.root, path));
      if (now !== undefined && written.has(path) && now !== written.get(path)) state.add(path);
      written.set(path, now ?? "");
    }
    const blocked = refuses(probed);
    const reason = reasonOf(probed);
    rounds.push({ move, blocked, reason, probed });
    if (!blocked || rounds.length >= options.most) return {};
    feedback = reason;
    move = options.strategy(rounds.length + 1, feedback);
    worked = false;
    if (options.event !== "turn-end") return { decision: "deny", reason: reason || "Blocked by hook" };
    ctx.hookInput(reason || "Go on");
    return {};
  };

  const life = newLife({ id: session, model: "check", cwd: () => place.project });
  const on = options.event === "turn-end" ? "turn-end" : "stop";
  const record: HookRecord = {
    name: asker.subject.name,
    on: [{ event: on, scope: "root" }],
    kind: asker.subject.kind,
    dialect: "native",
    priority: 100,
    mode: "gate",
    enabled: true,
    source: "check",
    run: (event, ctx) => asked(event, ctx, life.messages),
    read: (raw) => raw as Opinion,
  };
  const spec: AgentSpec = {
    type: "general-purpose",
    model,
    system: "",
    tools: [editTool(join(place.root, NOTES), options.work)],
    limits: { iterations: 10 * options.most + 10, stalls: 0, depth: 1 },
    maxTokens: 1024,
    hooks: () => ({ records: [record] }),
    step: (_, work) => work(),
    permit: () => ({ behavior: "allow", reason: "" }),
  };
  const running = openSession(spec, life);
  const { error } = await running.prompt("Fix the failing test");
  await running.close();
  if (error) throw new Error(`Cannot play the hook as the loop failed: ${error.message}`);
  return { rounds, stuck: rounds.at(-1)?.blocked ?? false, state: [...state] };
}

/** The text of a small file; undefined for what is none. */
function contentOf(path: string): string | undefined {
  const stats = statSync(path, { throwIfNoEntry: false });
  return stats?.isFile() && stats.size < 10_000 ? readFileSync(path, "utf8") : undefined;
}

function isPart(path: string, of: string): boolean {
  return path === of || of.startsWith(`${path}/`);
}

function reasonOf({ opinion, inputs }: Probed): string {
  const said = opinion?.reason ?? opinion?.contexts?.map(({ text }) => text).join("\n") ?? inputs?.join("\n") ?? "";
  return said.replace(/^\[hook\]: /, "").trim();
}

/** The event as the hook reads it: all of it, or the line its host writes. */
function eventFor(event: AnyEvent, { subject, lane }: Asker, name: PlayOptions["event"], transcript_path: string) {
  const sub = name === "subagent-stop";
  const whole = sub
    ? { ...event, agent_id: "check-sub", parent_agent_id: event.session_id, agent_type: "general-purpose" } as AnyEvent
    : event;
  if (!isWire(subject)) return JSON.parse(JSON.stringify(whole)) as { [field: string]: unknown };
  const facts = { transcript_path, ...(sub && { agent_transcript_path: transcript_path }) };
  const wire = wireInput(whole, lane.place.project, facts, name) as WireEvent;
  const around = {
    session_id: event.session_id,
    transcript_path,
    prompt_id: undefined,
    permission_mode: "default",
    effort: undefined,
    minute: 0,
  };
  return subject.host === "codex" ? asCodex(wire, around) : subject.host === "gemini" ? asGemini(wire, around) : wire;
}

/** A tool that does something: it leaves a line in the project. */
function editTool(path: string, work: (() => void) | undefined): Tool {
  return {
    name: "Edit",
    description: "Changes a file",
    input_schema: { type: "object" },
    effect: "write",
    parse: (input) => input,
    run: () => {
      appendFileSync(path, "changed\n");
      work?.();
      return `The file ${path} has been updated successfully.`;
    },
  };
}

/** The conversation so far as hosts write it: hooks look into it. */
function writeTranscript(path: string, messages: readonly Message[], sessionId: string, cwd: string): void {
  mkdirSync(dirname(path), { recursive: true });
  const lines = messages.map((message) => JSON.stringify({ type: message.role, sessionId, cwd, message }));
  writeFileSync(path, lines.map((line) => `${line}\n`).join(""));
}
