import { quietly } from "../core/json.ts";
import { readStateFile, signOf, stateFile, writeStateFile } from "../files/state.ts";
import type { HookRecord } from "../core/hook.ts";
import { type Environment, realOr } from "./file/user-places.ts";

/** The hooks that a person has switched off in a project, kept with the person: no checkout or agent switches a guard off. */
export class Switches {
  readonly #path: string;
  readonly #dir: string;
  #sign = "";
  #off: ReadonlySet<string> = new Set();

  constructor(dir: string, env: Environment) {
    this.#dir = realOr(dir);
    this.#path = stateFile("switches", this.#dir, env);
  }

  /** Looks at the file each time: a switch works on the next event, also from another terminal. */
  isOff(name: string): boolean {
    const sign = signOf(this.#path);
    if (sign !== this.#sign) {
      this.#off = sign === "" ? new Set() : this.#read();
      this.#sign = sign;
    }
    return this.#off.has(name);
  }

  set(name: string, enabled: boolean): void {
    const off = new Set(this.#read());
    if (enabled) off.delete(name);
    else off.add(name);
    writeStateFile(this.#path, `${JSON.stringify({ dir: this.#dir, disabled: [...off].sort() }, null, 2)}\n`);
    this.#sign = "";
  }

  #read(): Set<string> {
    return quietly(() => new Set<string>(JSON.parse(readStateFile(this.#path)!).disabled)) ?? new Set();
  }
}

/** The hook with its switch: off while the person says so, or the program does. */
export function switched(record: HookRecord, switches: Switches): HookRecord {
  let enabled = record.enabled;
  return Object.defineProperty({ ...record }, "enabled", {
    get: () => enabled && !switches.isOff(record.name),
    set: (value: boolean) => enabled = value,
    enumerable: true,
  });
}
