/** Writes `hosts.md` from the tables of hosts: `bun run docs/hosts.ts`. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { EVENT_NAMES, resolveEvent } from "../lib/core/names.ts";
import { HOST_NAMES, hostEvent, type HostName, HOSTS, isTried } from "../lib/hooks/hosts/index.ts";

const TITLES: { readonly [H in HostName]: string } = {
  ...{ claude: "Claude Code", codex: "Codex", gemini: "Gemini CLI", copilot: "Copilot CLI", cursor: "Cursor" },
  ...{ qwen: "Qwen Code", opencode: "opencode", pi: "pi", vscode: "VS Code" },
};

const code = (text: string) => `\`${text}\``;
const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [row(head), `|${"---|".repeat(head.length)}`, ...rows.map(row)].join("\n");

/** The page, whole. */
export function hostsPage(): string {
  return [
    "# What each host does",
    "Made by `bun run docs/hosts.ts` from the tables in `lib/hooks/hosts`, which `hooks install`, `crochet hook` and `hooks check --for` use.\n" +
    "A row names the release of the host in which a run has fired the event; what no run has shown is marked *by its documents*, and `hooks install` says so.\n" +
    "An event that is not listed for a host does not exist there: `hooks install` leaves its hooks out and names them ([Other hosts](other-hosts.md)).",
    table(
      ["host", "settings", "new input of a call", "an unknown key in an answer", "Stop hooks"],
      HOST_NAMES.map((host) => {
        const { settings, answers, commands, stopCap } = HOSTS[host];
        return [
          `${TITLES[host]} (${code(host)})`,
          settings.files.map(code).join(", "),
          answers.mergesInput ? "is merged into the old one" : "replaces the old one",
          commands?.strict ? "drops the answer" : "is ignored",
          stopCap === undefined ? "are limited by the host" : `may send the agent back ${stopCap} times`,
        ];
      }),
    ),
    ...HOST_NAMES.map((host) => `## ${TITLES[host]}\n\n${eventsOf(host)}${toolsOf(host)}`),
    "",
  ].join("\n\n").replace(/\n+$/, "\n");
}

function eventsOf(host: HostName): string {
  const { events } = HOSTS[host];
  const rows = EVENT_NAMES.flatMap((name) => {
    const theirs = hostEvent(host, name);
    if (theirs === undefined) return [];
    const can = events[theirs]!.can ?? events[hostEvent(host, resolveEvent(name)!.event) ?? ""]?.can ?? [];
    const seen = isTried(host, theirs) ? HOSTS[host].tried!.version : "*by its documents*";
    return [[code(name), code(theirs), can.join(", ") || "only look", seen]];
  });
  return table(["hook", "event of the host", "it can", "tried with"], rows);
}

/** Its tools, if their names differ from ours. */
function toolsOf(host: HostName): string {
  const names = Object.entries(HOSTS[host].tools).filter(([theirs, ours]) => theirs !== ours);
  return names.length === 0
    ? ""
    : `\n\nTools: ${names.map(([theirs, ours]) => `${code(ours)} is ${code(theirs)}`).join(", ")}.`;
}

if (import.meta.main) writeFileSync(fileURLToPath(new URL("./hosts.md", import.meta.url)), hostsPage());
