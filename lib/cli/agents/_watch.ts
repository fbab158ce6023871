import type { Standing } from "../../monitor/standing.ts";
import { EXIT, type Io } from "../_io.ts";
import { hasPerson, openKeyboard } from "../chat/terminal.ts";
import { coloursFor } from "../show/colours.ts";
import { several } from "../show/text.ts";
import { cut } from "../show/width.ts";
import { agentsTable } from "./_table.ts";

const EVERY_MS = 500;

const SCREEN_ON = "\u001b[?1049h\u001b[?25l";
const SCREEN_OFF = "\u001b[?25h\u001b[?1049l";

/** A live table on a screen of its own; what was on the terminal is there again afterwards. */
export async function watchAgents(look: () => readonly Standing[], io: Io): Promise<number> {
  const colours = coloursFor(io.tty, io.env);
  const { promise: left, resolve: leave } = Promise.withResolvers<number>();
  const { out: write } = io.draw ?? io;
  let last = "";
  const draw = () => {
    const { columns = 80, rows = 24 } = process.stdout;
    const all = look();
    const foot = cut(`${several(all.length, "agent")} · q quits`, columns);
    const lines = all.length === 0 ? ["no agents are at work"] : agentsTable(all, { columns, colours }).split("\n");
    const room = Math.max(1, rows - 2);
    const shown = lines.filter((line) => line !== "").slice(0, room);
    // Each row is written over and its rest cleared: nothing is ever blank in between.
    const frame = `\u001b[H${[...shown, "", colours.dim(foot)].map((row) => `${row}\u001b[K`).join("\r\n")}\u001b[J`;
    if (frame !== last) write(frame);
    last = frame;
  };
  const again = () => {
    last = "";
    draw();
  };
  const keyboard = hasPerson(io.tty, io.env)
    ? openKeyboard({
      onKey: (key) => {
        if (key.name === "ctrl-c" || key.text === "q") leave(EXIT.ok);
      },
      onGone: () => leave(EXIT.interrupted),
      write,
    })
    : undefined;
  const interrupted = () => leave(EXIT.interrupted);
  io.signal.addEventListener("abort", interrupted, { once: true });
  write(SCREEN_ON);
  draw();
  const timer = setInterval(draw, EVERY_MS);
  process.stdout.on("resize", again);
  try {
    return await left;
  } finally {
    clearInterval(timer);
    process.stdout.off("resize", again);
    keyboard?.close();
    write(SCREEN_OFF);
  }
}
