import { readFileSync } from "node:fs";
import { basename, dirname } from "node:path";
import { readDefinitions } from "../../../hooks/definitions.ts";
import { readTurnCommand } from "../../../hooks/turn-command.ts";
import { shellWord } from "../../../core/shown.ts";
import { momentsOf } from "./moments.ts";
import { type FindOptions, shortened } from "./find.ts";
import type { FoundSubjects, Subject } from "../subject.ts";

/** The definitions of a hooks.yaml; what they run lies in their project, which is copied as far as it is named. */
export async function definitionSubjects(path: string, { cwd, host = "claude" }: FindOptions): Promise<FoundSubjects> {
  const problems: string[] = [];
  const project = dirname(path);
  const text = readFileSync(path, "utf8");
  const records = await readDefinitions(text, path, {
    workspace: project,
    by: { model: unasked },
    onProblem: (message) => problems.push(message),
  });
  const { copiesFor } = await import("./_copies.ts");
  const subjects = records.map((record): Subject => ({
    name: `${shortened(path, cwd)}: ${record.name}`,
    path: shortened(path, cwd),
    kind: record.kind,
    target: { type: "definition", path, name: record.name },
    host,
    loaded: {
      moments: momentsOf(record.on),
      mode: record.mode,
      nondeterministic: false,
      ...(record.timeout !== undefined && { timeout: record.timeout }),
    },
    text,
    env: {},
    copies: copiesFor(text, { project, home: "" }),
    visible: [project],
    seen: [],
  }));
  return { subjects, problems };
}

const unasked = () => {
  throw new Error("Cannot ask a model here as hooks are only read");
};

/** The commands of a hook.toml. */
export async function tomlSubjects(path: string, { cwd, host = "claude" }: FindOptions): Promise<FoundSubjects> {
  const text = readFileSync(path, "utf8");
  const project = dirname(dirname(path));
  const { copiesFor } = await import("./_copies.ts");
  const subjects: Subject[] = [];
  for (const table of ["turn_start", "turn_end"] as const) {
    const turn = await readTurnCommand(text, basename(path), table);
    if (!turn) continue;
    subjects.push({
      name: `${shortened(path, cwd)}#${table}`,
      path: shortened(path, cwd),
      kind: "command",
      target: { type: "toml", name: `.agent/hook.toml#${table}` },
      host,
      loaded: {
        moments: [{ event: table.replace("_", "-") }],
        mode: "gate",
        nondeterministic: false,
        ...(turn.timeout !== undefined && { timeout: turn.timeout }),
      },
      runs: [turn.command, ...turn.args].map(shellWord).join(" "),
      text,
      env: {},
      copies: [
        { from: path, to: "project/.agent/hook.toml" },
        ...copiesFor([turn.command, ...turn.args].join(" "), { project, home: "" }),
      ],
      visible: [project],
      seen: [],
    });
  }
  return { subjects, problems: [] };
}
