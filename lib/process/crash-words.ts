/** What runtimes print when a program crashes, and shells when a line fails. */
const CRASHES = [
  /Traceback \(most recent call last\)|^\s+at .+:\d+:\d+\)?$/m,
  /^(?:Uncaught )?[A-Z]\w+(?:Error|Exception)\b.*:|\bat \S+ line \d+[.,]|\((?:\w+::)?\w+Error\)/m,
  /^.*: line \d+: .*|^\S+: \d+: .*(?:not found|parameter not set|[Ss]yntax error|bad substitution|Illegal number|cannot open|arithmetic)/m,
  /^(?:jq|sed|awk|grep|node|python3?|ruby|perl|bash|sh|tr|cut|xargs|git|cat|mkdir|touch|date|head|env|realpath)(?:\[\d+\])?: /m,
  /^panic: |^fatal: |^thread '.*' panicked|No such file or directory|command not found|Permission denied/m,
];

/** What a program says of its own crash; undefined if it ended by its own will. */
export function crashWords(stderr: string): string | undefined {
  if (!CRASHES.some((pattern) => pattern.test(stderr))) return undefined;
  const lines = stderr.trim().split("\n").filter((line) => line.trim() !== "");
  return lines.findLast((line) => /Error|Exception|error|not found|denied|cannot|line \d+/.test(line)) ??
    lines.at(-1);
}
