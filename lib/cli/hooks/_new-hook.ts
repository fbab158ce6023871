import { type EventName, EVENTS } from "../../core/events.ts";
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
  if (refused && lang !== "prompt") return guard(name, lang, refused);
  if (refused) {
    const about = `An agent is about to go on with this: {{${refused.path}}}

Deny it only if it would harm what cannot be restored, and say in one sentence why.`;
    return judged(about, refused.reason);
  }
  if (lang === "rules" || lang === "prompt") {
    throw new UsageError(`Cannot write ${lang} for ${name.event}: end its name with .ts, .sh or .py there`);
  }
  const note = "The event comes as JSON on stdin. No output means that there is no objection.";
  const hooks = {
    ts: `import type { Hook } from "crochet";

const hook: Hook<"${event}"> = (event, { log }) => log(JSON.stringify(event));
export default hook;
`,
    sh: `#!/bin/sh\n# ${note}\ncat > /dev/null\n`,
    py: python(note),
  };
  return { hook: hooks[lang], examples: "- name: has no objection to a typical event\n" };
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
  const inPython = isPrompt ? 'event.get("prompt")' : `event.get("tool_input", {}).get("${field}")`;
  const hook = refusing(lang, event, reason, {
    note: `The event comes as JSON on stdin. ${asked ? "The answer is JSON too." : EXIT_CODE}`,
    fields: isPrompt ? "prompt" : "input",
    ts: `  if (!String(${isPrompt ? "prompt" : `input.${field}`}).includes(${JSON.stringify(word)})) return;`,
    sh: `*'${word}'*)`,
    py: `${JSON.stringify(word)} in str(${inPython})`,
    rules: `# The first rule that applies decides.\n${path} contains "${word}"`,
  }, asked);
  const examples = `- event: ${given(`${field === "file_path" ? "" : "please "}${word}`)}
  expect: { deny: /${reason}/ }
- event: ${given(passes)}
`;
  return { hook, examples };
}

const EXIT_CODE = "Exit code 2 refuses, and stderr is the reason.";

/** A hook that refuses `when` its language says so; `answer` is printed in place of the reason. */
function refusing(
  lang: Exclude<Lang, "prompt">,
  event: EventName,
  reason: string,
  when: { readonly [part in "note" | "fields" | Exclude<Lang, "prompt">]: string },
  answer?: string | false,
): string {
  return {
    ts: `import type { ${pascal(event)}Hook } from "crochet";

const hook: ${pascal(event)}Hook = ({ ${when.fields} }) => {
${when.ts}
  return { action: "deny", reason: ${JSON.stringify(reason)} };
};
export default hook;
`,
    sh: `#!/bin/sh
# ${when.note}
case $(cat) in
  ${when.sh} ${answer ? `echo '${answer}'` : `echo "${reason}" >&2; exit 2`} ;;
esac
`,
    py: `${python(when.note)}if ${when.py}:
    print(${answer ? `'${answer}')` : `"${reason}", file=sys.stderr)\n    sys.exit(2)`}
`,
    rules: `${when.rules} -> deny("${reason}")\n`,
  }[lang];
}

function python(note: string): string {
  return `#!/usr/bin/env python3
# ${note}
import json
import sys

event = json.load(sys.stdin)
`;
}

/** A model that is asked, with what it may say and what then happens. */
function judged(about: string, reason: string): NewHook {
  return {
    hook: `---\ntimeout: 30\nnondeterministic: true\n---\n${about} Otherwise continue.\n`,
    examples: `- name: refuses what the judge refuses
  says: '{"ok": false, "reason": "${reason}"}'
  expect: { deny: /${reason}/ }
- name: lets pass what the judge lets pass
  says: '{"ok": true}'
`,
  };
}

const ONCE = "Asked once: a hook that never lets go keeps the agent forever.";

function atStop(lang: Lang): NewHook {
  const reason = "Say what you tested";
  if (lang === "prompt") {
    const about = `An agent wants to stop. It says: {{last_assistant_message}}

Deny it if it does not say what it tested, unless it was sent back before ({{stop_hook_active}}).`;
    return judged(about, reason);
  }
  const hook = refusing(lang, "stop", reason, {
    note: `${EXIT_CODE} ${ONCE}`,
    fields: "last_assistant_message, stop_hook_active",
    ts: `  // ${ONCE}\n  if (stop_hook_active || /tested/i.test(last_assistant_message)) return;`,
    sh: `*'"stop_hook_active":true'* | *tested*) ;;\n  *)`,
    py: 'not event.get("stop_hook_active") and "tested" not in (event.get("last_assistant_message") or "")',
    rules: `# ${ONCE}\nstop_hook_active equals "false" and not last_assistant_message contains "tested"`,
  });
  const examples = `- event: { last_assistant_message: "Done" }
  expect: { deny: /${reason}/ }
- event: { last_assistant_message: "Done, and tested by npm test" }
- event: { last_assistant_message: "Done", stop_hook_active: true }
`;
  return { hook, examples };
}
