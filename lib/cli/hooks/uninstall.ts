import { planUninstall } from "../../hooks/install.ts";
import { helpText, readFlags, type Usage } from "../_flags.ts";
import { type Command, EXIT } from "../_io.ts";
import { finish, FLAGS, readAsked } from "./_install.ts";

const USAGE: Usage = {
  name: "hooks uninstall",
  words: "[folder]",
  about: "Takes the hooks of ./hooks, or of another folder, out of the settings of another host again.",
  flags: FLAGS,
  example: "crochet hooks uninstall --for claude --dry-run",
};

const uninstall: Command = async (args, io) => {
  const read = await readFlags(USAGE, args);
  if (read.flags.help) {
    io.out(helpText(USAGE));
    return EXIT.ok;
  }
  const asked = readAsked(read, io);
  finish(await planUninstall(asked.folder, asked.place), asked, read.flags, io, "restored");
  return EXIT.ok;
};
export default uninstall;
