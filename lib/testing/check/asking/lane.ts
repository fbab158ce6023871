import type { Answering } from "./_child-protocol.ts";
import { Child, type LaneOptions } from "./child.ts";
import type { Place, Probed, Question } from "./probe.ts";
import type { Loaded } from "../subject.ts";
import { Tree } from "./_tree.ts";

/** How long after its limit a hook that blocks its whole process is given. */
const PATIENCE_MS = 400;
/** A command is ended by the child itself, which takes as long as a process that ignores being asked to end. */
const COMMAND_PATIENCE_MS = 6000;

/** Thrown where a check is interrupted while it asks. */
export class Interrupted extends Error {
  override name = "Interrupted";
}

/** One hook in a process of its own, asked one question after the other. A process that does not answer is replaced. */
export class Lane {
  readonly options: LaneOptions;
  readonly place: Place;
  readonly #tree: Tree;
  #child: Child | undefined;
  #loaded: Loaded | undefined;
  #adopted = false;
  /** The process that knows the workspace as it has to be. */
  #knowing: Child | undefined;
  /** Whether the hook was seen to write, or to leave something running. */
  #untidy = false;
  /** The row that is being asked: a single question waits for it. */
  #row: Promise<readonly Probed[]> = Promise.resolve([]);
  #shut = false;
  /** Whether the hook is to be loaded again before it is asked. */
  #renews = false;

  constructor(options: LaneOptions) {
    this.options = options;
    this.place = options.place;
    this.#tree = new Tree(options.place.root);
  }

  /** Starts the process, which waits with loading the hook until it is opened: meanwhile the workspace can be filled. */
  start(): void {
    if (!this.#child || this.#child.over) this.#child = new Child(this.options);
  }

  /** @throws {Error} where the hook cannot be loaded, in the words of its front end */
  async open(): Promise<Loaded | undefined> {
    await this.#started();
    return this.#loaded;
  }

  async ask(question: Question): Promise<Probed> {
    await this.#row;
    const child = await this.#started();
    const [id] = child.send([{ question, ...this.#renewing() }]);
    const { probed } = await this.#answer(child, id!, question);
    return probed ? this.#tidied(probed, question) : await this.ask(question);
  }

  /**
   * Asks several in a row without a pause between them, each in the same workspace. Gives the answers to those that
   * could be asked, which is at least the first: the rest comes after what was written has been put back.
   */
  askRow(questions: readonly Question[]): Promise<Probed[]> {
    const asked = this.#askRow(questions);
    this.#row = asked.catch(() => []);
    return asked;
  }

  async #askRow(questions: readonly Question[]): Promise<Probed[]> {
    const answers = this.#untidy ? undefined : await this.#askTidy(questions);
    return answers ?? await this.#askUntidy(questions);
  }

  /** Looks after the last one only: to look takes longer than most modules. Undefined where something was left behind. */
  async #askTidy(questions: readonly Question[]): Promise<Probed[] | undefined> {
    const child = await this.#started();
    const ids = this.#send(child, questions, (i) => i === questions.length - 1);
    const answers: Probed[] = [];
    for (const [i, question] of questions.entries()) {
      const { probed, dirty } = await this.#answer(child, ids[i]!, question);
      if (!probed) return undefined;
      if (this.#child !== child) return [...answers, this.#tidied(probed, question)];
      if (dirty) this.#untidy = true;
      answers.push(probed);
    }
    if (!this.#untidy) return answers;
    // Which of them it was shows when all are asked again, by a hook that remembers none of it.
    this.restart();
    return undefined;
  }

  /** Looks after each, and puts back what it has written. */
  async #askUntidy(questions: readonly Question[]): Promise<Probed[]> {
    const child = await this.#started();
    const ids = this.#send(child, questions, () => true);
    const answers: Probed[] = [];
    for (const [i, question] of questions.entries()) {
      if (child.over && i > 0) break;
      const { probed, dirty } = await this.#answer(child, ids[i]!, question);
      if (!probed) break;
      answers.push(dirty === false ? probed : this.#tidied(probed, question));
      if (this.#child !== child) break;
    }
    return answers;
  }

  #send(child: Child, questions: readonly Question[], looks: (i: number) => boolean): number[] {
    const begins = this.#knowing !== child;
    this.#knowing = child;
    return child.send(questions.map((question, i) => ({
      question,
      row: { begins: begins && i === 0, looks: looks(i) },
      ...(i === 0 && this.#renewing()),
    })));
  }

  #renewing(): { readonly renew?: true } {
    const renews = this.#renews;
    this.#renews = false;
    return renews ? { renew: true } : {};
  }

  /** What became of a question; nothing where it was not asked. */
  async #answer(child: Child, id: number, question: Question): Promise<Pick<Answering, "probed" | "dirty">> {
    const command = this.options.target.type === "command";
    const start = performance.now();
    const answer = await child.wait(id, question.limit + (command ? COMMAND_PATIENCE_MS : PATIENCE_MS));
    const ms = performance.now() - start;
    if (answer === "late" || answer === "gone") {
      if (this.#child === child) this.close();
      return {
        probed: answer === "late" ? { ms, timedOut: true } : { ms, failure: { at: "exit", message: child.ended } },
      };
    }
    const { probed, dirty, held, onlyOnce, broken } = answer;
    if (onlyOnce) this.restart();
    if (held || onlyOnce) return {};
    if (!probed) throw new Error(`Cannot go on with the check as its process failed: ${broken}`);
    // A module that took too long may still be at it.
    if (probed.timedOut && !command) this.close();
    if (probed.survivors) this.#untidy = true;
    if (dirty) this.#knowing = undefined;
    return { probed, ...(dirty !== undefined && { dirty }) };
  }

  /** The answer with what the hook has written, which is put back. */
  #tidied(probed: Probed, { keep }: Question): Probed {
    const changed = this.#tree.changes();
    if (changed.length === 0) return probed;
    this.#untidy = true;
    this.#knowing = undefined;
    if (!keep) this.#tree.restore(changed);
    return { ...probed, changed };
  }

  /** Takes the workspace as it is now for the one to go back to. */
  adopt(): void {
    this.#adopted = true;
    this.#knowing = undefined;
    this.#tree.adopt();
  }

  restore(): void {
    this.#knowing = undefined;
    this.#tree.restore(this.#tree.changes());
  }

  /** Begins anew: nothing is left of what a module remembers in its own file. Much cheaper than a new process, where it can be done. */
  renew(): void {
    this.#renews = true;
  }

  /** Begins anew in another process: nothing a module remembers is left. */
  restart(): void {
    this.close();
    this.restore();
  }

  close(): void {
    this.#child?.end();
    this.#child = undefined;
  }

  /** Closes it for good: whoever still asks gets an error. */
  shut(): void {
    this.#shut = true;
    this.close();
  }

  async #started(): Promise<Child> {
    if (this.#shut) throw new Interrupted("Cannot ask the hook as the check was interrupted");
    this.start();
    const child = this.#child!;
    if (child.begun) return child;
    const answer = await child.begin();
    if (this.#shut) throw new Interrupted("Cannot load the hook as the check was interrupted");
    if (answer === "late" || answer === "gone") {
      throw new Error(answer === "late" ? "it did not load in time" : `it ended while it was loaded: ${child.ended}`);
    }
    if (answer.broken !== undefined) throw new Error(answer.broken);
    this.#loaded = answer.loaded;
    // Only now: the sandbox leaves folders behind where it mounts something.
    if (!this.#adopted) this.adopt();
    return child;
  }
}
