import { spawn, spawnSync } from "node:child_process";
import { join } from "node:path";
import xterm from "@xterm/headless";
import { scratch } from "./_scratch.ts";
import { isAlive } from "./_until.ts";

/** Why there is no pseudo-terminal here; util-linux's `script` makes one. */
export const NO_PTY: string | undefined =
  /util-linux/.test(spawnSync("script", ["--version"], { encoding: "utf8" }).stdout ?? "")
    ? undefined
    : "there is no script of util-linux here to open a pseudo-terminal";

export interface PtyOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly columns?: number;
  readonly rows?: number;
  /** Put behind the command, for the shell that starts it. */
  readonly behind?: string;
}

const quoted = (word: string) => `'${word.replaceAll("'", "'\\''")}'`;

/** A program in a real pseudo-terminal, and what a person would see there: an xterm draws it. */
export class Pty implements AsyncDisposable {
  /** Everything it sent, as it sent it. */
  raw = "";
  /** Its exit code, once it has one. */
  code: number | undefined;
  readonly #folder = scratch();
  readonly #pidFile = join(this.#folder.path, "pid");
  readonly #child: ReturnType<typeof spawn>;
  readonly #terminal: InstanceType<typeof xterm.Terminal>;
  readonly #ended: Promise<void>;

  constructor(command: readonly string[], options: PtyOptions) {
    const { columns = 80, rows = 40, behind = "" } = options;
    this.#terminal = new xterm.Terminal({ cols: columns, rows, scrollback: 5000, allowProposedApi: true });
    const line = `echo $$ > ${quoted(this.#pidFile)}; stty cols ${columns} rows ${rows}; ${
      behind === "" ? "exec " : ""
    }${command.map(quoted).join(" ")} ${behind}`;
    this.#child = spawn("script", ["-qfec", line, "/dev/null"], {
      cwd: options.cwd,
      env: {
        PATH: process.env.PATH,
        DENO_DIR: process.env.DENO_DIR,
        TERM: "xterm-256color",
        SHELL: "/bin/sh",
        ...options.env,
      },
      stdio: ["pipe", "pipe", "pipe"],
    });
    this.#child.stdin!.on("error", () => {});
    this.#child.stdout!.on("data", (chunk: Uint8Array) => {
      this.raw += new TextDecoder().decode(chunk);
      this.#terminal.write(chunk);
    });
    this.#ended = new Promise((resolve) =>
      this.#child.once("close", (code) => {
        this.code = code ?? -1;
        resolve();
      })
    );
  }

  send(keys: string): void {
    this.#child.stdin!.write(keys);
  }

  /** Every row with something on it, scrolled away or not. */
  async screen(): Promise<string> {
    await new Promise<void>((drawn) => this.#terminal.write("", drawn));
    const { active } = this.#terminal.buffer;
    const rows = Array.from({ length: active.length }, (_, i) => active.getLine(i)!.translateToString(true));
    return rows.join("\n").trimEnd();
  }

  /** Waits until the screen shows that; gives the screen. */
  async until(pattern: RegExp, { within = 180_000 } = {}): Promise<string> {
    const end = Date.now() + within;
    for (;;) {
      const screen = await this.screen();
      if (pattern.test(screen)) return screen;
      if (Date.now() > end || this.code !== undefined) {
        throw new Error(`Cannot see ${pattern} on the screen (exit code ${this.code}):\n${screen}`);
      }
      await new Promise((resolve) => setTimeout(resolve, 25));
    }
  }

  /** Waits for the end of the program; its exit code. */
  async end(): Promise<number> {
    await this.#ended;
    return this.code!;
  }

  /** Takes the terminal away, as a window that is closed does. */
  async hangUp(): Promise<void> {
    this.#child.kill("SIGKILL");
    await this.#ended;
  }

  /** Also waits for a program whose terminal was taken away: it still writes what it must keep. */
  async [Symbol.asyncDispose](): Promise<void> {
    if (this.code === undefined) await this.hangUp();
    const end = Date.now() + 20_000;
    while (isAlive(this.#pidFile) && Date.now() < end) await new Promise((resolve) => setTimeout(resolve, 25));
    this.#folder[Symbol.dispose]();
    this.#terminal.dispose();
  }
}
