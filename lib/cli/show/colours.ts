const NAMES = ["bold", "dim", "red", "green", "yellow", "magenta", "cyan"] as const;

export type Colours =
  & { readonly [name in typeof NAMES[number]]: (text: string) => string }
  & { readonly coloured: boolean };

/** Colours where a person watches and has not asked for none. */
export function coloursFor(terminal: boolean, env: Readonly<Record<string, string | undefined>>): Colours {
  const coloured = terminal && !env.NO_COLOR && env.TERM !== "dumb";
  const ink = coloured ? styled : () => String;
  return { ...Object.fromEntries(NAMES.map((name) => [name, ink(name)])), coloured } as Colours;
}

function styled(name: typeof NAMES[number]): (text: string) => string {
  // Loading it takes longer than all else a command in a pipe does to show something.
  const { styleText } = process.getBuiltinModule("node:util");
  return (text) => styleText(name, text, { validateStream: false });
}
