import type { Environment } from "../hooks/file/places.ts";
import { jsonlStore } from "../transcript/jsonl.ts";
import type { Listed, TranscriptStore } from "../transcript/store.ts";
import { UsageError } from "./_io.ts";
import { runsDir } from "./_project.ts";

/** The transcripts of a project, as `crochet run` keeps them. */
export function projectStore(cwd: string, env: Environment, warn: (message: string) => void): TranscriptStore {
  return jsonlStore(runsDir(cwd, env), {
    onTorn: (id, bytes) => warn(`The last line of session ${id} was torn by a crash: ${bytes} bytes are left out`),
  });
}

/** What is stored, the newest session first. */
export async function storedSessions(store: TranscriptStore): Promise<Listed[]> {
  const created = ({ about }: Listed) => about?.created ?? "";
  return (await store.list()).sort((a, b) => created(b).localeCompare(created(a)));
}

/** The sessions that no other session started: those a person can resume. */
export async function ownSessions(store: TranscriptStore): Promise<Listed[]> {
  return (await storedSessions(store)).filter(({ about }) => about?.parent === undefined);
}

/** The session that `last` means. */
export async function lastId(store: TranscriptStore): Promise<string> {
  const [newest] = await ownSessions(store);
  if (!newest) throw new UsageError("Cannot find the last session as none is stored here: run one first");
  return newest.id;
}
