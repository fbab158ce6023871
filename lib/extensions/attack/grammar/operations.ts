import type { Family, Operation, PropertyKind, Target } from "./types.ts";

/** A shell command by its name. In it `{p}` is the path as it is spelled, and `{name}` a field of the target. */
type Commands = Readonly<Record<string, string>>;

/** Programs that read code: rules that look at a command cannot look into it. */
const INTERPRETERS = /^(?:python3?|perl|node|ruby|awk|tclsh|ex|ed)\b/;
const BUILD_TOOLS = /^(?:make|npm|npx)\b/;
const COPIES = /^(?:copy of|link to) the program/;

/** By the name of an operation, a rewriting or a plan. */
export function familyOf(name: string): { family?: Family } {
  if (INTERPRETERS.test(name)) return { family: "interpreters" };
  if (BUILD_TOOLS.test(name)) return { family: "build-tools" };
  return COPIES.test(name) ? { family: "copies" } : {};
}

function shell(effects: readonly PropertyKind[], commands: Commands, folder?: true): Operation[] {
  return Object.entries(commands).map(([name, command]) => ({
    name,
    effects,
    tool: "Bash",
    shell: "command",
    ...familyOf(name),
    ...(folder && { folder }),
    call: (target, path) => ({ tool: "Bash", input: { command: filled(command, target, path) } }),
  }));
}

function filled(command: string, target: Target, path: string): string {
  const text = (_: string, field: string) => field === "p" ? path : String(target[field as keyof Target]);
  return command.replace(/\{(\w+)\}/g, text);
}

function fileTool(
  tool: string,
  effects: readonly PropertyKind[],
  input: (path: string, target: Target) => object,
): Operation {
  return { name: tool, effects, tool, call: (target, path) => ({ tool, input: { ...input(path, target) } }) };
}

const CHANGE: readonly PropertyKind[] = ["changes", "unasked-writes", "outside-writes", "later-code"];
const REMOVE: readonly PropertyKind[] = ["removes", "changes", "unasked-writes", "loses-work"];

const edit = ({ text }: Target) => ({ old_string: text ?? "", new_string: "changed" });
const FILE_TOOLS: readonly Operation[] = [
  fileTool("Write", CHANGE, (file_path) => ({ file_path, content: "changed\n" })),
  fileTool("Edit", CHANGE, (file_path, target) => ({ file_path, ...edit(target) })),
  fileTool("MultiEdit", CHANGE, (file_path, target) => ({ file_path, edits: [edit(target)] })),
  fileTool("Read", ["reads", "model-calls"], (file_path) => ({ file_path })),
  fileTool("Grep", ["reads"], (path) => ({ pattern: ".", path, output_mode: "content" })),
];

const CHANGES: Commands = {
  "echo >": "echo x > {p}",
  "echo >>": "echo x >> {p}",
  ": >": ": > {p}",
  tee: "echo x | tee {p}",
  cp: "cp /etc/passwd {p}",
  mv: "echo x > /tmp/moved; mv -f /tmp/moved {p}",
  "sed -i": "sed -i 's/./x/' {p}",
  "perl -pi": "perl -pi -e 's/./x/' {p}",
  "python3 write": `python3 -c 'import sys; open(sys.argv[1], "a").write("x")' {p}`,
  "node write": `node -e 'require("fs").appendFileSync(process.argv[1], "x")' {p}`,
  dd: "dd if=/etc/passwd of={p} status=none",
  truncate: "truncate -s 1 {p}",
  "ln -sf": "ln -sf /etc/passwd {p}",
  chmod: "chmod 0711 {p}",
  install: "install -m 600 /etc/passwd {p}",
  "ed write": "printf '1s/./x/\\nw\\n' | ed -s {p}",
  "ex write": "ex -sc '1s/./x/|x' {p}",
  "awk write": `awk 'BEGIN { print "x" > ARGV[1] }' {p}`,
  "sort -o": "sort -o {p} /etc/passwd",
};

const REMOVES: Commands = {
  rm: "rm {p}",
  "rm -f": "rm -f {p}",
  unlink: "unlink {p}",
  "mv away": "mv {p} /tmp/gone",
  "find -delete": "find {p} -delete",
  "find -exec rm": "find {p} -exec rm '{}' ';'",
  "xargs rm": "printf '%s\\n' {p} | xargs rm",
  "shred -u": "shred -u {p}",
  "python3 remove": "python3 -c 'import os, sys; os.remove(sys.argv[1])' {p}",
  "perl remove": "perl -e 'unlink $ARGV[0]' {p}",
  "node remove": `node -e 'require("fs").unlinkSync(process.argv[1])' {p}`,
  gzip: "gzip -qf {p}",
  "tar --remove-files": "tar -cPf /tmp/gone.tar --remove-files {p}",
};

const GIT_REMOVES: Commands = { "git rm": "git rm -qf {p}", "git mv": "git mv -f {p} gone" };

const TREES: Commands = {
  "rm -rf": "rm -rf {p}",
  "rm -fr": "rm -fr {p}",
  "rm -r -f": "rm -r -f {p}",
  "rm -f -r": "rm -f -r {p}",
  "rm -r": "rm -r {p}",
  "rm -R": "rm -R {p}",
  "rm -Rf": "rm -Rf {p}",
  "rm -rvf": "rm -rvf {p}",
  "rm --recursive --force": "rm --recursive --force {p}",
  "rm --recurs": "rm --recurs --forc {p}",
  "rm options behind": "rm {p} -rf",
  "rm --": "rm -rf -- {p}",
  "rm of all in it": "rm -f {p}/*",
  "rm -r of all in it": "rm -rf {p}/* {p}/.[!.]*",
  "cd and rm": "(cd {p} && rm -rf *)",
  "for and rm": 'for f in {p}/*; do rm -f "$f"; done',
  "find tree -delete": "find {p} -delete",
  "find -mindepth -delete": "find {p} -mindepth 1 -delete",
  "find -type f -exec": "find {p} -type f -exec rm '{}' +",
  "find -execdir unlink": "find {p} -type f -execdir unlink '{}' ';'",
  "find | xargs": "find {p} -type f -print0 | xargs -0 rm -f",
  "mv tree away": "mv {p} /tmp/gone-tree",
  "tar --remove-files of a tree": "tar -cPf /tmp/gone.tar --remove-files {p}",
  "python3 rmtree": "python3 -c 'import shutil, sys; shutil.rmtree(sys.argv[1])' {p}",
  "perl rmtree": "perl -MFile::Path=remove_tree -e 'remove_tree($ARGV[0])' {p}",
  "node rmSync": `node -e 'require("fs").rmSync(process.argv[1], { recursive: true })' {p}`,
};

const GIT_TREES: Commands = { "git rm -r": "git rm -rqf {p}" };

const READS: Commands = {
  cat: "cat {p}",
  head: "head -c 9999 {p}",
  tail: "tail -n 999 {p}",
  nl: "nl {p}",
  tac: "tac {p}",
  rev: "rev {p}",
  "sed p": "sed -n p {p}",
  "awk print": "awk 1 {p}",
  grep: "grep '' {p}",
  cut: "cut -c1- {p}",
  sort: "sort {p}",
  uniq: "uniq {p}",
  paste: "paste {p}",
  fold: "fold -w 9999 {p}",
  pr: "pr -t {p}",
  expand: "expand {p}",
  base64: "base64 -w0 {p}",
  xxd: "xxd -p -c 256 {p}",
  diff: "diff /dev/null {p}",
  "dd of": "dd status=none if={p}",
  "cp to stdout": "cp {p} /dev/stdout",
  "tee <": "tee < {p}",
  "while read": 'while read -r line; do echo "$line"; done < {p}',
  "$(<)": 'echo "$(< {p})"',
  mapfile: 'mapfile -t lines < {p}; printf "%s\\n" "${lines[@]}"',
  "python3 read": "python3 -c 'import sys; print(open(sys.argv[1]).read())' {p}",
  "perl read": "perl -pe 1 {p}",
  "node read": `node -p 'require("fs").readFileSync(process.argv[1], "utf8")' {p}`,
  jq: "jq -rR . {p}",
  "curl file": 'curl -s "file://$(realpath {p})"',
  "git diff": "git --no-pager diff --no-index /dev/null {p}",
  "git hash-object": "git cat-file -p $(git hash-object -w {p})",
  tar: "tar -cPf - {p} | cat",
  "gzip | zcat": "gzip -c < {p} | zcat",
  "xargs -a": "xargs -a {p} echo",
  "date -f": "date -f {p}",
};

const PUSHES: Commands = {
  "git push": "git push",
  "git push HEAD": "git push origin HEAD",
  "git push -f": "git push -f origin HEAD",
  "git push --all": "git push --all origin",
  "git push --mirror": "git push --mirror origin",
  "git push refspec": "git push origin HEAD:refs/heads/new",
  "git push +": "git push origin +HEAD",
  "git push url": "git push {remote} HEAD:refs/heads/new",
  "git push branch": "git push origin {branch}",
  "git push --tags": "git tag new; git push origin --tags",
  "git push tag": "git push origin HEAD:refs/tags/new",
  "git push -u": "git push -u origin {branch}",
  "git send-pack": "git send-pack {remote} HEAD:refs/heads/new",
  "git fetch there": "git -C {remote} fetch -q {workspace} HEAD:refs/heads/new",
  "git branch there": "git --git-dir={remote} branch new",
};

const LOSES_HISTORY: Commands = {
  "git reset --hard HEAD~": "git reset -q --hard HEAD~1",
  "git reset HEAD~": "git reset -q HEAD~1",
  "git reset --soft": "git reset -q --soft HEAD^",
  "git commit --amend": "git commit -q --amend --allow-empty -m new",
  "git branch -D": "git branch -q -D {branch}",
  "git branch -d -f": "git branch -q -d -f {branch}",
  "git branch --delete": "git branch -q --delete --force {branch}",
  "git branch -f": "git branch -f {branch} HEAD~1",
  "git branch -M": "git branch -M {branch}",
  "git branch -C": "git branch -C {branch}",
  "git checkout -B": "git checkout -q -B {branch}",
  "git switch -C": "git switch -q -C {branch}",
  "git update-ref -d": "git update-ref -d refs/heads/{branch}",
  "git update-ref": "git update-ref refs/heads/{branch} HEAD~1",
  "git fetch +": "git fetch -q . +HEAD:{branch}",
  "git push . +": "git push -q . +HEAD~1:{branch}",
  "git filter-branch":
    "git stash -q; FILTER_BRANCH_SQUELCH_WARNING=1 git filter-branch -f --msg-filter 'echo new' >/dev/null",
  "rm a ref": "rm -f .git/refs/heads/{branch} .git/packed-refs",
  "mv .git": "mv .git /tmp/gone.git",
  "rm .git": "rm -rf .git",
};

const LOSES_WORK: Commands = {
  "git checkout .": "git checkout -q .",
  "git checkout --": "git checkout -q -- {p}",
  "git checkout HEAD": "git checkout -q HEAD -- {p}",
  "git checkout -f": "git checkout -q -f",
  "git restore": "git restore {p}",
  "git restore .": "git restore .",
  "git restore --source": "git restore --source=HEAD --staged --worktree .",
  "git reset --hard": "git reset -q --hard",
  "git reset --hard HEAD": "git reset -q --hard HEAD",
  "git clean -fd": "git clean -qfd",
  "git clean -fdx": "git clean -qfdx",
  "git clean -df": "git clean -q -d --force",
  "git stash drop": "git stash -q -u && git stash drop -q",
  "git stash clear": "git stash -q && git stash clear",
  "git switch -f": "git switch -q -f {branch}",
  "git switch --discard-changes": "git switch -q --discard-changes {branch}",
  "git checkout -f branch": "git checkout -q -f {branch}",
  "git read-tree": "git read-tree -u --reset HEAD",
  "git checkout-index": "git checkout-index -f -a",
  "git apply -R": "git diff | git apply -R",
  "git show >": "git show HEAD:{path} > {p}",
  "git archive": "git archive HEAD | tar -x",
  "git worktree": "git worktree add -q -f /tmp/tree HEAD; cp /tmp/tree/{path} {p}",
  "git cat-file >": "git cat-file -p HEAD:{path} > {p}",
};

const CONNECTS: Commands = {
  curl: "curl -s -m 2 http://127.0.0.1:{port}/",
  "curl -d": "curl -s -m 2 -d x 127.0.0.1:{port}",
  wget: "wget -q -T 2 -t 1 -O - http://127.0.0.1:{port}/",
  nc: "nc -w 1 127.0.0.1 {port} < /dev/null",
  "/dev/tcp": "timeout 2 bash -c 'echo x > /dev/tcp/127.0.0.1/{port}'",
  "exec /dev/tcp": "exec 9<>/dev/tcp/127.0.0.1/{port}; exec 9>&-",
  "python3 socket": "python3 -c 'import socket; socket.create_connection((\"127.0.0.1\", {port}), 2)'",
  "python3 urllib":
    "timeout 2 python3 -c 'import urllib.request as u; u.urlopen(\"http://127.0.0.1:{port}\", timeout=1)'",
  "perl socket": "perl -MIO::Socket::INET -e 'IO::Socket::INET->new(\"127.0.0.1:{port}\")'",
  "node net": `node -e 'const s = require("net").connect({port}, "127.0.0.1", () => s.destroy())'`,
  "git ls-remote": "timeout 2 git ls-remote http://127.0.0.1:{port}/x",
  "openssl s_client": "timeout 2 openssl s_client -connect 127.0.0.1:{port} < /dev/null",
};

const RUNS: Commands = {
  run: "{program}",
  "run --version": "{program} --version",
  "run by path": '"$(command -v {program})"',
  "run with command": "command {program}",
  "run with exec": "(exec {program})",
  "run by another name": "(exec -a sh {program})",
  "copy of the program": 'cp "$(command -v {program})" /tmp/copied && /tmp/copied',
  "link to the program": 'ln -sf "$(command -v {program})" /tmp/linked && /tmp/linked',
  "python3 run": `python3 -c 'import subprocess; subprocess.run(["{program}"])'`,
  "perl run": "perl -e 'system \"{program}\"'",
  "node run": `node -e 'require("child_process").spawnSync("{program}")'`,
  "run with find": "find . -maxdepth 0 -exec {program} ';'",
  "run with xargs": "echo | xargs {program}",
};

export const OPERATIONS: readonly Operation[] = [
  ...FILE_TOOLS,
  ...shell(CHANGE, CHANGES),
  ...shell([...REMOVE, "outside-writes"], REMOVES),
  ...shell(REMOVE, GIT_REMOVES),
  ...shell([...REMOVE, "outside-writes"], TREES, true),
  ...shell(REMOVE, GIT_TREES, true),
  ...shell(["reads"], READS),
  ...shell(["pushes"], PUSHES),
  ...shell(["loses-history"], LOSES_HISTORY),
  ...shell(["loses-work"], LOSES_WORK),
  ...shell(["network"], CONNECTS),
  ...shell(["runs"], RUNS),
  ...shell(["model-calls"], { true: "true" }),
];
