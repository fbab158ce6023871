import type { AnyEvent } from "../../../core/events.ts";
import { wireInput } from "../../../hooks/process/wire.ts";
import { isWire, type Probe } from "../events.ts";
import { shellWord } from "../../../core/shown.ts";
import type { Bypass } from "../laws/guard.ts";
import { eventName, type Violation } from "../laws/judged.ts";
import type { Finding } from "./report.ts";
import type { Session } from "../session.ts";
import type { Subject } from "../subject.ts";

/** An event longer than this is not pasted. */
const MOST_PASTED = 1500;

/** What was found of one hook: each fault once, by the first event that showed it. */
export class Findings {
  readonly #subject: Subject;
  readonly #session: Session;
  readonly #found = new Map<string, Finding>();

  constructor(subject: Subject, session: Session) {
    this.#subject = subject;
    this.#session = session;
  }

  has(code: string): boolean {
    return this.#found.has(code);
  }

  all(): Finding[] {
    const all = [...this.#found.values()];
    return [...all.filter((f) => f.severity === "fault"), ...all.filter((f) => f.severity === "warning")];
  }

  /** Whether it is new: a fault counts more than a warning of the same name. */
  add(violation: Violation, probe?: Probe): boolean {
    const known = this.#found.get(violation.code);
    if (known && !(known.severity === "warning" && violation.severity === "fault")) return false;
    this.#found.set(violation.code, this.#finding(violation, probe));
    return true;
  }

  /** The same with a better example. */
  replace(violation: Violation, probe: Probe): void {
    this.#found.set(violation.code, this.#finding(violation, probe));
  }

  addPlay(violation: Violation, event: string, trace: readonly string[]): void {
    const finding = this.#finding(violation);
    this.#found.set(violation.code, {
      ...finding,
      event,
      counterexample: trace,
      trace: trace.map((line) => this.#shown(line)),
    });
  }

  addBypass(violation: Violation, bypass: Bypass): void {
    const key = `${violation.code} ${bypass.denied}`;
    const counterexample = JSON.parse(this.#shown(JSON.stringify(bypass)));
    const trace = bypass.passes.map(({ how, text }) => this.#shown(`${how}: ${text.replaceAll("\n", "⏎")}`));
    this.#found.set(key, { ...this.#finding(violation), event: "PreToolUse", counterexample, trace });
  }

  addExample(violation: Violation, event: unknown): void {
    const counterexample = JSON.parse(this.#shown(JSON.stringify(event)));
    this.#found.set(`${violation.code} ${violation.message}`, { ...this.#finding(violation), counterexample });
  }

  #finding(given: Violation, probe?: Probe): Finding {
    const { seed } = this.#session;
    const { law, code, severity, message, mend } = given;
    const event = probe && JSON.parse(this.#shown(JSON.stringify(probe.event)));
    return {
      law,
      code,
      severity,
      hook: this.#subject.name,
      ...(probe && { event: eventName(probe) }),
      message: this.#shown(message),
      counterexample: event ?? null,
      seed,
      // What a host would do about it only the check tells.
      reproduce: (probe && code !== "lawful.host" && code !== "lawful.never-runs" && this.#pasted(probe)) ||
        this.#again(),
      mend,
    };
  }

  /** Paths of the scratch place as they would be in the person's own project. */
  #shown(text: string): string {
    return text
      .replaceAll(
        /\/[^\s"':]*crochet-check-[A-Za-z0-9]+\/\d+\/here\/(project|home|tmp|outside|canary)/g,
        (_, folder: string) =>
          folder === "project"
            ? this.#session.cwd
            : folder === "home"
            ? this.#session.env.HOME ?? "~"
            : folder === "outside"
            ? "/tmp"
            : `/tmp/${folder}`,
      )
      .replaceAll(
        /-[\w-]*crochet-check-[A-Za-z0-9]+-\d+-here-project/g,
        this.#session.cwd.replaceAll(/[^A-Za-z0-9]/g, "-"),
      )
      .replaceAll(/crochet-check-[A-Za-z0-9]+\/\d+\/here\/?/g, "");
  }

  /** The whole check of the hook again. */
  #again(): string {
    const { seed, runs, flags } = this.#session;
    return `crochet hooks check ${shellWord(this.#subject.path)} --seed ${seed} --runs ${runs}${flags}`;
  }

  /** Those of a host that the hook looks at. */
  #variables(): string {
    const { text, env } = this.#subject;
    const known = {
      CLAUDE_PROJECT_DIR: '"$PWD"',
      GEMINI_PROJECT_DIR: '"$PWD"',
      CLAUDE_PLUGIN_ROOT: env.CLAUDE_PLUGIN_ROOT,
    };
    return Object.entries(known).map(([name, value]) =>
      value !== undefined && text.includes(name) ? `${name}=${value.startsWith('"') ? value : shellWord(value)} ` : ""
    ).join("");
  }

  /** The one event again, where it can be pasted. */
  #pasted(probe: Probe): string | undefined {
    const { runs, path, target } = this.#subject;
    if (target.type === "definition" || target.type === "toml" || probe.says !== undefined) return undefined;
    const wire = isWire(this.#subject) ? probe.event : wireInput(probe.event as unknown as AnyEvent, this.#session.cwd);
    const text = this.#shown(JSON.stringify(wire));
    // deno-lint-ignore no-control-regex
    if (text.length > MOST_PASTED || /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202f\ufeff]/.test(text)) {
      return undefined;
    }
    const into = runs === undefined
      ? `crochet hooks test ${shellWord(path)} --input -`
      : `${this.#variables()}${runs}; echo "exit code $?"`;
    return `printf '%s\\n' ${shellWord(text)} | ${into}`;
  }
}
