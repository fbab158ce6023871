import { contentText } from "../core/messages.ts";
import { nearest } from "../input/nearest.ts";
import { type Tool, ToolError } from "../core/tool.ts";
import { command, inLines, type Usage } from "./kit/flags.ts";
import { EXIT, UsageError } from "./kit/io.ts";
import { projectOf } from "./kit/project.ts";

const USAGE: Usage = {
  name: "tool",
  words: "<Name> [json]",
  about: "Runs one tool by hand and prints what the model would read; exit 1 if it is an error.",
  flags: [
    ["--cwd <dir>", "where the tool works"],
    ["--json", "print the structured result that hooks read"],
  ],
  example: `crochet tool Bash '{"command":"echo hi"}'`,
  more: async () => `\nTools\n  ${inLines([...(await toolsByName()).keys()].join(", "), 2)}\n`,
};

export default command(USAGE, async ({ words, flags }, io) => {
  const [name = "", json = "{}"] = words;
  const tools = await toolsByName();
  const found = tools.get(name);
  if (!found) {
    throw new UsageError(
      `Cannot run tool '${name}' as there is no such tool: did you mean '${nearest(name, [...tools.keys()])}'?`,
    );
  }
  const input = parse(json);
  const cwd = projectOf(flags, io);
  const { standaloneContext } = await import("../tools/standalone.ts");
  const context = standaloneContext(name, input, { cwd, signal: io.signal });
  try {
    const parsed = await found.parse(input);
    const output = await found.run(found.prepare?.(parsed, { cwd }) ?? parsed, context);
    const { content, response = undefined, isError = false } = typeof output === "string" || Array.isArray(output)
      ? { content: output }
      : output as Exclude<typeof output, readonly unknown[] | string>;
    const code = isError ? EXIT.failed : EXIT.ok;
    return { data: response ?? content, text: `${contentText(content)}\n`, code };
  } catch (error) {
    const { message } = error as Error;
    const code = error instanceof ToolError ? error.code : "invalid_input";
    if (flags.json) io.data({ error: message, code });
    else io.err(`${message}\n`);
    return EXIT.failed;
  } finally {
    const { closeShell } = await import("../tools/bash.ts");
    await closeShell(context.state);
  }
});

async function toolsByName(): Promise<Map<string, Tool>> {
  const all = Object.values(await import("../tools/index.ts"));
  const tools = all.filter((t): t is Tool => typeof t === "object" && t !== null && "input_schema" in t);
  return new Map(tools.map((t) => [t.name, t]));
}

function parse(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch (error) {
    throw new UsageError(`Cannot read the tool's input as it is not JSON: ${(error as Error).message}`);
  }
}
