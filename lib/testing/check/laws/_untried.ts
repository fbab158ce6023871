import type { Subject } from "../subject.ts";
import type { Violation } from "./judged.ts";
import type { Keeper } from "./keepers.ts";

/** How scripts block. */
const BLOCKS = /\bexit[ (]+2\b|["']?decision["']?\s*[:=]\s*\\?["'](?:block|deny)/;
/** What ends it: the host's word, a count that is compared, a mark that is left. */
const LETS_GO =
  /stop_?hook_?active|(?:-g[te]|>=?)\s*["']?\$?\{?(?:\w*(?:max|limit)|[1-9])|\btouch\b|mark(?:er|ed)|sentinel|\bonce\b|already/i;
/** It answers other events too, and may block at those alone. */
const OTHERS = /PreToolUse|PostToolUse|UserPromptSubmit|PermissionRequest|BeforeTool/;

/** Whether the text of a hook that never blocked here can block, and has nothing in it that lets go. */
export function holdsUntried({ kind, text }: Subject): boolean {
  const code = text.replaceAll(/^\s*(?:#|\/\/).*$/gm, "");
  return kind === "command" && BLOCKS.test(code) && !LETS_GO.test(code) && !OTHERS.test(code);
}

export function untried(name: Keeper): Violation {
  const flag = name === "turn-end" ? "that its trigger is hook_input" : "stop_hook_active";
  return {
    law: "terminating",
    code: "terminating.untried",
    severity: "warning",
    message:
      `Nothing here made it block, though its text can, and it does not look at ${flag}: whether it lets go was not seen`,
    mend: `let go when it blocked before (${flag}); an example with 'given' shows the check how it comes to block`,
  };
}
