import type { FastCheck } from "../arbitraries/fast-check.ts";
import type { Law } from "./report/report.ts";
import type { Confine } from "./asking/sandbox.ts";
import type { Scratch } from "./asking/scratch.ts";

/** What all hooks of one check have in common. */
export interface Session {
  /** Loaded when it is looked at. */
  readonly fc: FastCheck;
  /** Generated events for each hook. */
  readonly runs: number;
  readonly seed: number;
  /** Seconds a hook has at most, whatever its own limit. */
  readonly timeout: number;
  /** How often a hook may keep an agent going before it is said to loop. */
  readonly rounds: number;
  readonly laws: ReadonlySet<Law>;
  readonly cwd: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly scratch: Scratch;
  readonly confine: Confine | undefined;
  readonly secrets: { readonly [name: string]: string };
  readonly signal: AbortSignal;
  /** How a person says the same again: the flags beside path, seed and runs. */
  readonly flags: string;
  /** Is told how many events a hook was asked about so far. */
  readonly tick?: ((hook: string, runs: number) => void) | undefined;
}
