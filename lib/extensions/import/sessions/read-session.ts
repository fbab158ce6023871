import { existsSync, readFileSync } from "node:fs";
import { basename } from "node:path";
import { isObject, type JsonObject, objectOf, parsed } from "../../../core/json.ts";
import { thrownWords } from "../../../core/shown.ts";
import { readClaude } from "./claude-log.ts";
import { readCodex } from "./codex-log.ts";
import type { LogHost, LogProblem, SessionFiles } from "./find-session.ts";
import { type AgentLog, type LogLine, type Moment, textIn } from "./session-kinds.ts";

/** A session that already happened, as its logs tell it. */
export interface HostSession {
  readonly host: LogHost;
  readonly path: string;
  readonly id: string;
  readonly version: string;
  /** The id of the session it was forked from. */
  readonly parent?: string;
  /** Those of the main agent, then agent by agent, each in the order they were logged. */
  readonly moments: readonly Moment[];
  readonly modelCalls: number;
  /** The main agent's log, then those of the agents in the order they were started. */
  readonly logs: readonly AgentLog[];
  readonly problems: readonly LogProblem[];
}

/** Reads the logs of one session. What cannot be read is a problem and passed over. */
export function readSession({ host, path, agents }: SessionFiles): HostSession {
  const problems: LogProblem[] = [];
  const files = [path, ...agents].map((file): UnnumberedLog => {
    const lines = linesOf(file, problems);
    return { path: file, lines, ...agentOf(host, file, lines) };
  });
  const [main, ...started] = [...apart(files[0]!), ...files.slice(1)];
  const isAgent = main!.agent !== undefined;
  const logs = [main!, ...inStartOrder(host, main!, started)].map((log, i): AgentLog => ({
    ...log,
    lane: i === 0 && !isAgent ? "main" : `agent:${isAgent ? i + 1 : i}`,
  }));
  const lanes = logs.map(host === "claude" ? readClaude : readCodex);
  const first =
    main!.lines.find(({ value }) => value.sessionId !== undefined || value.type === "session_meta")?.value ?? {};
  const { id, forked_from_id } = objectOf(first.payload);
  const forked = main!.lines.find(({ value }) => isObject(value.forkedFrom))?.value.forkedFrom;
  const parent = textIn(forked_from_id) || textIn(objectOf(forked).sessionId);
  return {
    ...{ host, path, logs, problems },
    id: textIn(first.sessionId) || textIn(id) || path,
    version: lanes[0]!.version ?? "of an unknown version",
    ...(parent !== "" && { parent }),
    moments: lanes.flatMap(({ moments }) => moments),
    modelCalls: lanes.reduce((sum, lane) => sum + lane.modelCalls, 0),
  };
}

type UnnumberedLog = Omit<AgentLog, "lane">;

/** Old versions of Claude Code log agents in between: the main agent's lines, then those of each of the others. */
function apart(log: UnnumberedLog): UnnumberedLog[] {
  const isSide = ({ value }: LogLine) => value.isSidechain === true && log.agent === undefined;
  const sides = Map.groupBy(log.lines.filter(isSide), ({ value }) => textIn(value.agentId) || "sidechain");
  const main = { ...log, lines: log.lines.filter((line) => !isSide(line)) };
  return [main, ...[...sides].map(([agent, lines]) => ({ path: log.path, lines, agent }))];
}

function linesOf(path: string, problems: LogProblem[]): LogLine[] {
  try {
    return readFileSync(path, "utf8").split("\n").flatMap((text, i): LogLine[] => {
      if (text.trim() === "") return [];
      const value = parsed(text);
      if (isObject(value)) return [{ value, line: i + 1 }];
      problems.push({
        path,
        line: i + 1,
        why: value === undefined ? "it is not JSON: it may be cut off" : "it is not an object",
      });
      return [];
    });
  } catch (error) {
    problems.push({ path, line: 0, why: thrownWords(error) });
    return [];
  }
}

function agentOf(host: LogHost, path: string, lines: readonly LogLine[]): Pick<AgentLog, "agent" | "agentType"> {
  if (host === "claude") {
    const agent = /^agent-(.*)\.jsonl$/.exec(basename(path))?.[1];
    return agent === undefined ? {} : { agent, agentType: textIn(metaOf(path).agentType) };
  }
  const { id, source } = objectOf(lines[0]?.value.payload);
  const { subagent } = objectOf(source);
  if (subagent === undefined) return {};
  return { agent: textIn(id), agentType: textIn(objectOf(objectOf(subagent).thread_spawn).agent_role) || "default" };
}

function metaOf(path: string): JsonObject {
  const meta = path.replace(/\.jsonl$/, ".meta.json");
  return existsSync(meta) ? objectOf(parsed(readFileSync(meta, "utf8"))) : {};
}

/** Agents by the time of the call that started them: their own first lines are written in any order. */
function inStartOrder(host: LogHost, main: UnnumberedLog, started: readonly UnnumberedLog[]): UnnumberedLog[] {
  const timeOf = ({ value }: LogLine) => Date.parse(textIn(value.timestamp));
  const calls = new Map<string, readonly [at: number, nth: number]>();
  for (const log of host === "claude" ? [main, ...started] : []) {
    for (const [nth, line] of log.lines.entries()) {
      const { content } = objectOf(line.value.message);
      for (const block of Array.isArray(content) ? content : []) {
        if (block?.type === "tool_use") calls.set(block.id, [timeOf(line), nth]);
      }
    }
  }
  const begun = (log: UnnumberedLog) =>
    calls.get(textIn(metaOf(log.path).toolUseId)) ?? [log.lines[0] ? timeOf(log.lines[0]) : 0, 0];
  return started.map((log) => ({ log, at: begun(log) }))
    .sort((a, b) => a.at[0] - b.at[0] || a.at[1] - b.at[1]).map(({ log }) => log);
}
