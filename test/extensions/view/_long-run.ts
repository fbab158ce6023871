/** Hooks' ledger of a call in the long run: one was asked, one passed over but for Bash. */
function ledger(tool: string): object {
  const audit = { hook: "audit.ts", opinion: {}, ms: 2 };
  const guard = tool === "Bash"
    ? { hook: "no-delete.ts", opinion: {}, ms: 1 }
    : { hook: "no-delete.ts", skipped: `matcher 'Bash' does not match '${tool}'` };
  return { ...NOTHING_SAID, runs: [guard, audit] };
}

const NOTHING_SAID = {
  decision: "continue",
  denials: [],
  modified: false,
  contexts: [],
  inputs: [],
  systemMessages: [],
  warnings: [],
};

const WORDS = "stitch loop hook yarn row chain turn slip double treble picot join skip count ".split(" ");

function prose(length: number, seed: number): string {
  let text = "";
  for (let n = seed; text.length < length; n = (n * 31 + 7) >>> 0) {
    text += WORDS[n % WORDS.length] + (n % 13 === 0 ? "\n" : " ");
  }
  return text.slice(0, length);
}

function inputOf(tool: string, i: number): object {
  if (tool === "Bash") return { command: `make test-${i}`, description: "Run a test" };
  if (tool === "Edit") return { file_path: `src/p${i % 20}.ts`, old_string: "let a = 1;", new_string: "const a = 1;" };
  return tool === "Grep" ? { pattern: `needle-${i}` } : { file_path: `src/p${i % 20}.ts` };
}

function responseOf(tool: string, i: number, size: number): object {
  if (tool !== "Edit") return { stdout: prose(size, i) };
  const lines = [" function f() {", "-  let a = 1;", "+  const a = 1;", " }"];
  return {
    filePath: `/w/src/p${i % 20}.ts`,
    structuredPatch: [{ oldStart: 10, oldLines: 3, newStart: 10, newLines: 3, lines }],
    originalFile: prose(size, i),
  };
}

/** The events of a run of so many model calls and about so many bytes, one a line: tools, hooks, failures, a cache that grows. */
export function longRun(calls: number, bytes: number): string {
  const id = "long-run";
  const model = "claude-opus-5-5";
  const prompt = "Port the parser to the new grammar";
  const lines: string[] = [];
  let time = Date.parse("2026-11-01T10:00:00Z");
  const push = (line: object) =>
    lines.push(JSON.stringify({ at: new Date(time).toISOString(), agent_id: id, ...line }));
  push({ type: "start", session_id: id, agent_type: "main", prompt, model });
  push({ type: "message", message: { role: "user", content: [{ type: "text", text: prompt }] }, index: 0 });
  const size = Math.max(100, Math.floor((bytes / calls - 1500) / 2.8));
  let cached = 0;
  for (let i = 0; i < calls; i++) {
    const tool = ["Read", "Bash", "Edit", "Grep"][i % 4]!;
    const use = `toolu_${i}`;
    const content = prose(size, i * 3 + 1);
    const failed = i % 41 === 40;
    const fresh = 200 + (i * 53) % 900;
    const written = i % 7 === 0 ? 4000 : 300;
    const usage = {
      input_tokens: fresh,
      output_tokens: 80 + (i * 91) % 700,
      cache_creation_input_tokens: written,
      cache_read_input_tokens: cached,
    };
    time += 800 + (i * 37) % 5000;
    push({ type: "usage", usage, model, cost: (fresh * 4 + cached * 0.2 + written * 5) / 1e6 });
    cached = i % 150 === 149 ? 2000 : cached + written;
    const said = [{ type: "text", text: `Step ${i}: ${prose(120, i)}` }];
    const asked = { type: "tool_use", id: use, name: tool, input: inputOf(tool, i) };
    push({ type: "message", message: { role: "assistant", content: [...said, asked] }, index: 2 * i + 1 });
    push({ type: "fired", event: "pre-tool-use", tool_use_id: use, folded: ledger(tool) });
    push({ type: "tool_start", id: use, name: tool, input: asked.input });
    const ms = 20 + (i * 17) % 900;
    time += ms;
    const outcome = failed ? "failure" : "success";
    push({ type: "tool_end", id: use, name: tool, outcome, content, ms, response: responseOf(tool, i, size * 0.8) });
    const result = { type: "tool_result", tool_use_id: use, content, ...(failed && { is_error: true }) };
    push({ type: "message", message: { role: "user", content: [result] }, index: 2 * i + 2 });
  }
  push({ type: "end", stop: "done", text: "Everything is ported" });
  return `${lines.join("\n")}\n`;
}
