/** Writes `hosts.md` from the tables of hosts: `bun run docs/hosts.ts`. */
import { writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { EVENT_NAMES, resolveEvent } from "../lib/core/names.ts";
import { reaching } from "../lib/hooks/hosts/channel.ts";
import { HOST_NAMES, hostEvent, type HostName, HOSTS, isTried } from "../lib/hooks/hosts/index.ts";

const code = (text: string) => `\`${text}\``;
const row = (cells: readonly string[]) => `| ${cells.join(" | ")} |`;
const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [row(head), `|${"---|".repeat(head.length)}`, ...rows.map(row)].join("\n");

/** What a model does by channels that differ from host to host. */
const CHANNELS = ["Bash", "Edit", "Write", "Read", "Glob", "Grep", "Agent"];

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
          `${HOSTS[host].title} (${code(host)})`,
          settings.files.map(code).join(", "),
          answers.mergesInput ? "is merged into the old one" : "replaces the old one",
          commands?.strict ? "drops the answer" : "is ignored",
          stopCap === undefined ? "are limited by the host" : `may send the agent back ${stopCap} times`,
        ];
      }),
    ),
    "A hook for one of our tools is asked about these tools of the host, in our words ([how](other-hosts.md#what-a-hook-is-asked-about)).",
    table(
      ["host", ...CHANNELS.map(code), "no hook sees"],
      HOST_NAMES.map((host) => {
        const { title, channels, unseen = {} } = HOSTS[host];
        const theirs = CHANNELS.map((tool) => reaching(channels, (ours) => ours === tool).map(code).join(", ") || "–");
        return [title, ...theirs, Object.entries(unseen).map(([way, what]) => `${way}: ${what}`).join("; ") || "–"];
      }),
    ),
    ...HOST_NAMES.map((host) => `## ${HOSTS[host].title}\n\n${eventsOf(host)}`),
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

if (import.meta.main) writeFileSync(fileURLToPath(new URL("./hosts.md", import.meta.url)), hostsPage());
