import { resolve } from "node:path";
import type { Agent, AgentSession, RunOptions } from "../../agent/options.ts";
import { textOf } from "../../core/messages.ts";
import type { Result } from "../../core/run-events.ts";
import { OPENAI_NAME } from "../../models/openai/openai-model.ts";
import type { TranscriptStore } from "../../log/stores/store.ts";
import { withAttached } from "../../cli/kit/attach.ts";
import { command, type Usage } from "../../cli/kit/flags.ts";
import { EXIT, type Io, UsageError } from "../../cli/kit/io.ts";
import { ASKING, RUN_FLAGS, runOptions } from "../../cli/kit/run-options.ts";
import { builtIn, loadAgent, scriptAndWords } from "../../cli/kit/script.ts";
import { permissionAsker, questionAsker } from "../view/terminal/ask-person.ts";
import { isCommand, runCommand, worksAtOnce } from "./commands.ts";
import { History, PromptDesk } from "./chat-desk.ts";
import { hasPerson, type Key } from "../view/terminal/keys.ts";
import { Stage } from "../view/terminal/stage.ts";
import { closing, Tally } from "../view/terminal/tally.ts";
import { chop, coloursFor, cut, oneLine, plainText, several, wrap } from "../../cli/show/text.ts";

const USAGE: Usage = {
  name: "chat",
  words: "[agent.ts] [prompt…]",
  about:
    `Talks with an agent: the script's default export, or the built-in coding agent. Esc interrupts, /help lists the rest. ${ASKING}`,
  flags: RUN_FLAGS,
  example: "crochet chat",
};

export default command(USAGE, async ({ words, flags, args }, io) => {
  const { script, words: prompt } = scriptAndWords(words, args, io);
  if (!hasPerson(io.tty, io.env)) {
    const one = script === undefined ? "" : `${words[0]} `;
    throw new UsageError(`Cannot chat as this is not a terminal: use crochet run ${one}"what to do"`);
  }
  const agent: Agent = script === undefined ? await builtIn() : await loadAgent(script);
  const { options, store, watched } = await runOptions({ flags, io, script: script !== undefined }, agent);
  const cwd = options.cwd ?? resolve(io.cwd);
  return await new Conversation(watched, options, { io, cwd, store }).hold(prompt.join(" ").trim());
});

/** The most rows of a long prompt that are shown again. */
const MOST_ECHOED = 12;

/** A chat: one session after the other, prompt by prompt, until the person leaves or the terminal goes away. */
export class Conversation {
  readonly stage: Stage;
  readonly store: TranscriptStore;
  readonly cwd: string;
  readonly io: Io;
  readonly tally = new Tally();
  session!: AgentSession;
  readonly #agent: Agent;
  readonly #options: RunOptions;
  readonly #desk: PromptDesk;
  /** What Esc ends: the turn, or a command that takes its time. */
  #work: AbortController | undefined;
  #code: number = EXIT.ok;
  #prompted = false;
  #quitting = false;

  constructor(agent: Agent, options: RunOptions, { io, cwd, store }: { io: Io; cwd: string; store: TranscriptStore }) {
    this.store = store;
    this.cwd = cwd;
    this.io = io;
    this.#agent = agent;
    const interrupt = () => this.#interrupt();
    const gone = () => this.quit(EXIT.interrupted);
    this.#desk = new PromptDesk({
      history: new History(cwd, io.env),
      colours: coloursFor(true, io.env),
      busy: () => this.#work !== undefined,
      interrupt,
      quit: (code) => this.#leave(code),
      atOnce: (line) => this.#atOnce(line),
    });
    const onInterrupt = (key: Key) => key.name === "ctrl-c" ? this.#desk.press(key) : interrupt();
    this.stage = new Stage({ io, cwd, onInterrupt, onGone: gone }, this.#desk);
    this.#options = {
      ...options,
      on: (event) => {
        this.tally.see(event);
        this.stage.see(event);
      },
      permissionAsker: permissionAsker(this.stage, { io, cwd }),
      questionAsker: questionAsker(this.stage),
    };
    if (io.signal.aborted) gone();
    else io.signal.addEventListener("abort", gone, { once: true });
  }

  /** Runs the chat; returns the exit code. */
  async hold(first: string): Promise<number> {
    this.session = await this.#agent.open(this.#options);
    if (!this.session.hasModel) {
      await this.session.close();
      const fix = OPENAI_NAME.test(this.session.model)
        ? "export OPENAI_API_KEY=…, or OPENAI_BASE_URL=… of a server that needs none"
        : "export ANTHROPIC_API_KEY=…";
      throw new UsageError(`Cannot chat as no API key is set: ${fix}`);
    }
    this.stage.open();
    try {
      await this.#greet();
      let text: string | undefined = first || await this.#desk.next();
      for (; text !== undefined; text = await this.#desk.next()) await this.#take(text);
    } finally {
      this.stage.close();
      await this.session.close("prompt_input_exit");
    }
    if (this.#prompted) this.#farewell();
    return this.#code;
  }

  async #take(text: string): Promise<void> {
    const work = this.#work = new AbortController();
    this.#echo(text);
    if (isCommand(text)) await runCommand(text, this, work.signal);
    else {
      this.#prompted = true;
      const hasMore = () => this.#desk.waiting.some((line) => !isCommand(line));
      const prompt = await withAttached(text, this.io.cwd).catch((error: Error) => this.stage.view.warn(error.message));
      if (prompt) this.#report(await this.session.prompt(prompt, { signal: work.signal, hasMore }));
    }
    this.#work = undefined;
    this.stage.refresh();
  }

  #report({ stop, error }: Result): void {
    const { view, colours } = this.stage;
    if (error) view.warn(error.message);
    const words = stop === "aborted" ? "interrupted" : stop;
    const end = closing(words, view.tally.all, colours, view.lasted);
    this.stage.print(["", ...wrap(end, this.stage.columns - 1, 2)]);
  }

  #atOnce(line: string): boolean {
    if (!worksAtOnce(line) || this.#work === undefined) return false;
    runCommand(line, this, this.#work.signal).catch((error: Error) => this.stage.view.warn(error.message));
    return true;
  }

  /** Ends the work. Prompts that waited for its end are not sent; what is typed from now on is. */
  #interrupt(): void {
    if (!this.#work || this.#work.signal.aborted) return;
    this.#work.abort(new Error("Interrupted"));
    this.#desk.takeBack();
  }

  /** Leaves the chat. A second request does not wait for the turn to end: everything said is stored. */
  #leave(code: number): void {
    if (this.#quitting) {
      this.stage.close();
      process.exit(code);
    }
    this.quit(code);
  }

  /** Ends what runs and the chat. */
  quit(code: number = EXIT.ok): void {
    this.#quitting = true;
    this.#code = code;
    this.#interrupt();
    this.#desk.end();
  }

  async resume(id: string): Promise<void> {
    await this.session.close("resume");
    const { resume: _, fork: __, ...options } = this.#options;
    try {
      this.session = await this.#agent.open({ ...options, resume: id });
    } catch (error) {
      this.session = await this.#agent.open(options);
      throw error;
    }
    await this.#showLast(id);
  }

  /** Shows where a resumed session was. */
  async #showLast(id: string): Promise<void> {
    const stored = await this.store.load(id);
    const { colours: { dim }, columns } = this.stage;
    const last = oneLine(textOf(stored?.messages.findLast((m) => m.role === "assistant")));
    this.stage.print([
      dim(cut(`run ${id}, ${several(stored?.messages.length ?? 0, "message")}`, columns - 1)),
      ...(last === "" ? [] : [dim(cut(`its last message: ${last}`, columns - 1))]),
    ]);
  }

  #echo(text: string): void {
    const { colours: { bold, cyan, dim }, columns } = this.stage;
    const rows = plainText(text).trimEnd().split("\n").flatMap((line) =>
      chop(line.replaceAll("\t", "    "), columns - 3)
    );
    const shown = rows.slice(0, MOST_ECHOED).map((row, i) => `${i === 0 ? cyan("›") : " "} ${bold(row)}`);
    const over = rows.length - shown.length;
    this.stage.print(["", ...shown, ...(over > 0 ? [dim(`  … ${several(over, "more row")}`)] : []), ""]);
    this.stage.view.anew();
  }

  async #greet(): Promise<void> {
    const { colours: { bold, dim }, columns } = this.stage;
    const { resume } = this.#options;
    this.stage.print([
      `${bold("crochet")} ${dim(cut(`${this.#agent.name} · ${this.session.model}`, columns - 9))}`,
      dim(cut("/help lists commands · Esc interrupts · Ctrl-D leaves", columns - 1)),
    ]);
    if (resume !== undefined) await this.#showLast(resume);
  }

  #farewell(): void {
    const { colours, columns } = this.stage;
    const end = wrap(closing("all together", this.tally.all, colours), columns - 1, 2);
    this.io.out(`\n${end.join("\n")}\n`);
    this.io.out(`${colours.dim(`crochet chat --resume ${this.session.id}`)}\n`);
  }
}
