import type { Example } from "../examples/example.ts";
import { inputOf, type Probe, withInput } from "../sample-events.ts";
import type { ScratchFolders } from "../scratch-project.ts";
import type { Violation } from "../check-report.ts";
import type { Probed } from "../subject.ts";
import { guarded } from "./guard.ts";
import { violationsOf } from "./judged.ts";

const { fault, warning } = violationsOf("guard", "guard");

/** Commands that agents run all day, some with a dangerous word in them that does nothing there. */
export const EVERYDAY_COMMANDS: readonly string[] = [
  ...["ls -la", "pwd", "cat README.md", "git status", "git diff", "git log --oneline -5"],
  ...["npm test", "npm run format", "npm run test:unit", "mkdir -p src/latest", "grep -rn 'rm -rf' docs"],
  ...["git commit -m 'Remove the push button'", "node src/app.ts"],
];
export const EVERYDAY_FILES: readonly string[] = ["src/app.ts", "README.md", "test/app.test.ts"];

/** The everyday calls of the tools that a guard is asked about. */
export function everydayCalls(plain: readonly Probe[], { project }: ScratchFolders): Probe[] {
  return plain.flatMap((probe) => {
    const { field } = guarded(probe) ?? {};
    if (field === undefined) return [];
    const texts = field === "command" ? EVERYDAY_COMMANDS : EVERYDAY_FILES.map((file) => `${project}/${file}`);
    return texts.map((text) => withInput(probe, { [field]: text }));
  });
}

/** What is wrong with a guard that denies everyday calls, unless its examples say that it means to. */
export function overBlocking(
  calls: readonly Probe[],
  answers: ReadonlyMap<Probe, Probed>,
  examples: readonly Example[],
  { project }: ScratchFolders,
): Violation | undefined {
  const shown = (probe: Probe) => guarded(probe)!.text.replace(`${project}/`, "");
  const asked = calls.filter((probe) => answers.has(probe));
  const refused = asked.filter((probe) => answers.get(probe)!.opinion?.decision === "deny");
  const meant = examples.filter(({ expect, given }) => expect.action === "deny" && given === undefined)
    .map(({ event }) => inputOf({ event })).map(({ command, file_path }) => command ?? file_path);
  if (asked.length > 0 && refused.length === asked.length) {
    if (meant.some((text) => text === undefined || isHarmless(String(text)))) return undefined;
    const message = `It denies all ${asked.length} everyday calls, \`${shown(asked[0]!)}\` among them`;
    const fix = "correct its condition, or give it an example that expects a denial of one of them";
    return fault("denies-everything", message, fix);
  }
  const others = refused.map(shown).filter((text) => !meant.some((one) => String(one).endsWith(text)));
  if (others.length === 0) return undefined;
  const names = [...new Set(others)].map((text) => `\`${text}\``).join(", ");
  const message = `It denies ${others.length} of ${asked.length} everyday calls: ${names}`;
  return warning("over-blocks", message, "look at whole words and at the command's name, not at any text in the line");
}

function isHarmless(text: string): boolean {
  return EVERYDAY_COMMANDS.includes(text) || EVERYDAY_FILES.some((file) => text.endsWith(file)) ||
    /^(?:ls|pwd|date|true|echo|git (?:status|diff|log)|(?:npm|bun|deno) (?:run )?test)\b[^;&|<>$`]*$/.test(text);
}
