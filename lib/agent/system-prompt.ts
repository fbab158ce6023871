import type { AgentOptions, RunOptions } from "./options.ts";
import type { Clock } from "../core/clock.ts";
import type { EventFields } from "../core/events.ts";
import type { AgentSpec } from "../core/run.ts";
import type { TapeSession } from "../tape/session.ts";
import { BUILT_IN } from "../tape/tape.ts";
import { isOfEnvironment } from "./tape.ts";

/** What a system prompt is made of: the agent's own text, and what is found in its directory. */
interface PromptBasis {
  readonly options: AgentOptions;
  readonly own: RunOptions;
  readonly cwd: string;
  readonly clock: Clock;
  /** Whether to look for memory files, or their names. */
  readonly memory: boolean | readonly string[];
  readonly tape: TapeSession | undefined;
}

interface Memory {
  /** The files that were read; empty if a recording has their text. */
  readonly instructions: readonly EventFields["instructions-loaded"][];
  readonly afterWrite?: NonNullable<AgentSpec["afterWrite"]>;
}

/** The system prompt; `lasting` is the part that stays the same from day to day. */
export async function systemOf(
  basis: PromptBasis,
): Promise<{ system: string; lasting: string } & Memory> {
  const { system = "", from } = basis.options;
  const [{ found, ...memory }, around] = await Promise.all([
    memoryOf(basis),
    from === BUILT_IN ? surroundingsOf(basis) : "",
  ]);
  const joined = (...parts: string[]) => parts.filter((part) => part !== "").join("\n\n");
  return {
    system: joined(system, around, found),
    lasting: joined(system, found),
    ...memory,
  };
}

async function surroundingsOf({ cwd, clock, tape }: PromptBasis): Promise<string> {
  const { gitLine, surroundings } = await import("./surroundings.ts");
  const onTape = tape?.program?.tape.git;
  if (tape?.replays && onTape === undefined) return "";
  const git = onTape === undefined ? await gitLine(cwd) : tape!.mask.off(onTape);
  if (tape) tape.recording.git = git;
  return surroundings(clock.now(), git);
}

async function memoryOf(
  { own, cwd, memory, tape }: PromptBasis,
): Promise<{ found: string } & Memory> {
  if (memory === false) return { found: "", instructions: [] };
  const { findMemory, isBelow, memoryPrompt, memoryWatch, MEMORY_FILES } = await import("./memory.ts");
  const names = memory === true ? MEMORY_FILES : memory;
  const recorded = tape?.program?.tape;
  const isInPlace = tape !== undefined && isOfEnvironment(tape);
  const isRepeated = own.memory !== undefined || isInPlace;
  const isRetold = recorded?.header.tools ? tape!.isOffline : !isRepeated;
  const onTape = isRetold ? recorded?.memory?.memory : undefined;
  const files = onTape === undefined ? await findMemory(cwd, names) : [];
  // A replay works in a copy of the workspace, which has no memory files above it.
  const isOutside = isInPlace && !isBelow(cwd, files);
  const isChosen = tape?.recording.chosen.has("memory") ?? false;
  const found = onTape === undefined ? memoryPrompt(files, cwd) : tape!.mask.off(onTape);
  if (tape?.recordsTools || isChosen || isOutside || onTape !== undefined) {
    tape!.recording.memory = { memory: found, ...(isChosen && memory !== true && { names: memory }) };
  }
  if (tape?.recordsTools) {
    for (const { path, text } of files) tape.recording.hasRead(cwd, path, text);
  }
  const instructions = files.map(({ path: file_path }) => {
    return { file_path, memory_type: "Project", load_reason: "session_start" } as const;
  });
  return { found, instructions, afterWrite: memoryWatch(cwd, names) };
}
