import { HookFolder } from "../../hooks/folder.ts";
import { planInstall } from "../../hooks/install.ts";
import { distrust } from "../../hooks/trust.ts";
import { command, type Usage } from "../_flags.ts";
import { EXIT } from "../_io.ts";
import { finish, FLAGS, readAsked } from "./_install.ts";

const USAGE: Usage = {
  name: "hooks install",
  words: "[folder]",
  about:
    "Writes the hooks of ./hooks, or of another folder, into the settings of another host, at the ends of its lists.",
  flags: FLAGS,
  example: "crochet hooks install --for claude --dry-run",
};

export default command(USAGE, async (read, io) => {
  const asked = readAsked(read, io);
  const { folder, typed, place } = asked;
  const refused = typed ? undefined : distrust(place.cwd, "hooks", io.env);
  if (refused !== undefined) throw new Error(`Cannot install the hooks as ${refused}`);
  const hooks = new HookFolder(folder, { host: { projectDir: place.cwd, env: io.env } });
  const records = await hooks.load();
  if (hooks.problems.length > 0) throw new Error(hooks.problems.map((problem) => problem.message).join("\n"));
  const plan = await planInstall(hooks.files.map((file, i) => ({ file, record: records[i]! })), place);
  finish(plan, asked, read.flags, io, "written");
  return EXIT.ok;
});
