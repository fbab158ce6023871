import { isObject } from "../../core/json.ts";
import { COMMANDS } from "../arbitraries/commands.ts";
import { FILES } from "../arbitraries/texts.ts";
import { lookedFor, type Probe } from "./events.ts";
import type { Place } from "./asking/probe.ts";

type Fields = { readonly [field: string]: unknown };

/** Fields whose text is free: what an agent or a person writes. */
const TEXTS = [
  "command",
  "description",
  "prompt",
  "content",
  "old_string",
  "new_string",
  "last_assistant_message",
  "message",
  "task",
  "pattern",
  "url",
];

/** The same with other texts in it; lists are left as they are. */
function withTexts(value: unknown, change: (text: string, field: string) => string, field = ""): unknown {
  if (typeof value === "string") return change(value, field);
  if (!isObject(value)) return value;
  return Object.fromEntries(Object.entries(value).map(([name, inner]) => [name, withTexts(inner, change, name)]));
}

/** Events whose texts leave a mark where a shell gets to run them, in each of the ways texts are put into commands. */
export function canaries(plain: readonly Probe[], { canary, project }: Place): Probe[] {
  const touch = `touch ${canary}`;
  const payload = `x $(${touch}) \`${touch}\` ; ${touch} ; '; ${touch}; ' "; ${touch}; "`;
  const change = (text: string, field: string) => {
    if (field === "transcript_path" || field === "cwd") return text;
    return /path/.test(field) ? `${project}/${payload}` : TEXTS.includes(field) ? payload : text;
  };
  return plain.slice(0, 4).map((probe) => ({ ...probe, event: withTexts(probe.event, change) as Fields }));
}

/** What breaks answers that are put together of pieces. */
const STRANGE = [
  ' "quoted"',
  " it's",
  "\nsecond line",
  " back\\slash",
  " größer 数据 🧶",
  " $(x) `y` $HOME",
  " %s %d",
];

/** The event again and again, with something strange in its texts. */
export function laced(probe: Probe): Probe[] {
  return STRANGE.map((strange) => {
    const change = (text: string, field: string) => TEXTS.includes(field) ? `${text}${strange}` : text;
    return { ...probe, event: withTexts(probe.event, change) as Fields };
  });
}

/** Events of a host whose conversation was never written down. */
export function unwritten(plain: readonly Probe[], { transcript }: Place): Probe[] {
  const [first] = plain.filter(({ event }) => event.transcript_path === transcript);
  if (!first) return [];
  const path = transcript.replace(/[^/]*$/, "not-there.jsonl");
  return [{ ...first, event: { ...first.event, transcript_path: path } }];
}

/** What looks for secrets finds here; none of them opens anything. */
const SECRETS = [
  `aws_access_key_id = "AKIA${"IOSFODNN7EXAMPLE"}"\npassword = "${"hunter2".repeat(3)}"\n`,
  `const token = "ghp_${"a1B2c3".repeat(6)}", key = "sk-ant-api03-${"x9Y8z7".repeat(8)}";\n`,
  `-----BEGIN ${"RSA PRIVATE"} KEY-----\nMIIEow\n`,
];

/** Calls that guards are there for, of the tools the hook is asked about. */
export function dangers(
  plain: readonly Probe[],
  { project }: Place,
  { wire, text }: { wire: boolean; text: string },
): Probe[] {
  const words = lookedFor({ text });
  const key = wire ? "tool_input" : "input";
  return plain.flatMap((probe) => {
    const input = probe.event[key] as Fields | undefined;
    const made = (field: string, text: string): Probe => {
      const changed = { ...input, [field]: text };
      return { ...probe, event: { ...probe.event, [key]: changed, ...(!wire && { original_input: changed }) } };
    };
    switch (probe.event.tool_name) {
      case "Bash":
        return [...words, ...COMMANDS].map((command) => made("command", command));
      case "Edit":
      case "Write":
        return [
          ...SECRETS.map((secret) => made(probe.event.tool_name === "Edit" ? "new_string" : "content", secret)),
          ...[...words.filter((word) => /^[\w.][^\s]*$/.test(word)), ...FILES].map((file) =>
            made("file_path", `${project}/${file}`)
          ),
        ];
      default:
        return [];
    }
  });
}
