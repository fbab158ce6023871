import type { EventFields } from "../core/events.ts";
import { text } from "../core/messages.ts";
import type { AgentSpec } from "../core/run.ts";
import { BUILT_IN } from "../runtime/importing.ts";
import type { SessionPlace } from "./session-place.ts";

/** What a system prompt is made of: the agent's own text, and what is found in its directory. */
interface PromptBasis extends Pick<SessionPlace, "options" | "own" | "cwd" | "clock" | "tape" | "record"> {
  /** Whether to look for memory files, or their names. */
  readonly memory: boolean | readonly string[];
}

interface Memory {
  /** The files that were read; empty if a recording has their text. */
  readonly instructions: readonly EventFields["instructions-loaded"][];
  /** Why others were not read. */
  readonly refused: readonly string[];
}

/** The system prompt; `lasting` is the part that stays the same from day to day. */
export async function systemOf(
  basis: PromptBasis,
): Promise<Pick<AgentSpec, "system" | "systemBlocks"> & { readonly lasting: string } & Memory> {
  const { system: given = "", from } = basis.options;
  const [{ found, ...memory }, around] = await Promise.all([
    memoryOf(basis),
    from === BUILT_IN ? surroundingsOf(basis) : "",
  ]);
  const joined = (...parts: string[]) => parts.filter((part) => part !== "").join("\n\n");
  const system = typeof given === "string" ? given : joined(...given.map((block) => block.text));
  const after = joined(around, found);
  return {
    system: joined(system, after),
    ...(typeof given !== "string" && { systemBlocks: after === "" ? given : [...given, text(after)] }),
    lasting: joined(system, found),
    ...memory,
  };
}

/** When and where the built-in agent works. The day is that of UTC: a tape has no time zone. */
async function surroundingsOf({ cwd, clock, tape, record }: PromptBasis): Promise<string> {
  const onTape = tape?.program?.tape.git;
  if (tape?.replays && onTape === undefined) return "";
  const git = onTape === undefined ? await gitLine(cwd) : tape!.mask.off(onTape);
  record?.line({ git });
  const day = `Today is ${new Date(clock.now()).toISOString().slice(0, 10)} (UTC).`;
  return git === "" ? day : `${day}\n${git}`;
}

/**
 * The repository that a folder is in, in a line for the model; "" if it is in none. It is read, not asked for: git
 * would run what the configuration of a checkout names, which the user may not have trusted.
 */
export async function gitLine(cwd: string): Promise<string> {
  const { dirname, join, resolve } = await import("node:path");
  for (let folder = resolve(cwd);; folder = dirname(folder)) {
    const head = await headOf(join(folder, ".git"));
    if (head !== undefined) return `The working directory is in a git repository, ${head}.`;
    if (dirname(folder) === folder) return "";
  }
}

async function headOf(git: string): Promise<string | undefined> {
  const { readFile, stat } = await import("node:fs/promises");
  const { dirname, resolve } = await import("node:path");
  try {
    const found = await stat(git);
    // In a worktree or a submodule it is a file with the path of the real folder.
    const folder = found.isFile()
      ? resolve(dirname(git), (await readFile(git, "utf8")).slice("gitdir: ".length).trim())
      : git;
    const head = (await readFile(`${folder}/HEAD`, "utf8")).trim();
    const [, branch] = /^ref: refs\/heads\/(\S{1,200})$/.exec(head) ?? [];
    if (branch !== undefined) return `on branch ${branch}`;
    return /^[0-9a-f]{40,64}$/.test(head) ? `at commit ${head.slice(0, 10)}, on no branch` : undefined;
  } catch {
    return undefined;
  }
}

async function memoryOf(
  { own, cwd, memory, tape, record }: PromptBasis,
): Promise<{ found: string } & Memory> {
  if (memory === false) return { found: "", instructions: [], refused: [] };
  const { currentMemory, findMemory, memoryPrompt, MEMORY_FILES } = await import("./memory-files.ts");
  const names = memory === true ? MEMORY_FILES : memory;
  const recorded = tape?.program?.tape;
  const isRetold = recorded?.header.tools ? tape!.policy.isOffline : own.memory === undefined;
  const onTape = isRetold ? recorded?.memory?.memory : undefined;
  const project = tape?.options.project;
  const refused: string[] = [];
  const all = onTape === undefined ? findMemory(cwd, names, project, (why) => refused.push(why)) : [];
  const files = all.filter(({ text }) => text.trim() !== "");
  const isChosen = record?.known.chosen?.includes("memory") ?? false;
  const prompt = onTape === undefined ? memoryPrompt(files) : tape!.mask.off(onTape);
  const found = onTape === undefined || project === undefined ? prompt : currentMemory(prompt, names, project);
  if (!tape || tape.records.tools || isChosen || onTape !== undefined) {
    record?.line({ memory: found, ...((isChosen || !tape) && memory !== true && { names: memory }) });
  }
  if (tape?.records.tools) { for (const { path, text } of files) tape.hasRead(path, text); }
  const instructions = files.map(({ path: file_path }) => {
    return { file_path, memory_type: "Project", load_reason: "session_start" } as const;
  });
  return { found, instructions, refused };
}
