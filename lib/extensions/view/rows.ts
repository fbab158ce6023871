import { contentText, isToolResult, isToolUse, type Message } from "../../core/messages.ts";
import type { RunEvent } from "../../core/run-events.ts";
import type { ExecRecord } from "../../hooks/toml.ts";
import {
  callAsked,
  callEnded,
  callRead,
  callStarted,
  endTone,
  firstLine,
  type OpenCall,
  shownText,
  startedBy,
  type ViewEvent,
} from "./calls.ts";
import { hasActed, ledgerLines } from "./ledger.ts";
import type { Row, RowKind, Section, Tone } from "./shape.ts";

/** A row that may still change. */
export type OpenRow =
  & { -readonly [K in keyof Omit<Row, "fires">]: Row[K] }
  & { fires?: number[]; readonly sections: Section[] };

/** An agent of a run that may still go on. */
export class OpenAgent {
  readonly id: string;
  readonly index: number;
  name: string;
  parent: number;
  stop: string | null = null;
  prompt = "";
  model = "";
  /** When it last did anything: a model call is measured from there. */
  last: number;
  /** The row of a model call whose message has not arrived yet. */
  call: OpenRow | undefined;
  /** Texts of the messages seen, by index: a message that is logged again adds only what is new. */
  readonly texts = new Map<number, ReadonlySet<string>>();

  constructor(id: string, index: number, now: number) {
    [this.id, this.index, this.last] = [id, index, now];
    [this.name, this.parent] = index === 0 ? ["main", -1] : [id.slice(0, 8), 0];
  }
}

interface PendingHook {
  readonly agent: OpenAgent;
  readonly hook: string;
  readonly event: string;
  readonly since: number;
}

/** A run as rows, made event by event: the page draws them from a log, the terminal while they happen. */
export class RunRows {
  readonly rows: OpenRow[] = [];
  readonly agents: OpenAgent[] = [];
  /** Tool calls by the index of their agent and their id. */
  readonly calls = new Map<string, OpenCall>();
  readonly pending = new Map<string, PendingHook>();
  readonly models = new Set<string>();
  readonly #agents = new Map<string, OpenAgent>();
  readonly #counts = new Map<RowKind, number>();
  /** Commands of hooks by their id. */
  readonly #execs = new Map<string, OpenRow>();

  readonly cwd: string | undefined;

  /** Paths are shown relative to `cwd`, if given. */
  constructor(cwd?: string) {
    this.cwd = cwd;
  }

  /** Takes the next event, at a time in milliseconds. Returns the row that it added or finished, if it did. */
  take(event: RunEvent, now: number): OpenRow | undefined {
    const agent = this.agentOf(event.agent_id, now);
    const row = this.#take(agent, event, now);
    if (event.type !== "retry") agent.last = now;
    return row;
  }

  #take(agent: OpenAgent, event: RunEvent, now: number): OpenRow | undefined {
    const note = (name: string, line: string, tone: Tone = "plain") =>
      this.row("note", agent, now, { name: shownText(name), line, tone });
    const long = (name: string, text: unknown, tone: Tone = "plain") => {
      const row = note(name, firstLine(text), tone);
      if (row.line !== text) row.sections.push({ as: "output", title: "", text: shownText(text) });
      return row;
    };
    switch (event.type) {
      case "start":
        return this.#start(agent, event);
      case "usage":
        return this.#usage(agent, event, now);
      case "message":
        return event.message.role === "assistant" ? this.#reply(agent, event, now) : this.#input(agent, event, now);
      case "tool_start":
        return callStarted(this, agent, event, now);
      case "tool_end":
        return callEnded(this, agent, event, now);
      case "fired":
        return this.#fired(agent, event, now);
      case "hook_start":
        return void this.pending.set(hookKey(event), { agent, hook: event.hook, event: event.event, since: now });
      case "hook_end":
        return void this.pending.delete(hookKey(event));
      case "hook_input":
        return this.row("input", agent, now, {
          name: `HookInput of ${event.hook}`,
          line: firstLine(event.text),
          tone: "changed",
          open: true,
          sections: [{ as: "words", text: shownText(event.text) }],
        });
      case "exec":
        return this.#exec(agent, event.exec as ExecRecord, now);
      case "retry":
        return note("retry", `${firstLine(event.reason)}: attempt ${event.attempt} after ${event.wait_ms} ms`, "bad");
      case "model":
        agent.model = event.model;
        return note("model", `${event.was} → ${event.model}${event.reason ? `: ${event.reason}` : ""}`, "changed");
      case "compact":
        return note("compact", `conversation summarized: ${event.before} → ${event.after} tokens`);
      case "checkpoint":
        return note("checkpoint", `${event.id} (${event.kind})`, "quiet");
      case "warning":
        return long("warning", event.message, "bad");
      case "log":
        return long(`log of ${event.hook}`, event.message, "quiet");
      case "system_message":
        return long(event.hook, event.text);
      case "end":
        return this.#end(agent, event, now);
      default: // streamed texts: the message repeats them
        return undefined;
    }
  }

  /** The call that an event of a tool is about. */
  callOf({ agent_id, id }: { readonly agent_id: string; readonly id: string }): OpenCall | undefined {
    return this.calls.get(`${this.#agents.get(agent_id)?.index} ${id}`);
  }

  agentOf(id: string, now: number): OpenAgent {
    let agent = this.#agents.get(id);
    if (!agent) {
      agent = new OpenAgent(id, this.agents.length, now);
      this.#agents.set(id, agent);
      this.agents.push(agent);
    }
    return agent;
  }

  row(kind: RowKind, agent: OpenAgent, at: number, fields: Partial<Omit<OpenRow, "key" | "kind" | "agent">>): OpenRow {
    const number = (this.#counts.get(kind) ?? 0) + 1;
    this.#counts.set(kind, number);
    const row: OpenRow = {
      key: `${kind}-${number}`,
      kind,
      agent: agent.index,
      at,
      ms: 0,
      name: "",
      line: "",
      tone: "plain",
      open: false,
      sections: [],
      ...fields,
    };
    this.rows.push(row);
    return row;
  }

  #start(agent: OpenAgent, { prompt, model }: ViewEvent<"start">): undefined {
    Object.assign(agent, { prompt: shownText(prompt), model, stop: null });
    if (model) this.models.add(model);
    startedBy(this, agent);
  }

  /** A reply has arrived: the call began when the agent last did anything. */
  #usage(agent: OpenAgent, { usage, model, cost, hook }: ViewEvent<"usage">, now: number): OpenRow {
    this.models.add(model);
    const count = (value: unknown) => Number(value) || 0;
    const row = this.row("call", agent, agent.last, {
      ms: now - agent.last,
      name: hook === undefined ? model : `${model} for ${shownText(hook)}`,
      open: hook === undefined,
      spent: {
        fresh: count(usage.input_tokens),
        cacheRead: count(usage.cache_read_input_tokens),
        cacheWrite: count(usage.cache_creation_input_tokens),
        output: count(usage.output_tokens),
        cost: typeof cost === "number" ? cost : null,
      },
    });
    // The agent's next message does not answer the question of a hook.
    if (hook === undefined) agent.call = row;
    return row;
  }

  #reply(agent: OpenAgent, { message, index }: ViewEvent<"message">, now: number): OpenRow | undefined {
    if (isRepeated(agent, message, index)) return undefined;
    const row = agent.call ??
      this.row("call", agent, agent.last, { ms: now - agent.last, name: agent.model, open: true });
    agent.call = undefined;
    for (const block of message.content) {
      const { text, thinking } = block as { text?: unknown; thinking?: unknown };
      if (isToolUse(block)) continue;
      else if (block.type === "text") row.sections.push({ as: "words", text: String(text) });
      else if (block.type === "thinking") row.sections.push({ as: "thinking", text: String(thinking ?? "") });
      else row.sections.push({ as: "output", title: block.type, text: shownText(block) });
    }
    const uses = message.content.filter(isToolUse);
    const words = row.sections.find((section) => section.as === "words");
    row.line = firstLine(words?.text ?? "") || uses.map((use) => use.name).join(", ");
    for (const use of uses) callAsked(this, agent, use, now);
    return row;
  }

  /** What the model reads: the results of its calls, the prompt, and what hooks added. */
  #input(agent: OpenAgent, { message, index }: ViewEvent<"message">, now: number): undefined {
    const before = agent.texts.get(index) ?? new Set<string>();
    const texts = message.content.filter((block) => !isToolResult(block)).map((block) => contentText([block]));
    agent.texts.set(index, new Set([...before, ...texts]));
    for (const block of message.content) if (isToolResult(block)) callRead(this, agent, block);
    for (const text of texts) {
      if (before.has(text)) continue;
      const isPrompt = text === agent.prompt;
      this.row(isPrompt ? "prompt" : "input", agent, now, {
        name: isPrompt ? (agent.index === 0 ? "You" : "Task") : "To the model",
        line: firstLine(text),
        tone: isPrompt ? "plain" : "changed",
        open: true,
        sections: [{ as: "words", text }],
      });
    }
  }

  #fired(agent: OpenAgent, { event, folded, tool_use_id }: ViewEvent<"fired">, now: number): OpenRow {
    const lines = ledgerLines(event, folded);
    const acting = lines.filter(hasActed);
    const ms = lines.reduce((sum, line) => sum + line.ms, 0);
    const row = this.row("fire", agent, Math.max(0, now - ms), {
      ms,
      name: event,
      line: acting.map(({ hook, did, why }) => `${hook}: ${did}${why ? `: ${firstLine(why)}` : ""}`).join(" · ") ||
        `${lines.length} considered, none did anything`,
      tone: (["bad", "denied", "changed", "good"] as const).find((t) => acting.some((l) => l.tone === t)) ?? "quiet",
      sections: [{ as: "ledger", event, runs: lines }],
    });
    if (folded.modified) {
      row.sections.push({ as: "output", title: "After the hooks", text: shownText(folded.value) });
    }
    const index = this.rows.length - 1;
    const call = tool_use_id === undefined ? undefined : this.calls.get(`${agent.index} ${tool_use_id}`);
    if (call) {
      (call.row.fires ??= []).push(index);
      row.about = call.index;
    }
    return row;
  }

  /** A command of a hook is one row from its begin to its end. */
  #exec(agent: OpenAgent, exec: ExecRecord, now: number): OpenRow | undefined {
    if (exec.type === "exec_begin") {
      const row = this.row("note", agent, now, { name: exec.title, line: firstLine(exec.command.join(" ")) });
      this.#execs.set(exec.id, row);
      return row;
    }
    const row = this.#execs.get(exec.id);
    if (exec.type !== "exec_end" || !row) return row;
    row.ms = Number(exec.duration_ms) || 0;
    row.result = shownText(exec.status);
    if (exec.status !== "ok") row.tone = "bad";
    for (const title of ["stdout", "stderr"] as const) {
      if (exec[title]) row.sections.push({ as: "output", title, text: shownText(exec[title]) });
    }
    return row;
  }

  #end(agent: OpenAgent, event: ViewEvent<"end">, now: number): OpenRow {
    const stop = shownText(event.stop), text = shownText(event.text ?? "");
    agent.stop = stop;
    const last = this.rows.findLast((row) => row.agent === agent.index && row.kind === "call");
    const isShown = last?.sections.some((section) => section.as === "words" && section.text === text);
    return this.row("end", agent, now, {
      name: stop,
      line: isShown ? "" : firstLine(text),
      tone: endTone(stop),
      open: true,
      sections: isShown || text === "" ? [] : [{ as: "words", text }],
    });
  }
}

function hookKey({ agent_id, hook, event }: ViewEvent<"hook_start" | "hook_end">): string {
  return JSON.stringify([agent_id, hook, event]);
}

function isRepeated(agent: OpenAgent, { content }: Message, index: number): boolean {
  const text = JSON.stringify(content);
  const known = agent.texts.get(index)?.has(text) === true;
  agent.texts.set(index, new Set([text]));
  return known;
}
