import { withPlaceholders } from "../../../hooks/process/environment.ts";
import { runProcess } from "../../../hooks/process/process.ts";
import type { Asked, Setup } from "./_child-protocol.ts";
import type { Target } from "./probe.ts";

/** Runs a command as its host would: the event on stdin, a session and group of its own. */
export function askerFor({ target, place, host, env }: Setup): Asked {
  const { command, args } = target as Target & { type: "command" };
  const outputDir = () => place.kept;
  const ask: Asked["ask"] = async ({ event, limit }) => {
    const session = String(event.session_id ?? "");
    const own = { ...env, CLAUDE_CODE_SESSION_ID: session, ...(host === "gemini" && { GEMINI_SESSION_ID: session }) };
    const start = performance.now();
    try {
      const { code, signal, stdout, stderr, ended } = await runProcess({
        command: args ? withPlaceholders(command, own) : command,
        args: args?.map((arg) => withPlaceholders(arg, own)),
        cwd: place.project,
        env: own,
        // Codex ends its line with nothing.
        input: `${JSON.stringify(event)}${host === "codex" ? "" : "\n"}`,
        timeout: limit,
        outputDir,
      });
      const ms = performance.now() - start;
      return { ms, ran: { code, signal, stdout, stderr }, ...(ended && { timedOut: true }) };
    } catch (error) {
      return { ms: performance.now() - start, failure: { at: "start", message: (error as Error).message } };
    }
  };
  return { ask };
}
