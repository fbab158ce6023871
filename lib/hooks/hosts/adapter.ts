import type { Host } from "./host.ts";
import { inverse, renamed } from "./keys.ts";

type Known = Pick<Host, "name" | "events" | "tools" | "inputKeys" | "toolAliases"> & {
  readonly file: string;
  readonly afterInstall?: string;
};

/** A host without command hooks: we write its plugin (`adapters/`), so both ends of the protocol are ours. */
export function adapterHost({ file, afterInstall, ...known }: Known): Host {
  const theirs = inverse(known.tools);
  return {
    ...known,
    likeClaude: false,
    stopCap: 8,
    settings: {
      files: [file],
      ...(afterInstall !== undefined && { afterInstall }),
      project: { root: "" },
      adapter: true,
      second: 1,
      timeout: () => Infinity,
      named: false,
      async: true,
      onFailure: false,
      toolMatcher: (names) => `^(${names.join("|")})$`,
      patternMatcher: (pattern) => pattern,
    },
    answers: {
      top: ["deny", "value", "context", "systemMessage"],
      decisions: [],
      permissions: [],
      newInput: "value",
      strict: false,
      namesEvent: false,
      mergesInput: false,
      hidesResult: true,
      contextAtTop: "context",
    },
    decided: ({ decision, reason, modified, value }, event) => {
      const after = event.event === "post-tool-use";
      if (decision === "deny" && !after) return { top: { deny: reason } };
      if (!modified || value === null) return {};
      return { top: { value: after ? newResult(value) : value } };
    },
    newResult,
    process: { lineFeed: true },
    written: ({ hook_event_name, tool_name, tool_input, ...rest }) => ({
      ...rest,
      hook_event_name: nameOf(hook_event_name, known.events),
      ...(tool_name !== undefined && {
        tool_name: theirs[String(tool_name)] ?? tool_name,
        tool_input: renamed(tool_input, inverse(known.inputKeys)),
      }),
    }),
  };
}

function newResult(value: unknown): unknown {
  const words = typeof value === "string" ? value : (value as { content?: unknown } | null)?.content;
  return typeof words === "string" ? words : undefined;
}

function nameOf(claude: string, events: Host["events"]): string {
  const ours = claude.replace(/([a-z])([A-Z])/g, "$1-$2").toLowerCase();
  return Object.keys(events).find((name) => events[name]!.ours?.includes(ours)) ?? claude;
}
