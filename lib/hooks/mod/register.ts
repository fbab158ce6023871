export interface Registered {
  readonly name: string;
  /** The program's names of the events that hooks have, and the tools if each of them names its tools. */
  readonly events: ReadonlySet<string>;
  readonly guards: ReadonlySet<string>;
  readonly tools: readonly string[] | undefined;
  readonly asks: boolean;
  /** The variable that shows a settings hook that the mod is loaded; absent without such hooks. */
  readonly variable: string | undefined;
}

/** Events of mods by those of settings hooks; all others are skipped on machines with managed settings. */
const NATIVE: { readonly [event: string]: readonly string[] } = {
  PreToolUse: ["turn.start", "tool.call", "tool.check"],
  PostToolUse: ["turn.start", "tool.call"],
  PostToolUseFailure: ["turn.start", "tool.call"],
  PermissionRequest: ["turn.start", "tool.check"],
  UserPromptSubmit: ["prompt.submit"],
  SessionStart: ["classic.SessionStart", "prompt.submit"],
  Stop: ["classic.Stop", "turn.complete"],
  PreCompact: ["session.compact"],
  SessionEnd: ["session.end"],
};

/** Whether an event does not come on a machine with managed settings. */
export function isClassic(event: string): boolean {
  return !Object.hasOwn(NATIVE, event);
}

/** The function of `runtime.ts` for an event of a mod. */
function handlerOf(on: string): string {
  return on.startsWith("classic.") ? "classic" : on.replace(/\.\w/, (letter) => letter.slice(1).toUpperCase());
}

/** The answers by which a guard refuses, as the program reads its code: each is written out. */
const REFUSALS: { readonly [event: string]: readonly [guard: string, answer: string] } = {
  "tool.call": ["PreToolUse", "next.called ? next(e) : { deny: failed(next.error) }"],
  "tool.check": ["PermissionRequest", `({ decision: "deny", reason: failed(next.error) })`],
  "prompt.submit": ["UserPromptSubmit", "next.called ? next(e) : { drop: failed(next.error) }"],
};

/** The module that Claude Code loads. It reads this code before it runs it, and takes only these forms. */
export function registerText({ name, events, guards, tools, asks, variable }: Registered): string {
  const marks = variable === undefined ? [] : ["session.start", "prompt.submit"];
  const listened = new Set([...marks, ...[...events].flatMap((event) => NATIVE[event] ?? [`classic.${event}`])]);
  const speaks = events.has("UserPromptSubmit") || events.has("SessionStart");
  const handler = (on: string) => on === "prompt.submit" && !speaks ? "sessionStart" : handlerOf(on);
  const lines = [...listened].map((on) => {
    const matcher = on === "tool.call" && tools ? ` ${JSON.stringify({ tool: tools })},` : "";
    const [guard, refusal] = REFUSALS[on] ?? [];
    // What a hook before a call says of its permission is a guard's too.
    const refuses = guards.has(guard ?? "") || on === "tool.check" && guards.has("PreToolUse");
    return `  on(${JSON.stringify(on)},${matcher} async ($, e, next) => ${handler(on)}(e, next, engine($, next)))
    .catch(($, e, next) => ${refuses ? refusal : "next(e)"});`;
  });
  const used = [...new Set([...listened].map(handler))].sort();
  return `// What this mod does is in crochet.js; README.md says how to change it.
import { ${used.join(", ")} } from "./crochet.js";

function failed(error) {
  return "A hook of ${name} failed, so this is refused: " + (error?.message ?? error?.kind ?? "no reason");
}

function engine($, next) {
  return {
    signal: next.signal,
    root: $.plugin.root,
    session: async () => ({ id: await $.session.id(), cwd: await $.session.cwd() }),
    log: (text) => $.ui.log(text),
    mark: ${variable === undefined ? "() => {}" : `(session) => $.env.set(${JSON.stringify(variable)}, session)`},
    abort: (turn) => $.turn.abort(turn),
    submit: ${events.has("Stop") ? "(prompt) => $.prompt.submit(prompt)" : "async () => {}"},
    run: (argv, options) => $.process.run(argv, options),
    complete: ${asks ? "(request) => $.model.complete(request)" : "async () => ({ isAnswered: false })"},
    read: (path) => $.fs.read(path),
    write: (path, text) => $.fs.write(path, text),
    list: (path) => $.fs.list(path),
    stat: (path) => $.fs.stat(path),
  };
}

export function register(on) {
${lines.join("\n")}
}
`;
}

/** A settings hook that refuses where the mod is not loaded: what the program cannot load, it leaves out in silence. */
export function beltLine(variable: string, refusal: string): string {
  const quoted = refusal.trim().replaceAll("'", "'\\''");
  return `case "$(cat)" in *'"session_id":"'"$${variable}"'"'*) ;; *) printf %s '${quoted}' ;; esac`;
}
