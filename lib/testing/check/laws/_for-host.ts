import type { AnyEvent } from "../../../core/events.ts";
import { kebab } from "../../../core/names.ts";
import { HOST_SETTINGS } from "../../../hooks/installing/hosts.ts";
import { fitting } from "../../../hooks/serving/to-host.ts";
import { eventName, type Judged, type Violation, violationsOf } from "./judged.ts";

const { fault, warning } = violationsOf("lawful");

/** What a hook of ours would do and the host it is to be installed in cannot: there it fails, or never runs. */
export function beyondHost({ probed: { opinion, inputs }, probe, subject: { host } }: Judged): Violation[] {
  if (host === "claude") return [];
  const event = eventName(probe);
  if (HOST_SETTINGS[host].eventOf(kebab(event).replace(/-failure$/, "")) === undefined) {
    return [fault("never-runs", `${host} has no event like ${event}: there it never runs`, "choose an event it has")];
  }
  if (!opinion) return [];
  try {
    const asked = inputs?.length ? { ...opinion, contexts: [{ text: inputs.join("\n") }] } : opinion;
    const { decision } = fitting(asked, probe.event as unknown as AnyEvent, host);
    return opinion.decision === "ask" && decision === "deny"
      ? [warning("host", `It asks, and ${host} asks nobody: there it refuses`, "deny with a reason, or let it pass")]
      : [];
  } catch (error) {
    const why = (error as Error).message.replace(/^Cannot use the answer[^:]*?as /, "");
    return [
      fault("host", `${host} cannot carry out its answer: ${why}`, `answer with what ${host} can do at ${event}`),
    ];
  }
}
