import { readDefinition } from "../prompting/read-answer.ts";
import type { AnyEvent } from "../../core/events.ts";
import { NO_OPINION, type Opinion, UnusableAnswer } from "../../core/verdict.ts";
import type { KindParts } from "../file/record.ts";
import { hookEnvironment, hookFolder } from "../process/environment.ts";
import { howEnded, type Ran, runProcess, startedBy } from "../process/process.ts";
import { type HookHost, outputFolder } from "../process/host.ts";
import { readStdout } from "../hosts/claude-answer.ts";
import { projection } from "../process/wire.ts";

/**
 * A command of a definition: the event as one line of JSON on stdin, `{action, reason, modified_data}` on stdout.
 * Nothing printed is no opinion; exit code 2 is a denial with stderr as its reason.
 */
export function definitionCommand(
  { name, command, args }: { name: string; command: string; args?: readonly string[] },
  host: HookHost,
): KindParts {
  return {
    kind: "command",
    dialect: "definition",
    async run(event, ctx) {
      const { onOutput } = host;
      const start = { host, event, ctx };
      const cwd = hookFolder(start);
      const place = { command, args, cwd, env: hookEnvironment(start, cwd) };
      return runProcess({
        ...(host.confine ? startedBy(await host.confine(), place) : place),
        input: `${JSON.stringify(told(event))}\n`,
        signal: ctx.signal,
        outputDir: () => outputFolder(host, event.session_id),
        onOutput: onOutput && ((stream, text) => onOutput({ hook: name, event, stream, text })),
      });
    },
    read: (raw, event) => readRan(raw as Ran, event),
  };
}

/** The event under its names on the wire and under those of rules and templates, with the fields of S3.34 and S3.35. */
function told(event: AnyEvent): object {
  const projected = projection(event);
  const { tool, args, result, path, error, duration_ms, event_type, profile, config, exit_reason } = projected;
  // A definition sees both outcomes under one name (S3.34).
  const seed = event.event === "post-tool-use" ? { event: "PostToolUse" } : {};
  const named = { ...seed, tool, args, result, path, error, duration_ms, event_type, profile, config, exit_reason };
  return { ...JSON.parse(JSON.stringify(projected)), ...named };
}

function readRan(ran: Ran, event: AnyEvent): Opinion {
  if (ran.ended) throw new UnusableAnswer("Cannot read an answer as the command was ended before it gave one");
  const words = ran.stderr.trim();
  if (ran.code === 2) return { ...(words !== "" && { reason: words }), ...beside(ran, event), decision: "deny" };
  const printed = readStdout(ran.stdout);
  if ("json" in printed) return readJson(printed.json, event);
  if (ran.code === 0) return NO_OPINION;
  throw new UnusableAnswer(`Cannot read an answer as the command ${howEnded(ran)}${words && `: ${words}`}`);
}

function readJson(json: Readonly<Record<string, unknown>>, event: AnyEvent): Opinion {
  return Object.keys(json).length === 0 ? NO_OPINION : readDefinition(json, event.event);
}

/** What a command that refuses by its exit code also printed: a reason there is preferred to stderr. */
function beside(ran: Ran, event: AnyEvent): Opinion {
  try {
    const printed = readStdout(ran.stdout);
    const opinion = "json" in printed ? readJson(printed.json, event) : NO_OPINION;
    const { reason, contexts, systemMessage } = opinion;
    return {
      ...(reason !== undefined && { reason }),
      ...(contexts && { contexts }),
      ...(systemMessage !== undefined && { systemMessage }),
    };
  } catch {
    return NO_OPINION;
  }
}
