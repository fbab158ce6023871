import { helpText, readFlags, type Usage } from "../_flags.ts";
import { type Command, EXIT } from "../_io.ts";
import { noteEvent } from "../../monitor/note.ts";

const USAGE: Usage = {
  name: "agent hook",
  words: "<event> <id>",
  about: "Notes an event of a watched agent: its JSON on stdin, nothing on stdout, exit code 0 whatever happens. " +
    "Events: pretooluse, posttooluse, userpromptsubmit, notification, stop, sessionend.",
  flags: [],
  example: `echo '{"tool_name":"ExitPlanMode"}' | crochet agent hook pretooluse fixer`,
};

const hook: Command = async (args, io) => {
  if (args[0]?.startsWith("-")) {
    await readFlags(USAGE, args);
    io.out(helpText(USAGE));
  } else await noteEvent(args, io.env);
  return EXIT.ok;
};
export default Object.assign(hook, { usage: USAGE });
