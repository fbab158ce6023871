import type { Flags, TypedFlags } from "./flags.ts";
import { UsageError } from "./io.ts";

/** The words before `--`, and the command behind it, if there is one. @throws {UsageError} if nothing is behind it */
export function commandBehind(
  { args, words }: TypedFlags,
  example: string,
): Pick<Flags, "words"> & { readonly command?: readonly string[] } {
  const at = args.indexOf("--");
  if (at < 0) return { words };
  const command = args.slice(at + 1);
  if (command.length > 0) return { words: words.slice(0, words.length - command.length), command };
  throw new UsageError(`Cannot run a command as none is named: put it behind '--', as in ${example}`);
}

/** @throws {UsageError} if a flag is given that is of the other kind: ignored, it would seem to have had an effect */
export function refuseOther(flags: Flags["flags"], names: readonly string[], why: string): void {
  const given = names.find((name) => flags[name.replace(/-(\w)/g, (_, c: string) => c.toUpperCase())] !== undefined);
  if (given !== undefined) throw new UsageError(`Cannot use --${given} ${why}`);
}
