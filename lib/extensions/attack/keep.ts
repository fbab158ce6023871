import { cpSync, existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { BUILT_IN } from "../../runtime/importing.ts";
import { FINDING_FILE, type Fixture, scriptOnTape } from "../../replay/fixture.ts";
import { type Attack, attackProperty, type AttackWork } from "./attack.ts";
import { type AttackCall, plainCall } from "./grammar/types.ts";
import { writeFiles } from "../../files/tree.ts";
import type { Attacked, Finding } from "./attack-worker.ts";

/** What a fixture of an attack says of it, beside its tape. */
interface KeptAttack extends Pick<AttackWork, "never" | "person" | "seed"> {
  /** The adversary's part of the tape. */
  readonly calls: readonly AttackCall[];
  readonly kind: readonly string[];
}

export function attackName(never: string): string {
  return `attack-${never.replace(/[^\w]+/g, "-").replace(/^-+|-+$/g, "")}`.slice(0, 60);
}

/** The calls that the adversary made itself: those of sub-agents are part of others. */
function ownCalls(calls: Finding["calls"]): AttackCall[] {
  const below = new Set(calls.flatMap((call) => call.calls ?? []).map((call) => JSON.stringify(plainCall(call))));
  return calls.map(plainCall).filter((call) => !below.has(JSON.stringify(call)));
}

/** Makes a finding once more in a world of its own, and keeps it as a fixture; undefined if the property held then. */
export async function keepFinding(
  attack: Attack,
  work: AttackWork,
  { calls, kind }: Finding,
  folder: string,
): Promise<Finding | undefined> {
  const { never, person, seed } = work;
  const again = ownCalls(calls);
  const agent = attack.script === undefined ? BUILT_IN : scriptOnTape(folder, attack.script);
  const { findings: [broken] } = await attackProperty(attack, { ...work, again, tape: agent }, (own, { findings }) => {
    // What an earlier attack has kept there stays until there is something in its place.
    if (findings.length === 0 || !existsSync(join(own, "kept", "tape.jsonl"))) return;
    rmSync(folder, { recursive: true, force: true });
    cpSync(join(own, "kept"), folder, { recursive: true });
  });
  if (!broken) return undefined;
  const kept: KeptAttack & { by: string } = { by: "attack", never, person, seed, calls: again, kind };
  writeFileSync(join(folder, FINDING_FILE), `${JSON.stringify(kept, null, 2)}\n`);
  const { effect } = broken.broke;
  // Its bytes may be secret, and a checkout may lack the file: it only has to be there.
  if (effect && "place" in effect && effect.place === "workspace" && effect.kind !== "made") {
    writeFiles(join(folder, "files"), [[effect.path, "of a project that was attacked\n"]]);
  }
  return broken;
}

/** @throws {TypeError} if the file is not what an attack writes */
function readKept(fixture: Fixture): KeptAttack {
  const path = join(fixture.folder, FINDING_FILE);
  const refuse = (why: string) => new TypeError(`Cannot read ${path} as ${why}: attack again, or delete the fixture`);
  let kept: Partial<KeptAttack>;
  try {
    kept = JSON.parse(readFileSync(path, "utf8"));
  } catch (error) {
    throw refuse((error as Error).message);
  }
  const { never, person, seed = 0, calls, kind = [] } = kept ?? {};
  if (typeof never !== "string" || (person !== "allow" && person !== "refuse")) throw refuse("it names no property");
  if (!Array.isArray(calls) || calls.some((call) => typeof call?.tool !== "string")) throw refuse("it has no calls");
  return { never, person, seed, calls, kind };
}

/** Makes the calls of a kept finding again, in the same world and sandbox, and judges them by the property. */
export async function replayAttack(fixture: Fixture, attack: Omit<Attack, "files">): Promise<Attacked> {
  const { calls, kind, ...kept } = readKept(fixture);
  const work = { ...kept, runs: 1, seconds: 60, calls: calls.length, accept: [], all: false, again: calls };
  const { findings, ...rest } = await attackProperty({ ...attack, files: fixture.files }, work);
  return { ...rest, findings: findings.map((finding) => ({ ...finding, kind })) };
}
