import { type Redactor, redactor } from "../../log/redact/redact.ts";
import type { Io } from "./io.ts";
import { harmless, openText } from "../show/text.ts";

/** Where a command reports. What it shows of a run, of files or of other programs goes out by these ways alone. */
export interface Reporter extends Io {
  /** One value, as a line of JSON. */
  readonly data: (value: unknown) => void;
  /** A value without secrets, for what is cut before it is shown. */
  readonly hide: Redactor["value"];
  /** Hides a value that nothing here gives away, such as one that a log names. */
  readonly learn: Redactor["learn"];
}

// deno-lint-ignore no-control-regex
const COLOUR = /\u001b\[\d{0,3}m/g;
/** Stands for a colour while secrets are looked for: a blank, which `harmless` leaves nowhere else. */
const STAND_IN = "\v";

/** Hides secrets and makes control codes visible in all that is reported; our own colours stay, on a terminal. */
export function reporting(io: Io, root: string): Reporter {
  let made: Redactor | undefined;
  const search = () => made ??= redactor({ env: io.env, root });
  const shown = (text: string) => {
    const plain = harmless(text);
    const colours = plain.match(COLOUR) ?? [];
    const hidden = search().text(plain.replace(COLOUR, (colour) => io.tty ? STAND_IN : openText(colour)));
    return hidden.replaceAll(STAND_IN, () => colours.shift() ?? "");
  };
  return {
    ...io,
    out: (text) => io.out(shown(text)),
    err: (text) => io.err(shown(text)),
    data: (value) => io.out(`${harmless(JSON.stringify(search().value(value)))}\n`),
    hide: (value) => search().value(value),
    learn: (...secret) => search().learn(...secret),
  };
}
