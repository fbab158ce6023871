import { Lane } from "./asking/lane.ts";
import { fillFor } from "./asking/fill-for.ts";
import type { Checked } from "./engine.ts";
import type { Session } from "./session.ts";
import type { Subject } from "./subject.ts";

/** Checks one hook: what holds it to the laws is loaded while its process starts. */
export async function checkSubject(subject: Subject, session: Session): Promise<Checked> {
  const lane = subject.skip === undefined ? laneFor(subject, session) : undefined;
  const interrupt = () => lane?.shut();
  session.signal.addEventListener("abort", interrupt, { once: true });
  try {
    lane?.start();
    if (lane) await fillFor(subject, lane.place);
    const opening = lane && { lane, loading: lane.open().catch((error: Error) => error) };
    const { holdToLaws } = await import("./engine.ts");
    return await holdToLaws(subject, session, opening);
  } finally {
    session.signal.removeEventListener("abort", interrupt);
    lane?.close();
  }
}

function laneFor(subject: Subject, session: Session): Lane {
  const place = session.scratch.place();
  return new Lane({
    target: subject.target,
    place,
    host: subject.host,
    env: session.env,
    more: {
      ...session.secrets,
      ...subject.env,
      ...("CLAUDE_PLUGIN_DATA" in subject.env && { CLAUDE_PLUGIN_DATA: place.tmp }),
    },
    confine: session.confine,
    visible: subject.visible,
  });
}
