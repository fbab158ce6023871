import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { rulesThatAllow } from "../../lib/permissions/_suggest.ts";
import { rounds } from "../_counts.ts";
import { ofBash } from "./_call.ts";
import { stubs } from "./_stubs.ts";

/** Runners are allowed too: what they run must still have a rule of its own. */
const ALLOW = [
  ...["ok", "fine", "echo", "true", ":", "x", "f", "[", "test"],
  ...["bash", "sh", "eval", "exec", "env", "xargs", "find", "timeout", "nohup", "trap", "command", "setsid"],
].map((name) => `Bash(${name} *)`);
const DENY = { mode: "bypass", deny: ["Bash(bad *)"] } as const;

const quoted = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

/** A name as a shell takes it, in one of its spellings. */
const spelled = (name: string) =>
  fc.constantFrom(
    name,
    name,
    `'${name}'`,
    `"${name}"`,
    `${name[0]}\\${name.slice(1)}`,
    `${name[0]}''${name.slice(1)}`,
    `$'${name}'`,
    `$'\\x${name.charCodeAt(0).toString(16)}${name.slice(1)}'`,
    `$(echo ${name})`,
    `{${name},a}`,
    `"\${u:-${name}}"`,
    `\${u:-${name}}`,
    `$e ${name}`,
    `"$@" ${name}`,
    `${name.slice(0, -1)}?`,
  );

const args = fc.array(
  fc.constantFrom("a", "-f", "'b c'", '"$x"', "$x", "*.ts", "a=b", "#no", "\\;", "2>&1", ">/dev/null", "--"),
  { maxLength: 3 },
)
  .map((words) => words.map((word) => ` ${word}`).join(""));

const { line } = fc.letrec<{ line: string; atom: string }>((tie) => ({
  atom: fc.tuple(fc.constantFrom("ok", "ok", "fine", "bad").chain(spelled), args).map(([name, rest]) => name + rest),
  line: fc.oneof(
    { depthSize: "small", maxDepth: 4, withCrossShrink: true },
    tie("atom"),
    tie("atom"),
    fc.tuple(tie("line"), fc.constantFrom("; ", " && ", " || ", " | ", " & ", "\n", " |& ", "&&\n"), tie("line")).map((
      p,
    ) => p.join("")),
    fc.tuple(
      fc.constantFrom(
        "X=1 ",
        "CI=1 ",
        "x=1 ",
        "! ",
        "time ",
        "env ",
        "env CI=1 ",
        "timeout 2 ",
        "nohup ",
        "exec ",
        "command ",
        "echo a | xargs ",
        "setsid -w ",
      ),
      tie("atom"),
    ).map((p) => p.join("")),
    tie("line").map((l) => `( ${l} )`),
    tie("line").map((l) => `{ ${l}\n}`),
    tie("line").map((l) => `if ${l}\nthen fine; else ok; fi`),
    tie("line").map((l) => `if true; then ${l}\nfi`),
    tie("line").map((l) => `for x in a b; do ${l}\ndone`),
    tie("line").map((l) => `case a in b) ok;; *) ${l}\n;; esac`),
    tie("line").map((l) => `while ${l}\ndo break; done`),
    tie("line").map((l) => `f() { ${l}\n}; f`),
    tie("line").map((l) => `ok $(${l}\n)`),
    tie("line").map((l) => `ok "a $(${l}\n) b"`),
    tie("line").map((l) => `x=$(${l}\n)`),
    tie("line").map((l) => `ok <(${l}\n)`),
    tie("line").map((l) => `ok "\`${l.replace(/[\\`$"]/g, "\\$&")}\`"`),
    tie("line").map((l) => `ok \`${l.replace(/[\\`$]/g, "\\$&")}\``),
    tie("line").map((l) => `ok <<E\n$(${l}\n)\nE\nfine`),
    tie("line").map((l) => `ok <<'E'\n${l}\nE\n`),
    tie("line").map((l) => `ok ${quoted(l)}`),
    tie("line").map((l) => `ok # ${l}`),
    tie("line").map((l) => `bash -c ${quoted(l)}`),
    tie("line").map((l) => `sh -c ${quoted(l)}`),
    tie("line").map((l) => `eval ${quoted(l)}`),
    tie("line").map((l) => `trap ${quoted(l)} EXIT`),
    tie("line").map((l) => `find . -maxdepth 0 -exec sh -c ${quoted(l)} \\;`),
    tie("atom").map((a) => `find . -maxdepth 0 -exec ${a} \\;`),
  ),
}));

/** The characters and words a shell gives a meaning to, in any order: mostly nonsense, and that is the point. */
const soup = fc.array(
  fc.constantFrom(
    ...[
      "ok",
      "ok ",
      "fine ",
      "bad",
      "bad ",
      "echo ",
      " ",
      " ",
      "\t",
      "\n",
      ";",
      "&",
      "|",
      "&&",
      "||",
      "|&",
      "!",
      "\\",
      "\\\n",
      "\r",
    ],
    ...[
      "'",
      '"',
      "`",
      "$(",
      ")",
      "(",
      "{ ",
      "}",
      "<(",
      ">(",
      "$'",
      '$"',
      "$x",
      "${",
      "${x:-",
      "$((",
      "((",
      "))",
      "$[",
      "]",
      "[[ ",
      "]]",
      "$@",
    ],
    ...[
      "<<E",
      "<<'E'",
      "<<-E",
      "E",
      "\nE\n",
      "<<<",
      "<",
      ">f",
      "2>&1",
      "&>",
      "#",
      "~",
      "*",
      "?",
      "[",
      "{ok,bad}",
      "=",
      "X=",
      "x=",
    ],
    ...[
      "if ",
      "then ",
      "elif ",
      "else ",
      "fi",
      "while ",
      "until ",
      "do ",
      "done",
      "for x in ",
      "case ",
      "in ",
      "esac",
      ";;",
      "a)",
      "f()",
      "function f ",
    ],
    ...[
      "eval ",
      "bash -c ",
      "sh -c ",
      "env ",
      "xargs ",
      "timeout 1 ",
      "exec ",
      "command ",
      "trap ",
      "coproc ",
      "time ",
      "find . -exec ",
      "\\;",
      "{}",
      "-c",
      "-I{} ",
      "source ",
      ". ",
      "bash ",
      "sh ",
      "env -S",
      "-- ",
      "compgen -W ",
      "PS4=",
      "set -x;",
      "alias ",
      "/dev/stdin ",
    ],
    ...["'bad'", "b\\ad", "$(bad)", "`bad`", "<(bad)", ";bad", "|bad", "\nbad"],
  ),
  { minLength: 1, maxLength: 12 },
).map((parts) => parts.join(""));

/** Holds every command to the truth: what really ran. Returns how often each side was looked at. */
function check(commands: fc.Arbitrary<string>, numRuns: number, lookAtAll = false) {
  using machine = stubs(["ok", "fine", "bad"]);
  const seen = { allowed: 0, passed: 0, bad: 0 };
  fc.assert(
    fc.property(commands, (command) => {
      const allowed = ofBash(command, { allow: ALLOW, roots: [machine.cwd] }, machine.cwd).behavior === "allow";
      const passed = ofBash(command, DENY, machine.cwd).behavior !== "deny";
      if (!allowed && !passed && !lookAtAll) return;
      const ran = machine.ran(command);
      if (allowed) assert.ok(!ran.has("bad"), "an allow rule let it run");
      if (passed) assert.ok(!ran.has("bad"), "a deny rule let it pass");
      seen.allowed += Number(allowed);
      seen.passed += Number(passed);
      seen.bad += Number(ran.has("bad"));
    }),
    { numRuns },
  );
  return seen;
}

test("no generated command line ever escapes its rules: what it really runs is what the rules let run", {
  timeout: 600_000,
}, () => {
  const runs = rounds(120, 8000);
  const seen = check(line, runs, true);
  // The law says nothing if nothing is allowed, or if nothing bad is ever run.
  assert.ok(seen.allowed > runs / 20, `${seen.allowed} allowed`);
  assert.ok(seen.passed >= seen.allowed / 2 && seen.bad > runs / 40, JSON.stringify(seen));
});

test("no soup of shell syntax ever escapes its rules", { timeout: 600_000 }, () => {
  const seen = check(soup, rounds(1500, 60_000));
  assert.ok(seen.allowed > 2 && seen.passed > 25, JSON.stringify(seen));
});

test(
  "no soup of shell syntax ever escapes its rules inside sh -c, where another shell reads it",
  { timeout: 600_000 },
  () => {
    const seen = check(soup.map((text) => `sh -c ${quoted(text)}`), rounds(1500, 60_000));
    assert.ok(seen.passed > 15, JSON.stringify(seen));
  },
);

test("a command line without expansions is always allowed exactly where all its commands are", () => {
  const atom = fc.tuple(
    fc.constantFrom("ok", "fine", "bad"),
    fc.array(fc.constantFrom("a", "-x", "'b c'", "d=e"), { maxLength: 3 }),
  )
    .map((words) => words.flat().join(" "));
  const operator = fc.constantFrom(" && ", " || ", "; ", " | ", "\n", " & ");
  fc.assert(
    fc.property(fc.array(fc.tuple(atom, operator), { minLength: 1, maxLength: 6 }), (parts) => {
      const command = parts.map((part, i) => i < parts.length - 1 ? part.join("") : part[0]).join("");
      const expected = parts.some(([text]) => text.startsWith("bad"));
      assert.equal(ofBash(command, { allow: ["Bash(ok *)", "Bash(fine:*)"] }).behavior, expected ? "ask" : "allow");
      assert.equal(ofBash(command, DENY).behavior, expected ? "deny" : "allow");
    }),
    { numRuns: rounds(300, 5000) },
  );
});

test("decide() always answers, whatever the text", { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(fc.oneof(fc.string({ unit: "binary", maxLength: 200 }), soup), (command) => {
      for (const permissions of [{ allow: ALLOW }, DENY]) {
        assert.match(ofBash(command, permissions).behavior, /^(?:allow|ask|deny)$/);
      }
    }),
    { numRuns: rounds(500, 20_000) },
  );
});

test("the rules proposed for a call always allow it", { timeout: 120_000 }, () => {
  fc.assert(
    fc.property(fc.oneof(line, soup), (command) => {
      const call = { tool_name: "Bash", input: { command }, cwd: "/srv", effect: "write" as const };
      if (ofBash(command, {}, "/srv").behavior === "allow") return;
      const rules = rulesThatAllow({}, call);
      assert.ok(rules.length > 0);
      assert.equal(ofBash(command, { allow: rules }, "/srv").behavior, "allow");
      assert.deepEqual(rulesThatAllow({ deny: ["Bash"] }, call), []);
    }),
    { numRuns: rounds(300, 5000) },
  );
});
