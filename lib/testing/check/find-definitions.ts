import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { shellWord } from "../../core/shown.ts";
import { readDefinitions } from "../../hooks/definitions.ts";
import { homeOf } from "../../hooks/file/places.ts";
import { nameWarnings } from "../../hooks/known-names.ts";
import { readTurnCommand } from "../../hooks/turn-command.ts";
import { copiesFor } from "./find-settings.ts";
import type { FindOptions } from "./find.ts";
import { type FoundSubjects, momentsOf, shortened, type Subject } from "./subject.ts";

/** The definitions of a hooks.yaml. */
export async function definitionSubjects(path: string, options: FindOptions): Promise<FoundSubjects> {
  const { cwd, host = "claude", env } = options;
  const problems: string[] = [];
  const project = dirname(path);
  const text = readFileSync(path, "utf8");
  const model = () => {
    throw new Error("Cannot ask a model while hooks are only read");
  };
  const onProblem = (message: string) => void problems.push(message);
  const records = await readDefinitions(text, path, { workspace: project, by: { model }, onProblem });
  const shown = shortened(path, cwd);
  const subjects = records.map((record): Subject => ({
    name: `${shown}: ${record.name}`,
    kind: record.kind,
    target: { type: "definition", path, name: record.name },
    loaded: {
      moments: momentsOf(record.on),
      warnings: nameWarnings(record),
      mode: record.mode,
      nondeterministic: false,
      ...(record.timeout !== undefined && { timeout: record.timeout }),
    },
    ...{ path: shown, host, project, text, env: {}, visible: [project], seen: [] },
    copies: copiesFor(text, { project, home: homeOf(env) }),
  }));
  return { subjects, problems };
}

/** The commands of a hook.toml. */
export async function tomlSubjects(path: string, options: FindOptions): Promise<FoundSubjects> {
  const { cwd, host = "claude", env } = options;
  const text = readFileSync(path, "utf8");
  const project = dirname(dirname(path));
  const shown = shortened(path, cwd);
  const subjects: Subject[] = [];
  for (const table of ["turn_start", "turn_end"] as const) {
    const turn = await readTurnCommand(text, basename(path), table);
    if (!turn) continue;
    const line = [turn.command, ...turn.args];
    subjects.push({
      name: `${shown}#${table}`,
      kind: "command",
      target: { type: "toml", name: `.agent/hook.toml#${table}` },
      loaded: {
        moments: [{ event: table.replace("_", "-") }],
        mode: "gate",
        nondeterministic: false,
        ...(turn.timeout !== undefined && { timeout: turn.timeout }),
      },
      runs: line.map(shellWord).join(" "),
      ...{ path: shown, host, project, text, env: {}, visible: [project], seen: [] },
      copies: copiesFor(line.join(" "), { project, home: homeOf(env) }),
    });
  }
  return { subjects, problems: [] };
}
