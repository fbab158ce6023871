import { existsSync } from "node:fs";
import { findFixture, type Fixture } from "../../replay/fixture.ts";
import { type Io, UsageError } from "../_io.ts";
import type { Flags } from "../_flags.ts";
import { noFixture } from "../_fixtures.ts";

/** The words before `--`, and the command after it. */
export function commandAsked(args: readonly string[], words: readonly string[], example: string): {
  readonly words: readonly string[];
  readonly command: readonly string[];
} {
  const at = args.indexOf("--");
  const command = at < 0 ? [] : args.slice(at + 1);
  if (command.length === 0) {
    throw new UsageError(`Cannot run a command as none is named: put it behind '--', as in ${example}`);
  }
  return { words: words.slice(0, words.length - command.length), command };
}

/** Whether MCP servers run for real. */
export function mcpAsked({ mcp }: Flags["flags"]): "live" | undefined {
  if (mcp === undefined || mcp === "live") return mcp;
  throw new UsageError(`Cannot use MCP servers '${mcp}': write --mcp live, or leave it out`);
}

/** The fixture that is named, which must be there. */
export function fixtureAsked(words: readonly string[], { cwd }: Io, example: string): Fixture {
  const [name] = words;
  if (name === undefined || words.length > 1) {
    throw new UsageError(`Cannot serve ${words.length} tapes: name one, as in ${example}`);
  }
  const fixture = findFixture(name, cwd);
  if (existsSync(fixture.tape)) return fixture;
  throw noFixture("serve", name, cwd, `crochet tape record --fixture ${name} -- <command>`);
}

/** Runs a command; one that is missing is a usage error. */
export async function started<T>(command: readonly string[], run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    const { code } = error as { code?: string };
    if (code !== "ENOENT" && code !== "EACCES") throw error;
    throw new UsageError(
      `Cannot run '${command[0]}' as ${code === "ENOENT" ? "there is no such command" : "it may not be run"}`,
    );
  }
}
