import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rulesThatAllow } from "../../lib/permissions/ruling.ts";
import { rounds } from "../_counts.ts";
import { ofBash } from "./_call.ts";
import { stubs } from "./_stubs.ts";

/** Builtins and shells are allowed by name too: what they would run or evaluate is still not read. */
const ALLOW = ("ok printf test [ read export declare let unset eval exec command builtin trap source xargs sh bash " +
  "find git sort tee cp sed").split(" ").map((name) => `Bash(${name} *)`);
const DENY = { mode: "bypass", deny: ["Bash(pwned *)"] } as const;
const FILES = ["a.txt", "b.ts", "--output=c", "-x", "pwned"];

/** Every part of bash's grammar, and what people have smuggled commands in with. */
const TOKENS = [
  ..." |\t|\n|;|&|&&|;;|!|\\|\\\n|\r|'|\"|`|$(|)|(|{ |}|<(|>(|$'|$\"|$x|${|${x:-|${x@P}|${!x}|$((|((|))|$[|]|[[ |]]|$@"
    .split("|"),
  "|",
  "||",
  "|&",
  ...("<<E <<'E' <<-E \nE\n <<< < > >> <> >| >& &> 2>&1 2> >/dev/null 3>f {a}> {a[x]}> # ~ * ? [ {ok,pwned} = X= x= " +
    "a[x]= a[$(pwned)]= a=(['$(pwned)']=1) += :-").split(" "),
  ...("if then elif else fi while until do done for case in esac select function coproc time f() a)").split(" ")
    .map((word) => `${word} `),
  ...("eval |bash -c |sh -c |env |xargs |timeout 1 |exec |command |builtin |trap |source |. |find . -exec |git -c |" +
    "printf -v |test -v |read |export |declare -i |let |unset |alias |compgen -C |mapfile -C |PS4=|set -x;|nohup |nice ")
    .split("|"),
  ..."'a[$(pwned)]' pwned pwned  'pwned' p\\wned $(pwned) `pwned` <(pwned) ;pwned |pwned \npwned EXIT {} \\; -- -c -o + %1"
    .split(" "),
  ..."--pre=pwned --output=f --compress-program=pwned -exec -delete --ext-diff -O/bin/pwned --open-files-in-pager=pwned"
    .split(" ").map((word) => ` ${word} `),
];

const BASE = [
  ...["ok a", "ls", "ls -l", "cat a.txt", "cat *", "wc -l *.ts", "grep -rn pwned .", "rg pwned", "git status"],
  ...[
    "git diff",
    "git log --oneline",
    "head -n 1 a.txt",
    "sort a.txt",
    "find . -name '*.ts'",
    "echo 'pwned' \"pwned\"",
  ],
  ...["tr a b", "uniq -c", "pwd", "cd .", "which pwned", "echo pwned > f", "ok < a.txt", "printf %s pwned", "test a"],
];

/** Literal lines, and lines that a few changes have made into anything. */
const line = fc.tuple(
  fc.array(fc.tuple(fc.constantFrom(...BASE), fc.constantFrom("; ", " && ", " || ", " | ", "\n")), {
    minLength: 1,
    maxLength: 3,
  }),
  fc.array(fc.tuple(fc.nat(), fc.nat(3), fc.constantFrom(...TOKENS)), { maxLength: 4 }),
).map(([commands, changes]) => {
  let text = commands.flat().slice(0, -1).join("");
  for (const [where, cut, token] of changes) {
    const at = where % (text.length + 1);
    text = text.slice(0, at) + token + text.slice(at + (cut === 0 ? 1 : 0));
  }
  return text;
});

/** Any tokens in any order: mostly nonsense, and that is the point. */
const soup = fc.array(fc.constantFrom(...TOKENS, ...BASE), { minLength: 1, maxLength: 10 }).map((parts) =>
  parts.join("")
);

/** Holds every line that is allowed to what really ran. */
function check(lines: fc.Arbitrary<string>, numRuns: number): { allowed: number; passed: number } {
  using machine = stubs(["ok", "pwned"], FILES);
  const roots = [machine.cwd];
  const counts = { allowed: 0, passed: 0 };
  for (const sign of ["ls $(pwned)", "test -v 'a[$(pwned)]'", "./pwned"]) {
    assert.ok(machine.ran(sign).has("pwned"), sign);
  }
  fc.assert(
    fc.property(lines, (command) => {
      const allowed = ofBash(command, { allow: ALLOW, mode: "acceptEdits", roots }, machine.cwd).behavior === "allow";
      const passed = ofBash(command, { ...DENY, roots }, machine.cwd).behavior === "allow";
      if (!allowed && !passed) return;
      const ran = machine.ran(command).has("pwned");
      assert.ok(!(allowed && ran), "an allow rule or the read-only list let it run");
      assert.ok(!(passed && ran), "a deny rule let it pass");
      counts.allowed += Number(allowed);
      counts.passed += Number(passed);
    }),
    { numRuns },
  );
  return counts;
}

test("no mutated command line that is allowed ever runs what its rules do not name", { timeout: 3_600_000 }, () => {
  const runs = rounds(166, 150_000, 500);
  const { allowed, passed } = check(line, runs);
  assert.ok(allowed > runs / 50 && passed > runs / 50, JSON.stringify({ allowed, passed }));
});

test("no soup of shell syntax that is allowed ever runs what its rules do not name", { timeout: 3_600_000 }, () => {
  const { passed } = check(soup, rounds(100, 50_000, 300));
  assert.ok(passed > 0, `${passed} passed`);
});

test("a literal line is always allowed exactly if all its commands are", () => {
  const atom = fc.tuple(
    fc.constantFrom("ok", "fine", "bad"),
    fc.array(fc.constantFrom("a", "-x", "'b c'", "d=e", '"f;g"'), { maxLength: 3 }),
  )
    .map((words) => words.flat().join(" "));
  const operator = fc.constantFrom(" && ", " || ", "; ", " | ", "\n");
  fc.assert(
    fc.property(fc.array(fc.tuple(atom, operator), { minLength: 1, maxLength: 6 }), (parts) => {
      const command = parts.map((part, i) => i < parts.length - 1 ? part.join("") : part[0]).join("");
      const expected = parts.some(([text]) => text.startsWith("bad"));
      assert.equal(ofBash(command, { allow: ["Bash(ok *)", "Bash(fine:*)"] }).behavior, expected ? "ask" : "allow");
      const deny = { mode: "bypass", deny: ["Bash(bad *)"] } as const;
      assert.equal(ofBash(command, deny).behavior, expected ? "deny" : "allow");
    }),
    { numRuns: rounds(100, 5000, 300) },
  );
});

test("decide() always answers, whatever the text", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary", maxLength: 200 }), soup), (command) => {
      for (const permissions of [{ allow: ALLOW }, DENY]) {
        assert.match(ofBash(command, permissions).behavior, /^(?:allow|ask|deny)$/);
      }
    }),
    { numRuns: rounds(166, 20_000, 500) },
  );
});

test("the rules proposed for a call always allow it", () => {
  fc.assert(
    fc.property(fc.oneof(line, soup), (command) => {
      const call = { tool_name: "Bash", input: { command }, cwd: "/srv", effect: "write" as const };
      if (ofBash(command, {}, "/srv").behavior === "allow") return;
      const rules = rulesThatAllow({}, call);
      assert.ok(rules.length > 0);
      assert.equal(ofBash(command, { allow: rules }, "/srv").behavior, "allow");
      assert.deepEqual(rulesThatAllow({ deny: ["Bash"] }, call), []);
    }),
    { numRuns: rounds(100, 5000, 300) },
  );
});
