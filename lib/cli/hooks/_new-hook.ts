import { EVENTS } from "../../core/events.ts";
import { pascal } from "../../core/names.ts";
import type { FileName } from "../../hooks/file/file-name.ts";
import { TOOL_FIELDS } from "../../hooks/known-names.ts";
import { UsageError } from "../kit/io.ts";

/** What a new hook can be written in, with the extension of its file. */
export const LANGS = { ts: ".ts", sh: ".sh", py: ".py", rules: ".rules", prompt: ".prompt.md" } as const;

export type Lang = keyof typeof LANGS;

interface NewHook {
  readonly hook: string;
  readonly examples: string;
}

/** What a new hook refuses: a text in a field of its event, and its reason. */
interface Refused {
  readonly field: string;
  /** The field as rules and templates name it. */
  readonly path: string;
  readonly word: string;
  readonly reason: string;
  readonly passes: string;
}

/** A hook with examples: a guard at a call or a prompt, a hook that sends the agent back at the end, else a hook that only logs. */
export function newHook(name: FileName, lang: Lang): NewHook {
  const { event } = name.on;
  if (event === "stop") return atStop(lang);
  if (event === "worktree-create") {
    throw new UsageError(
      `Cannot write a hook for ${event} as it has to make the worktree: write one that prints its path`,
    );
  }
  const refused = refusedBy(name);
  if (refused) return lang === "prompt" ? judged(refused) : guard(name, lang, refused);
  if (lang === "rules" || lang === "prompt") {
    throw new UsageError(`Cannot write ${lang} for ${name.event}: end its name with .ts, .sh or .py there`);
  }
  return { hook: LOOKS[lang](event), examples: "- name: has no objection to a typical event\n" };
}

function refusedBy({ on: { event }, tools: [tool = "Bash"] }: FileName): Refused | undefined {
  if (event === "user-prompt-submit") {
    const reason = "Ask for one thing at a time";
    return { field: "prompt", path: "prompt", word: "and then", reason, passes: "Fix the test" };
  }
  if (EVENTS[event].match !== "tool_name" || event === "tool-denied") return undefined;
  const field = TOOL_FIELDS[tool]?.[0] ?? "query";
  const about = { field, path: `args.${field}` };
  if (field === "command") {
    return { ...about, word: "npm unpublish", reason: "Unpublishing is for people", passes: "npm test" };
  }
  return field === "file_path"
    ? { ...about, word: ".env", reason: "Secrets stay where they are", passes: "src/app.ts" }
    : { ...about, word: "forbidden", reason: "Not this one", passes: "example" };
}

function guard({ on: { event } }: FileName, lang: Exclude<Lang, "prompt">, refused: Refused): NewHook {
  const { field, path, word, reason, passes } = refused;
  const isPrompt = event === "user-prompt-submit";
  const given = (value: string) =>
    JSON.stringify(isPrompt ? { prompt: value } : { tool_input: { [field]: value } }, null, 1).replaceAll(
      /\n\s*/g,
      " ",
    );
  // Hosts take a refusal at a permission request as JSON alone.
  const asked = event === "permission-request" && JSON.stringify({
    hookSpecificOutput: { hookEventName: "PermissionRequest", decision: { behavior: "deny", message: reason } },
  });
  const how = asked ? "The answer is JSON too." : "Exit code 2 refuses, and stderr is the reason.";
  const hooks = {
    ts: `import type { ${pascal(event)}Hook } from "crochet";

const hook: ${pascal(event)}Hook = ({ ${isPrompt ? "prompt" : "input"} }) => {
  if (!String(${isPrompt ? "prompt" : `input.${field}`}).includes(${JSON.stringify(word)})) return;
  return { action: "deny", reason: ${JSON.stringify(reason)} };
};
export default hook;
`,
    sh: `#!/bin/sh
# The event comes as JSON on stdin. ${how}
case $(cat) in
  *'${word}'*) ${asked ? `echo '${asked}'` : `echo "${reason}" >&2; exit 2`} ;;
esac
`,
    py: `#!/usr/bin/env python3
# The event comes as JSON on stdin. ${how}
import json
import sys

event = json.load(sys.stdin)
if ${JSON.stringify(word)} in str(${isPrompt ? 'event.get("prompt")' : `event.get("tool_input", {}).get("${field}")`}):
    print(${asked ? `'${asked}')` : `"${reason}", file=sys.stderr)\n    sys.exit(2)`}
`,
    rules: `# The first rule that applies decides.\n${path} contains "${word}" -> deny("${reason}")\n`,
  };
  return {
    hook: hooks[lang],
    examples: `- event: ${given(`${field === "file_path" ? "" : "please "}${word}`)}
  expect: { deny: /${reason}/ }
- event: ${given(passes)}
`,
  };
}

function judged({ path, reason }: Refused): NewHook {
  return {
    hook: `---
timeout: 30
nondeterministic: true
---
An agent is about to go on with this: {{${path}}}

Deny it only if it would harm what cannot be restored, and say in one sentence why. Otherwise continue.
`,
    examples: judgements(reason),
  };
}

/** What a judge may say, and what then happens. */
function judgements(reason: string): string {
  return `- name: refuses what the judge refuses
  says: '{"ok": false, "reason": "${reason}"}'
  expect: { deny: /${reason}/ }
- name: lets pass what the judge lets pass
  says: '{"ok": true}'
`;
}

const TESTED = "Say what you tested";

function atStop(lang: Lang): NewHook {
  const hooks: { readonly [L in Lang]: string } = {
    ts: `import type { StopHook } from "crochet";

const hook: StopHook = ({ last_assistant_message, stop_hook_active }) => {
  // Asked once: a hook that never lets go keeps the agent forever.
  if (stop_hook_active || /tested/i.test(last_assistant_message)) return;
  return { action: "deny", reason: "${TESTED}" };
};
export default hook;
`,
    sh: `#!/bin/sh
# Asked once: a hook that never lets go keeps the agent forever.
case $(cat) in
  *'"stop_hook_active":true'* | *tested*) exit 0 ;;
esac
echo "${TESTED}" >&2
exit 2
`,
    py: `#!/usr/bin/env python3
import json
import sys

event = json.load(sys.stdin)
# Asked once: a hook that never lets go keeps the agent forever.
if event.get("stop_hook_active") or "tested" in (event.get("last_assistant_message") or ""):
    sys.exit(0)
print("${TESTED}", file=sys.stderr)
sys.exit(2)
`,
    rules: `# Asked once: a hook that never lets go keeps the agent forever.
stop_hook_active equals "false" and not last_assistant_message contains "tested" -> deny("${TESTED}")
`,
    prompt: `---
timeout: 30
nondeterministic: true
---
An agent wants to stop. It says: {{last_assistant_message}}

Deny it if it does not say what it tested, unless it was sent back before ({{stop_hook_active}}). Otherwise continue.
`,
  };
  const examples = `- event: { last_assistant_message: "Done" }
  expect: { deny: /${TESTED}/ }
- event: { last_assistant_message: "Done, and tested by npm test" }
- event: { last_assistant_message: "Done", stop_hook_active: true }
`;
  return { hook: hooks[lang], examples: lang === "prompt" ? judgements(TESTED) : examples };
}

/** Hooks that only look. */
const LOOKS: { readonly [L in "ts" | "sh" | "py"]: (event: string) => string } = {
  ts: (event) =>
    `import type { Hook } from "crochet";

const hook: Hook<"${event}"> = (event, { log }) => log(JSON.stringify(event));
export default hook;
`,
  sh: () =>
    `#!/bin/sh
# The event comes as JSON on stdin. No output means that there is no objection.
cat > /dev/null
`,
  py: () =>
    `#!/usr/bin/env python3
# The event comes as JSON on stdin. No output means that there is no objection.
import json
import sys

event = json.load(sys.stdin)
`,
};
