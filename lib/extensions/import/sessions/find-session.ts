import { existsSync, readdirSync, readFileSync, statSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { isObject, objectOf, parsed } from "../../../core/json.ts";
import { thrownWords } from "../../../core/shown.ts";
import { textIn } from "./session-kinds.ts";

export type LogHost = "claude" | "codex";

/** The files of one session: the log of the main agent, and those of agents it started. */
export interface SessionFiles {
  readonly host: LogHost;
  readonly path: string;
  readonly agents: readonly string[];
}

/** A line that cannot be read, or a file (line 0). */
export interface LogProblem {
  readonly path: string;
  readonly line: number;
  readonly why: string;
}

/** Whose log a text is, by its first lines; undefined if it is not the log of a session. */
function logHost(text: string): LogHost | undefined {
  for (const line of text.split("\n", 20)) {
    const value = parsed(line);
    if (!isObject(value) || typeof value.type !== "string") continue;
    if (isObject(value.payload) && typeof value.timestamp === "string") return "codex";
    if (["sessionId", "leafUuid", "messageId"].some((key) => typeof value[key] === "string")) return "claude";
  }
  return undefined;
}

interface Candidate {
  readonly path: string;
  readonly host: LogHost;
  readonly id: string;
  /** The session whose agent it is. */
  readonly root?: string | undefined;
}

/** The sessions in files and below folders; `others` are files that are not the log of a session. */
export function findSessions(paths: readonly string[]) {
  const others: string[] = [];
  const problems: LogProblem[] = [];
  const found = new Map<string, Candidate>();
  const look = (path: string, isNamed: boolean) => {
    if (found.has(path)) return;
    try {
      const text = readFileSync(path, "utf8");
      const host = logHost(text);
      if (host) found.set(path, { path, host, ...owner(path, host, text) });
      else if (isNamed) others.push(path);
    } catch (error) {
      problems.push({ path, line: 0, why: thrownWords(error) });
    }
  };
  for (const path of paths) {
    const isFolder = statSync(path).isDirectory();
    for (const file of isFolder ? logsBelow(path) : [path]) look(file, true);
    if (isFolder) continue;
    // The agents of a session lie beside its log, or in the folder of its name.
    const own = path.replace(/\.jsonl$/, "");
    const named = found.get(path);
    const beside = named?.host === "codex"
      ? readdirSync(dirname(path)).filter((name) => /^rollout-.*\.jsonl$/.test(name))
      : [];
    const files = [
      ...existsSync(own) && own !== path ? logsBelow(own) : [],
      ...beside.map((name) => join(dirname(path), name)),
    ];
    for (const file of files) {
      if (found.has(file)) continue;
      look(file, false);
      if (found.get(file)?.root !== named?.id) found.delete(file);
    }
  }
  const all = [...found.values()];
  const mains = new Set(all.flatMap(({ id, root }) => root === undefined ? [id] : []));
  const agents = Map.groupBy(all, ({ root }) => root !== undefined && mains.has(root) ? root : undefined);
  const sessions = (agents.get(undefined) ?? []).map(({ path, host, id: main }): SessionFiles => {
    const own = agents.get(main) ?? [];
    // A copy of a log is not another agent.
    const isFirst = ({ id }: Candidate, i: number) => own.findIndex((one) => one.id === id) === i;
    return { host, path, agents: own.filter(isFirst).map((one) => one.path) };
  });
  return { sessions, others, problems };
}

function logsBelow(folder: string): string[] {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && entry.name.endsWith(".jsonl"))
    .map((entry) => join(entry.parentPath, entry.name)).sort();
}

/** Which session a log is, or whose agent's. */
function owner(path: string, host: LogHost, text: string): { id: string; root?: string | undefined } {
  if (host === "claude") {
    const id = /"sessionId":"([^"]+)"/.exec(text)?.[1] ?? path;
    // A fork or a log that was copied may share its session's id: the path tells them apart.
    if (!/^agent-.*\.jsonl$/.test(basename(path))) return { id: path.replace(/\.jsonl$/, "") };
    const folder = dirname(path);
    const main = basename(folder) === "subagents" ? dirname(folder) : join(folder, id);
    return { id: path, root: main };
  }
  const { id, session_id, parent_thread_id, source } = objectOf(
    objectOf(parsed(text.slice(0, text.indexOf("\n")))).payload,
  );
  const { parent_thread_id: spawner } = objectOf(objectOf(objectOf(source).subagent).thread_spawn);
  const parent = textIn(parent_thread_id ?? spawner);
  const root = parent === "" ? undefined : textIn(session_id) === textIn(id) ? parent : textIn(session_id) || parent;
  return { id: textIn(id) || path, root };
}
