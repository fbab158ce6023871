import type { Host } from "./host.ts";
import { resultText } from "./keys.ts";

type Known = Pick<Host, "name" | "title" | "events" | "tried" | "channels"> & {
  readonly file: string;
  readonly afterInstall?: string;
};

/** A host without command hooks: we write its plugin (`adapters/`), so both ends of the protocol are ours. */
export function adapterHost({ file, afterInstall, ...known }: Known): Host {
  return {
    ...known,
    likeClaude: false,
    stopCap: 8,
    settings: {
      files: [file],
      ...(afterInstall !== undefined && { afterInstall }),
      second: 1,
      async: true,
      toolMatcher: (names) => `^(${names.join("|")})$`,
      patternMatcher: (pattern) => pattern,
    },
    answers: { hidesResult: true, contextAtTop: "context" },
    decided: ({ decision, reason, modified, value }, event) => {
      const after = event.event === "post-tool-use";
      if (decision === "deny" && !after) return { top: { deny: reason } };
      if (!modified || value === null) return {};
      return { top: { value: after ? resultText(value) : value } };
    },
    newResult: resultText,
  };
}
