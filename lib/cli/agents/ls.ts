import { agentsDir } from "../../monitor/log.ts";
import { allStandings, hasEnded, type Standing } from "../../monitor/standing.ts";
import { command, type Usage } from "../_flags.ts";
import { EXIT, type Io } from "../_io.ts";
import { coloursFor } from "../show/colours.ts";
import { agentsTable } from "./_table.ts";

const USAGE: Usage = {
  name: "agents ls",
  words: "",
  about: "Shows our own runs and the agents that are watched: what each is doing, since when, and what it asks.",
  flags: [
    ["--watch", "keep showing; q or Ctrl-C ends it"],
    ["--all", "those that have ended too"],
    ["--json", "print data"],
  ],
  example: "crochet agents",
};

const NONE = "no agents are at work: 'crochet run' starts one, 'crochet agent --help' tells how to watch others\n";

export default command(USAGE, async ({ flags }, io) => {
  const look = () => standings(io, flags.all === true);
  const json = flags.json === true;
  if (flags.watch && io.tty && !json) return await (await import("./_watch.ts")).watchAgents(look, io);
  const show = () => {
    const rows = look();
    if (json) return `${JSON.stringify(rows)}\n`;
    const columns = io.tty ? process.stdout.columns : Infinity;
    return rows.length === 0 ? NONE : agentsTable(rows, { columns, colours: coloursFor(io.tty, io.env) });
  };
  if (flags.watch) return await follow(show, io);
  io.out(show());
  return EXIT.ok;
});

function standings(io: Io, all: boolean): Standing[] {
  return allStandings(agentsDir(io.env)).filter((one) => all || !hasEnded(one));
}

const EVERY_MS = 500;

/** For another program: a look whenever something has changed. */
async function follow(show: () => string, io: Io): Promise<number> {
  let last = "";
  while (!io.signal.aborted) {
    const now = show();
    if (now !== last) io.out(now);
    last = now;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(resolve, EVERY_MS);
      io.signal.addEventListener("abort", () => {
        clearTimeout(timer);
        resolve();
      }, { once: true });
    });
  }
  return EXIT.interrupted;
}
