import { LOG_VERSION } from "../lib/log/read-log.ts";

/** The text of a log whose run reported these events, each at its time or when it began. */
export function logText(id: string, events: readonly object[], began = "2026-11-01T10:00:00.000Z"): string {
  const header = { log: LOG_VERSION, id, cwd: "/w", at: began, seed: "", versions: {} };
  const notes = (events as readonly { at?: string }[]).map(({ at = began, ...note }) => (
    { note, at: Date.parse(at) - Date.parse(began) }
  ));
  return [header, ...notes].map((line) => `${JSON.stringify(line)}\n`).join("");
}
