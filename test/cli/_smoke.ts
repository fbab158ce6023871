/** Started one after the other in one project; most tests call commands without a process. */
export interface Smoke {
  readonly words: readonly string[];
  readonly stdin?: string;
  /** @default 0 */
  readonly code?: number;
  /** In what it prints: on stdout, or on stderr if it fails. */
  readonly says: RegExp;
}

const event = JSON.stringify({ hook_event_name: "PreToolUse", tool_name: "Bash", tool_input: { command: "ls" } });

/** For every command, a start that shows that a process has loaded it. */
export const SMOKE: Readonly<Record<string, Smoke>> = {
  trust: { words: [], says: /^trusted in .*project, as it is now:\n {2}hooks\/pre-tool-use@Bash\.no\.ts\n/ },
  run: { words: ["agent.ts", "hi"], says: /^hello\n$/ },
  record: { words: ["agent.ts", "hi", "--fixture", "hi"], says: /^recorded fixtures\/hi: done, 1 call/ },
  replay: { words: [], says: /^hi +held +1\/1 /m },
  fixtures: { words: ["ls"], says: /^hi +1 +1 /m },
  view: { words: ["hi", "--out", "hi.html"], says: /\/hi\.html\n$/ },
  runs: { words: [], says: /^[\w-]+ {2}done {2}2 messages/ },
  hooks: { words: ["ls"], says: /pre-tool-use@Bash\.no\.ts +pre-tool-use +Bash/ },
  hook: { words: ["hooks/pre-tool-use@Bash.no.ts"], stdin: event, says: /"permissionDecisionReason":"Not here"/ },
  tool: { words: ["Read", '{"file_path":"a.txt"}'], says: /^1\twords\n/ },
  doctor: { words: [], says: /^✓ crochet +\d+\.\d+\.\d+ on (?:bun|deno) / },
  agents: { words: [], says: /^no agents are running/ },
  agent: { words: ["settings", "it"], says: /^\/.*\n$/ },
  mcp: { words: ["x"], code: 2, says: /Cannot stand before no server: name one/ },
  chat: { words: [], code: 2, says: /this is not a terminal/ },
  attack: { words: ["--never", "pushes", "--runs", "0"], code: 2, says: /Cannot use --runs 0/ },
  eval: { words: ["none"], code: 2, says: /no such fixture/ },
  // Bun makes the bundle, and Deno does not find it here.
  build: "Deno" in globalThis
    ? { words: ["gone.ts"], code: 1, says: /as Bun makes the bundle/ }
    : { words: ["gone.ts"], code: 2, says: /gone\.ts/ },
  worker: { words: ["gone.ts"], code: 1, says: /Cannot load '.*gone\.ts'/ },
  init: { words: ["a.txt"], code: 2, says: /Cannot scaffold in 'a\.txt' as it is a file: name a directory\n$/ },
};
