import { planUninstall } from "../../hooks/install.ts";
import { command, type Usage } from "../_flags.ts";
import { EXIT } from "../_io.ts";
import { finish, FLAGS, readAsked } from "./_install.ts";

const USAGE: Usage = {
  name: "hooks uninstall",
  words: "[folder]",
  about: "Takes the hooks of ./hooks, or of another folder, out of the settings of another host again.",
  flags: FLAGS,
  example: "crochet hooks uninstall --for claude --dry-run",
};

export default command(USAGE, async (read, io) => {
  const asked = readAsked(read, io);
  finish(await planUninstall(asked.folder, asked.place), asked, read.flags, io, "restored");
  return EXIT.ok;
});
