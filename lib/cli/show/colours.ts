import pc from "picocolors";

export type Colours = ReturnType<typeof pc.createColors>;

/** Colours where a person watches and has not asked for none. */
export function coloursFor(terminal: boolean, env: Readonly<Record<string, string | undefined>>): Colours {
  return pc.createColors(terminal && !env.NO_COLOR && env.TERM !== "dumb");
}
