import type { PreToolUseHook } from "crochet";
// never: loses-history
/** Git commands that throw away history or uncommitted work: the verbs, what is said with them, why not. */
const RULES: readonly (readonly [verbs: string, said: RegExp, why: string])[] = [
  ["push fetch", / (?:--force|-\w*f\w*|\+\S+) /, "it overwrites what others have pushed: use --force-with-lease"],
  ["push", / (?:--de\w*|-d|--m\w*|:\S+) /, "it deletes branches for everybody"],
  ["reset", / --h\w* /, "it throws away uncommitted work: commit or stash it first"],
  ["clean", /^(?!.* (?:-\w*n\w*|--d\S*) ).* (?:-\w*f\w*|--f\w*) /, "it deletes files that git does not know"],
  ["checkout restore", /^(?!.* --staged ).* (?:\.|:\/) /, "it throws away all uncommitted changes: name files"],
  ["checkout switch", / (?:-\w*[fBC]\w*|--f\w*|--di\S*) /, "it throws away changes or commits: commit or stash first"],
  ["branch", / (?:-\w*[DMCf]\w*|--f\w*) /, "it deletes or moves a branch even if it is not merged: use -d"],
  ["update-ref filter-branch", / /, "it rewrites history"],
  ["stash", /^ (?:drop|clear) /, "it throws away stashed work"],
  ["commit push merge", / --no-veri\w* /, "it skips the repository's own checks: fix what they report"],
  ["commit", / -\w*n\w* /, "it skips the repository's own checks: fix what they report"],
];
const gitSafety: PreToolUseHook = ({ input }) => {
  for (const [verb = "", ...words] of gitCommands(String(input.command ?? ""))) {
    const said = ` ${words.join(" ")} `;
    const rule = RULES.find(([verbs, words]) => verbs.split(" ").includes(verb) && words.test(said));
    if (rule) return { action: "deny", reason: `Not 'git ${verb}${said.trimEnd()}': ${rule[2]}` };
  }
};
export default gitSafety;

/** The words after `git` and its own options, of each command in a line. Text in quotes is not an option, but code for a shell. */
function gitCommands(given: string): string[][] {
  const line = given.replaceAll("\\\n", " ").replaceAll(/\\(?=\w)/g, "");
  const isCode = /\b(?:ba|da|z)?sh\s.*-\w*c\s|\beval\s/.test(line);
  const words = (quoted: string) => isCode ? ` ${quoted.slice(1, -1)} ` : /\s/.test(quoted) ? "…" : quoted.slice(1, -1);
  const bare = line.replaceAll(/'[^']*'|"[^"$`]*"/g, words);
  return bare.split(/[;|&\n()`]/).flatMap((part) => {
    const words = part.split(/\s+/);
    const git = words.findIndex((word) => word === "git" || word.endsWith("/git"));
    if (git < 0) return [];
    let at = git + 1;
    while (words[at]?.startsWith("-")) at += ["-C", "-c", "--git-dir", "--work-tree"].includes(words[at]!) ? 2 : 1;
    return [words.slice(at)];
  });
}
