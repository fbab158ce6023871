import { readFileSync } from "node:fs";
import { resolve } from "node:path";
import type { AnyEvent } from "../../core/events.ts";
import { shellWord } from "../../core/shown.ts";
import { HOSTS } from "../../hooks/hosts/index.ts";
import { wireInput } from "../../hooks/process/wire.ts";
import type { CheckSession } from "./check.ts";
import { isWire, type Probe } from "./sample-events.ts";
import { eventName } from "./laws/judged.ts";
import type { Finding, Violation } from "./check-report.ts";
import type { Subject } from "./subject.ts";

const MOST_PASTED = 1500;
/** More of an event than this is a file of its own, where there is a folder for it. */
const MOST_TYPED = 160;
/** What only the check can tell about an event: the hook itself shows nothing. */
const ONLY_CHECKED = ["protocol.unsupported-by-host", "protocol.never-runs"];

/** What was found of one hook: each fault once, with the first event that showed it. */
export class Findings {
  readonly #subject: Subject;
  readonly #session: CheckSession;
  readonly #found = new Map<string, Finding>();

  constructor(subject: Subject, session: CheckSession) {
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
    this.replace(violation, probe);
    return true;
  }

  replace(violation: Violation, probe?: Probe): void {
    this.#found.set(violation.code, this.#finding(violation, probe));
  }

  /** Adds what is shown by more than one event, or by none of the check's; `of` tells it from others of its code. */
  addShown(violation: Violation, of: string, by: Pick<Finding, "counterexample" | "trace" | "event">): void {
    const shown = JSON.parse(this.#shown(JSON.stringify(by)));
    this.#found.set(`${violation.code} ${of}`, { ...this.#finding(violation), ...shown });
  }

  #finding({ law, code, severity, message, fix, event, declared }: Violation, probe?: Probe): Finding {
    const pasted = probe && !ONLY_CHECKED.includes(code) ? this.#pasted(probe, code) : undefined;
    return {
      ...{ law, code, severity, fix },
      hook: this.#subject.name,
      ...(probe ? { event: eventName(probe) } : event !== undefined && { event }),
      ...this.#place(declared),
      message: this.#shown(message),
      counterexample: probe ? JSON.parse(this.#shown(JSON.stringify(probe.event))) : null,
      seed: this.#session.seed,
      reproduce: pasted ?? againLine([this.#subject.path], this.#session),
    };
  }

  /** The first line of the hook's file with a name in it: a name in the file's own name has no line. */
  #place(declared: string | undefined): { place?: string } {
    const { path } = this.#subject;
    if (declared === undefined) return {};
    const line = readFileSync(resolve(this.#session.cwd, path), "utf8").split("\n").findIndex((text) =>
      text.includes(declared)
    );
    return line < 0 ? {} : { place: `${path}:${line + 1}` };
  }

  /** Paths of the scratch place as they would be in the user's own project. */
  #shown(text: string): string {
    const { cwd, env } = this.#session;
    const places: { readonly [folder: string]: string } = { project: cwd, home: env.HOME ?? "~", outside: "/tmp" };
    return text
      .replaceAll(
        /\/[^\s"':]*crochet-check-[A-Za-z0-9]+\/\d+\/here\/(project|home|tmp|outside|canary)/g,
        (_, folder: string) => places[folder] ?? `/tmp/${folder}`,
      )
      .replaceAll(/-[\w-]*crochet-check-[A-Za-z0-9]+-\d+-here-project/g, cwd.replaceAll(/[^A-Za-z0-9]/g, "-"))
      .replaceAll(/crochet-check-[A-Za-z0-9]+\/\d+\/here\/?/g, "");
  }

  /** A shell line that asks the hook about the one event; undefined if it cannot be pasted. */
  #pasted(probe: Probe, code: string): string | undefined {
    const { runs, path, target, host, env: { CLAUDE_PLUGIN_ROOT: plugin } } = this.#subject;
    if (target.type === "definition" || probe.says !== undefined) return undefined;
    const wire = isWire(this.#subject) ? probe.event : wireInput(probe.event as unknown as AnyEvent, this.#session.cwd);
    const text = this.#shown(JSON.stringify(wire));
    const file = text.length > MOST_TYPED ? this.#session.keepCase(`${this.#subject.name}-${code}`, text) : undefined;
    // deno-lint-ignore no-control-regex
    const isOdd = /[\u0000-\u001f\u007f-\u009f\u200b-\u200f\u2028-\u202f\ufeff]/.test(text);
    if (file === undefined && (isOdd || text.length > MOST_PASTED)) return undefined;
    const named = /\w+_PROJECT_DIR/.exec(HOSTS[host].settings.lists?.project.root ?? "")?.[0] ?? "CLAUDE_PROJECT_DIR";
    const root = plugin === undefined ? "" : `CLAUDE_PLUGIN_ROOT=${shellWord(plugin)} `;
    const into = runs === undefined
      ? `crochet hooks test ${shellWord(path)} --input -`
      : `${named}="$PWD" ${root}${runs}; echo "exit code $?"`;
    return `${file ? `cat ${shellWord(file)}` : `printf '%s\\n' ${shellWord(text)}`} | ${into}`;
  }
}

export function againLine(paths: readonly string[], { seed, runs, flags }: CheckSession): string {
  return `crochet hooks check ${paths.map(shellWord).join(" ")} --seed ${seed} --runs ${runs}${flags}`;
}
