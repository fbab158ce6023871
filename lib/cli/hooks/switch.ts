import { nearest } from "../../input/nearest.ts";
import { Switches } from "../../hooks/switches.ts";
import { hooksHere } from "../kit/find-hooks.ts";
import { command, type Usage } from "../kit/flags.ts";
import { type Command, UsageError } from "../kit/io.ts";

/** The commands that switch a hook on or off in a project, from its next event on. */
function switchCommand(to: "enable" | "disable"): Command {
  const usage: Usage = {
    name: `hooks ${to}`,
    words: "<name>",
    about: `Switches a hook ${to === "enable" ? "on" : "off"} in this project, from its next event on.`,
    flags: [["--json", "print JSON"]],
    example: `crochet hooks ${to} stop.tests-pass.ts`,
  };
  return command(usage, async ({ words, flags }, io) => {
    const name = words[0]!;
    const { cwd } = io;
    const { listed, unloaded } = await hooksHere(cwd, flags, io);
    const names = [...listed.map(({ record }) => record.name), ...unloaded.map((one) => one.name)];
    if (!names.includes(name)) {
      const near = nearest(name, names);
      const hint = near === undefined ? "there are no hooks here" : `did you mean '${near}'?`;
      throw new UsageError(`Cannot ${to} '${name}' as there is no such hook here: ${hint}`);
    }
    new Switches(cwd, io.env).set(name, to === "enable");
    return { data: { name, enabled: to === "enable" }, text: `${name} is ${to}d here\n` };
  });
}

export const enable = { default: switchCommand("enable") };
export const disable = { default: switchCommand("disable") };
