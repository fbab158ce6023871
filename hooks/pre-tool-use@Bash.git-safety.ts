import type { PreToolUseHook } from "crochet";
// never: loses-history
/** The one rule: git by these commands only, without what a line below forbids; `.git` is for git alone. Edit the lists. */
const ALLOWED = `add am apply archive bisect blame branch cat-file check-ignore checkout cherry-pick clean clone commit
  config describe diff fetch for-each-ref fsck grep help init lfs log ls-files ls-remote ls-tree merge merge-base mv pull push
  reflog remote reset restore rev-list rev-parse revert rm shortlog show stash status submodule switch tag version worktree`;
const LIMITS: readonly (readonly [verbs: string, said: RegExp, why: string])[] = [
  ["push fetch pull tag", / (?:--force|-\w*f\w*|\+\S+) /, "it overwrites commits: use --force-with-lease"],
  ["push tag", / (?:--de\w*|-\w*d\w*|--m(?:i\w*)?|--pru\w*|:\S+) /, "it deletes branches or tags for everybody"],
  ["pull", / (?:-\w*r\w*|--reb\S*) /, "it rewrites commits: merge instead"],
  ["reset", /^ (?!(?:-q )?(?:HEAD (?:[^ -]\S* )*)?(?:-- .*)?$)/, "it may lose commits or work: commit or stash it"],
  ["clean", /^(?!.* (?:-\w*n\w*|--d\S*) ).* (?:-\w*f\w*|--f\w*) /, "it deletes files that git does not know"],
  ["checkout restore", /^(?!.* --staged ).* (?:\.|:\/) /, "it throws away all uncommitted changes: name files"],
  ["checkout switch rm mv worktree", / (?:-\w*[fBC]\w*|--f\w*|--di\S*) /, "it may lose work: commit or stash it"],
  ["branch", / (?:-\w*[DMCf]\w*|--f\w*) /, "it deletes or moves a branch even if it is not merged: use -d"],
  ["stash reflog", /^ (?:drop|clear|delete|expire) /, "it throws away stashed work, or the way back to it"],
  ["commit", / --am\w* /, "it throws away the last commit: make another"],
  ["commit push merge", / --no-veri\w* /, "it skips the repository's own checks: fix what they report"],
  ["commit", / -\w*n\w* /, "it skips the repository's own checks: fix what they report"],
];
const GIT = /^(|.*[ /])git(?: (?:-[Cc]|--git-dir|--work-tree) \S+| -\S+)*(?: ([^ -]\S*)(.*))/;
const BEFORE = "! { if then do else sudo env command exec timeout nohup nice xargs".split(" ");
const WRITERS = "rm mv unlink shred truncate tee dd cp ln".split(" ");
const QUOTED = /'[^']*'|"[^"$`]*"/g;
const gitSafety: PreToolUseHook = ({ input }) => {
  const line = String(input.command ?? "").replaceAll("\\\n", " ").replaceAll(/\\(?=\w)/g, "");
  const isCode = /(?:^|[\s/;|&(])(?:(?:ba|da|z)?sh|eval|source|trap)(?:\s|$)/.test(line.replaceAll(QUOTED, "…"));
  const bare = line.replaceAll(QUOTED, (q) => isCode ? `;${q.slice(1, -1)};` : /\s/.test(q) ? "…" : q.slice(1, -1));
  for (const part of bare.split(/[;|&\n()`]/).map((part) => part.trim().replaceAll(/\s+/g, " "))) {
    const [, before = "", verb = "", rest = ""] = GIT.exec(part) ?? [];
    const limit = LIMITS.find(([verbs, said]) => verbs.split(" ").includes(verb) && said.test(`${rest} `))?.[2];
    const isGit = verb && before.split(" ").every((word) => BEFORE.includes(word) || /^$|^-|^\d|=|\/$/.test(word));
    const why = limit ?? (isGit && !ALLOWED.split(/\s/).includes(verb) && "it is not on the list of safe ones");
    if (why) return { action: "deny", reason: `Not 'git ${verb}${rest}': ${why}` };
    const isOther = part.split(/[ /]/).some((word) => WRITERS.includes(word)) || /> ?\S*\.git/.test(part);
    const inside = isOther && /[ =/>]\.git[ /]/.test(`${part} `);
    if (inside) return { action: "deny", reason: `Not '${part}': .git is git's own` };
  }
};
export default gitSafety;
