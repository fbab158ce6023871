import { spawn } from "node:child_process";
import { fileURLToPath } from "node:url";

/** One hook file, and when it is asked. */
interface InstalledHook {
  readonly event: string;
  /** A regular expression for names of tools. */
  readonly matcher?: string;
  /** Below the project. */
  readonly file: string;
  /** Whether what it guards is refused if it cannot be asked. */
  readonly guard: boolean;
  /** In seconds. */
  readonly timeout?: number;
  readonly async?: boolean;
}

interface Installed {
  readonly dialect: string;
  readonly hooks: readonly InstalledHook[];
  /** Our names of the host's tools. */
  readonly tools: { readonly [theirs: string]: readonly string[] };
}

// `crochet hooks install` writes its list in place of this one.
const INSTALLED: Installed = {
  dialect: "",
  hooks: [],
  tools: {},
};

/** The project, which this file is installed in. */
const ROOT = fileURLToPath(new URL("../..", import.meta.url)).replace(/\/$/, "");

/** What the hooks of an event said together. */
export interface Answer {
  readonly deny?: string;
  readonly value?: unknown;
  readonly context?: string;
}

/** An event as `crochet hook` reads it. */
export interface SdkEvent {
  readonly hook_event_name: string;
  readonly session_id: string;
  readonly tool_name?: string;
  readonly [field: string]: unknown;
}

/** Asks the hooks of an event in order. Each sees what the one before it wrote into the field; a refusal is the end. */
export async function ask(event: SdkEvent, field: string, warn: (text: string) => void): Promise<Answer> {
  const contexts: string[] = [];
  let given = event;
  let changed = false;
  for (const hook of INSTALLED.hooks) {
    // Before anything is started: without crochet a guard refuses only what it is about.
    if (hook.event !== event.hook_event_name || !isAbout(hook, event.tool_name)) continue;
    const asking = answerOf(hook, given, warn);
    if (hook.async) continue;
    const { deny, value, context } = await asking;
    if (deny !== undefined) return { deny };
    if (context !== undefined) contexts.push(context);
    if (value === undefined) continue;
    given = { ...given, [field]: value };
    changed = true;
  }
  return { ...(changed && { value: given[field] }), ...(contexts.length > 0 && { context: contexts.join("\n") }) };
}

function isAbout({ matcher }: InstalledHook, tool: string | undefined): boolean {
  if (matcher === undefined || tool === undefined) return true;
  const pattern = new RegExp(matcher);
  return [tool, ...INSTALLED.tools[tool] ?? []].some((name) => pattern.test(name));
}

async function answerOf(hook: InstalledHook, event: SdkEvent, warn: (text: string) => void): Promise<Answer> {
  const { code, out, err } = await run(hook, JSON.stringify({ cwd: ROOT, ...event }));
  const refused = (why: string): Answer => {
    if (hook.guard) return { deny: why };
    warn(why);
    return {};
  };
  if (out === ABSENT) {
    const what = hook.guard ? "cannot check this" : "did not run";
    return refused(`crochet is not installed, so ${hook.file} ${what}: npm install`);
  }
  if (err.trim() !== "" && code === 0) warn(err.trim());
  if (code !== 0 && out.trim() === "") {
    return refused(`${hook.file} could not be asked: ${err.trim() || `exit code ${code}`}`);
  }
  if (out.trim() === "") return {};
  try {
    const { systemMessage, ...answer } = JSON.parse(out) as Answer & { readonly systemMessage?: string };
    if (systemMessage !== undefined) warn(systemMessage);
    return answer;
  } catch {
    return refused(`${hook.file} gave an answer that is not JSON`);
  }
}

/** What the launcher prints if it finds no runtime. */
const ABSENT = "absent";

function run(
  { file, timeout }: InstalledHook,
  stdin: string,
): Promise<{ code: number | null; out: string; err: string }> {
  return new Promise((resolve) => {
    const env = { ...process.env, PATH: `${ROOT}/node_modules/.bin:${process.env.PATH ?? ""}`, CROCHET_ABSENT: ABSENT };
    const child = spawn("crochet", ["hook", `${ROOT}/${file}`, "--dialect", INSTALLED.dialect], {
      cwd: ROOT,
      env,
      ...(timeout !== undefined && { timeout: timeout * 1000 }),
    });
    let out = "";
    let err = "";
    child.on("error", () => resolve({ code: null, out: ABSENT, err }));
    child.stdout.setEncoding("utf8").on("data", (text: string) => out += text);
    child.stderr.setEncoding("utf8").on("data", (text: string) => err += text);
    child.on("close", (code) => resolve({ code, out, err }));
    child.stdin.on("error", () => {});
    child.stdin.end(`${stdin}\n`);
  });
}

/** Puts new fields in the place of all that an object holds: hosts keep the object they gave. */
export function refill(object: Record<string, unknown>, value: unknown): void {
  for (const key of Object.keys(object)) delete object[key];
  Object.assign(object, value);
}
