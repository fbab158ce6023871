import type { RunEvent } from "../core/run-events.ts";
import { DESK } from "./_wire.ts";

/** How long events are gathered before they are sent. */
const EVERY_MS = 100;

/** Sends the events of a session to its followers, outside its journal: an event that is late or lost changes nothing. */
export class Feed {
  readonly #url: string | undefined;
  #events: RunEvent[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;
  #sent: Promise<void> = Promise.resolve();

  constructor(ingress: string | undefined, session: string) {
    this.#url = ingress && `${ingress.replace(/\/$/, "")}/${DESK}/${encodeURIComponent(session)}/tell`;
  }

  tell(event: RunEvent): void {
    if (!this.#url) return;
    const last = this.#events.at(-1);
    if (event.type === "text" && last?.type === "text" && last.agent_id === event.agent_id) {
      this.#events[this.#events.length - 1] = { ...last, text: last.text + event.text };
    } else this.#events.push(event);
    this.#timer ??= setTimeout(() => void this.flush(), EVERY_MS);
  }

  /** Sends what is there; with `last`, nothing more will come. */
  flush(last = false): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const events = this.#events.splice(0);
    if (!this.#url || (events.length === 0 && !last)) return this.#sent;
    const url = this.#url;
    return this.#sent = this.#sent.then(async () => {
      const body = JSON.stringify({ events, last });
      const headers = { "content-type": "application/json" };
      await fetch(url, { method: "POST", headers, body, signal: AbortSignal.timeout(10_000) })
        .then((response) => response.body?.cancel())
        .catch(() => {}); // a run whose ingress is gone has no followers
    });
  }
}
