import assert from "node:assert/strict";
import { linkSync, mkdirSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { test } from "node:test";
import { permissionGate } from "../../lib/permissions/ruling.ts";
import type { Permissions } from "../../lib/permissions/rules.ts";
import { put, scratch } from "../_scratch.ts";
import { behavior, ofBash, ofTool } from "./_call.ts";

/** Ways to run a command inside a line; CMD is where it stands. */
const PLACES = [
  ...["CMD", "ls && CMD", "ls || CMD", "ls; CMD", "ls | CMD", "ls\nCMD", "ls &&\n\n CMD", "ls & CMD", "ls |& CMD"],
  ...[
    "(CMD)",
    "{ CMD; }",
    "! CMD",
    "time CMD",
    "ls $(CMD)",
    'ls "a $(CMD)"',
    "ls `CMD`",
    "ls ${x:-$(CMD)}",
    "ls $((1+$(CMD)))",
  ],
  ...[
    "ls <(CMD)",
    "X=1 CMD",
    "x=$(CMD)",
    "x=(a $(CMD))",
    "a=(['$(CMD)']=1)",
    "ls <<E\n$(CMD)\nE",
    "ls <<<$(CMD)",
    "ls > $(CMD)",
  ],
  ...[
    "if CMD; then ls; fi",
    "while CMD; do ls; done",
    "for x in a; do CMD; done",
    "case a in a) CMD;; esac",
    "f() { CMD; }; f",
  ],
  ...[
    "[[ -n $(CMD) ]]",
    "coproc CMD",
    "bash -c 'CMD'",
    'sh -c "ls; CMD"',
    "eval CMD",
    "exec CMD",
    "command CMD",
    "builtin CMD",
  ],
  ...[
    "env CMD",
    "env -i X=1 CMD",
    "env -S 'CMD'",
    "nohup CMD",
    "nice -n 5 CMD",
    "timeout 5 CMD",
    "setsid CMD",
    "stdbuf -oL CMD",
  ],
  ...[
    "ls | xargs CMD",
    "ls | xargs -I{} CMD",
    "find . -exec CMD {} +",
    "find . -execdir CMD ';'",
    "fd x -x CMD",
    "sudo CMD",
  ],
  ...[
    "doas CMD",
    "su -c 'CMD'",
    "pkexec CMD",
    "ssh host CMD",
    "watch CMD",
    "trap 'CMD' EXIT",
    "echo 'CMD' | sh",
    "bash <<< 'CMD'",
  ],
  ...[
    "source <(echo 'CMD')",
    ". /dev/stdin",
    "PS4='$(CMD)'; set -x; ls",
    "alias ls='CMD'",
    "compgen -C 'CMD'",
    "busybox CMD",
  ],
  ...[
    "git bisect run CMD",
    "git rebase -x 'CMD' main",
    "git -c alias.x='!CMD' x",
    "git submodule foreach CMD",
    "strace CMD",
  ],
  ...[
    "printf -v 'a[$(CMD)]' x",
    "test -v 'a[$(CMD)]'",
    "read 'a[$(CMD)]'",
    "unset 'a[$(CMD)]'",
    "declare -i 'x=a[$(CMD)]'",
  ],
  ...["echo {a[$(CMD)]}>/dev/null", "echo ${x@\\\nP}", "let 'a[$(CMD)]'", "mapfile -C 'CMD' -c 1", "exec 3< <(CMD)"],
];

/** Spellings of the two first words of a command. */
const spellings = (name: string, rest: string) => [
  ...[`${name} ${rest}`, `'${name}' ${rest}`, `"${name}" ${rest}`, `${name[0]}''${name.slice(1)} ${rest}`],
  ...[`${name[0]}\\${name.slice(1)} ${rest}`, `/bin/${name} ${rest}`, `./${name} ${rest}`, `$'${name}' ${rest}`],
  ...[
    `\${u:-${name}} ${rest}`,
    `{${name},${rest}}`,
    `${name.slice(0, -1)}? ${rest}`,
    `$e${name} ${rest}`,
    `~/${name} ${rest}`,
  ],
];

/** Each way in each place; what `su` or `env` makes of a variable in its text is inside of it. */
const lines = (ways: readonly string[]) =>
  PLACES.flatMap((place) =>
    ways.filter((way) => !/^(?:su|env).*'CMD'/.test(place) || !way.includes("$")).map((way) =>
      place.replace("CMD", way)
    )
  );

const holds = (command: string, permissions: Permissions) => {
  for (const allowed of [{ mode: "bypass" as const }, { allow: ["Bash"] }, { allow: ["Bash(* *)", "Bash(ls *)"] }]) {
    assert.notEqual(behavior(command, { ...permissions, ...allowed }), "allow", command);
  }
};

test("deny Bash(rm *): every line in which a shell would find rm is denied or asked, also under bypass", () => {
  for (const line of lines(spellings("rm", "-rf x"))) holds(line, { deny: ["Bash(rm *)"] });
  assert.equal(behavior("ls; /bin/r'm' -rf x", { mode: "bypass", deny: ["Bash(rm *)"] }), "deny");
});

test("deny Bash(git push *): also behind options of git, and in every spelling", () => {
  const deny = ["Bash(git push *)"];
  const ways = [
    ...spellings("git", "push origin"),
    ...[
      "git 'push' x",
      "git pu''sh x",
      "git pu\\sh x",
      "git $x",
      "git p* x",
      "git {push,x}",
      "git -C . push",
      "git -P push",
    ],
    ...[
      "git --no-pager -C a push origin",
      "git -c a=b push",
      "git --git-dir=a push",
      "git --exec-path=. push",
      "git -C 'a b' push",
    ],
  ];
  for (const line of lines(ways)) holds(line, { deny });
  for (const way of ["git -C . push", "git --no-pager push x", "/usr/bin/git push"]) {
    assert.equal(behavior(way, { mode: "bypass", deny }), "deny", way);
  }
  for (const way of ["git log push", "git -C . log push", "echo git push", "timeout 5 git push", "x --do='git push'"]) {
    assert.equal(behavior(way, { mode: "bypass", deny }), "ask", way);
  }
  for (const way of ["git pushes", "git log", "npm run push; git log", "git diff push/a", "docker push x"]) {
    assert.equal(behavior(way, { mode: "bypass", deny }), "allow", way);
  }
});

test("a line asks that has the name of a denied program as a word: in a path, in quotes, behind =, glued to an option", () => {
  const says = (command: string, rule = "Bash(rm *)") => behavior(command, { mode: "bypass", deny: [rule] });
  const asks = [
    ...[
      "linux64 rm x",
      "prlimit rm x",
      "choom -n 0 -- rm x",
      "npx -c 'rm x'",
      "env -Srm x",
      "env -iSrm x",
      "x --run=rm",
    ],
    ...[
      "grep rm notes.txt",
      "x a=/bin/rm",
      "su root -c'rm x'",
      "env -S \"r''m x\"",
      "printf 'a:\\n\\trm x\\n'",
      "x '/bin/r? x'",
    ],
    ...[
      "git config alias.z '!rm x'",
      "git grep --open='rm x' a",
      "which rm",
      "cp /bin/rm z",
      "awk 'BEGIN{system(\"rm x\")}'",
    ],
  ];
  for (const line of asks) assert.equal(says(line), "ask", line);
  const { reason, rule } = ofBash("nice rm x", { mode: "bypass", deny: ["Bash(rm *)"] });
  assert.equal(reason, "the line has the words it names, and the rule Bash(rm *) might be about it");
  assert.equal(rule, "Bash(rm *)");
  const passes = [
    "ls",
    "npm test",
    "git status",
    "git commit -m 'Add a form'",
    "docker run --rm x",
    "cat rm/a",
    "ls rm.txt",
  ];
  for (const line of [...passes, "timeout 5 npm test", "cat src/*", "ls *.ts", "awk '{print $1}' a", "farm -r x"]) {
    assert.equal(says(line), "allow", line);
  }
  for (const [rule, line] of [["Bash(npm run test*)", "npm run lint"], ["Bash(* --force)", "git status"]]) {
    assert.equal(says(line!, rule), "allow", `${line} with ${rule}`);
  }
  assert.equal(says("timeout 5 npm run test:unit", "Bash(npm run test*)"), "ask");
  assert.equal(behavior("nice git push", { allow: ["Bash"], ask: ["Bash(git push *)"] }), "ask");
});

test("where a rule denies, a shell is understood only in front of a file of the workspace, and git without options that run", () => {
  using folder = scratch({ "build.sh": "", "sub/deep.sh": "", "dir/a": "" });
  symlinkSync("/bin/ls", join(folder.path, "out.sh"));
  const says = (command: string, deny: string[]) =>
    behavior(command, { mode: "bypass", deny, roots: [folder.path] }, folder.path);
  const asks = [
    ...["bash +x -c 'x'", "sh +e -c 'x'", "echo x | bash /dev/stdin", "rbash -c x", "/usr/bin/yash -c x", "ksh93 -c x"],
    ...[
      "sh none.sh",
      "sh dir",
      "sh out.sh",
      "sh /etc/profile",
      "nice sh build.sh",
      "env bash -c x",
      "npx -c bash",
    ],
    ...["x --shell=/bin/zsh", "env xargs x", "ssh host x", "sh build.sh sh"],
    ...[
      "git -c a=b x",
      "nice git -c a=b x",
      "timeout 5 git --exec-path=. x",
      "git grep -Ox a",
    ],
  ];
  for (const line of asks) {
    for (const rule of ["Bash(rm *)", "Read(.env)"]) assert.equal(says(line, [rule]), "ask", `${line} with ${rule}`);
  }
  for (
    const line of [
      "sh build.sh -x",
      "bash ./build.sh",
      "cd sub && sh deep.sh",
      "./build.sh",
      "nice git log",
      "git push",
    ]
  ) {
    assert.equal(says(line, ["Bash(rm *)"]), "allow", line);
  }
  const texts = ["git commit -m 'Fix the bash completion'", "grep -n bash build.sh", "which sh", "echo 'git -c x'"];
  for (const line of texts) assert.equal(says(line, ["Bash(rm *)"]), "allow", line);
  for (const line of ["sh none.sh", "nice bash -c x", "env bash x"]) assert.equal(says(line, []), "allow", line);
});

test("deny Edit(src/**): a line that redirects there is denied, and one that only names a file there asks", () => {
  const write = (command: string) => behavior(command, { mode: "bypass", deny: ["Edit(src/**)"] });
  for (
    const line of [
      "echo x > src/a",
      "echo x >> 'src/a'",
      "ls; echo x >src/b/c",
      "cd src && echo x > a",
      "echo x > ./src/a",
    ]
  ) {
    assert.equal(write(line), "deny", line);
  }
  const asks = [
    ...[
      "echo x > $f",
      "echo x > s*/a",
      "echo x &> src/a",
      "echo x >| src/a",
      "echo x <> src/a",
      "echo x > src/../src/a",
    ],
    ...[
      "echo x > ~+/src/a",
      "cd src; cd ..; echo x > src/a",
      "pushd src; echo x > a",
      "echo x 2> src/a",
      "echo x > {src/a,b}",
    ],
    ...[
      "tee src/a",
      "cp x src/a",
      "mv x src",
      "rm -r src",
      "sed -i s/a/b/ src/a",
      "dd of=src/a",
      "sort a --output=src/a",
      "cd src && tee a",
    ],
    ...[
      "touch ./src/a",
      "git checkout src/a",
      "tee lib/../src/a",
      "cd - && tee a",
      "bash -c 'echo > src/a'",
      "cd /x && tee src/a",
    ],
  ];
  for (const line of asks) assert.notEqual(write(line), "allow", line);
  for (const line of ["cat src/a", "ls src", "npm test", "echo x > lib/a", "rm lib/a"]) {
    assert.equal(write(line), "allow", line);
  }
});

test("deny Read(.env): a command that only reads is denied the file, and any other that names it asks", () => {
  const read = (command: string) => behavior(command, { mode: "bypass", deny: ["Read(.env)"] });
  for (
    const line of [
      "cat .env",
      "cat ./.env",
      "head -n 1 '.env'",
      "wc < .env",
      "grep x a .env",
      "cd lib && cat .env",
      "sort .e''nv",
    ]
  ) {
    assert.equal(read(line), "deny", line);
  }
  const asks = [
    ...[
      "cat $f",
      "cat .en{v,}",
      "cat .\\env",
      "python x.py .env",
      "cp .env x",
      "source .env",
      ". ./.env",
      "tar c .env",
    ],
    ...[
      "dd if=.env",
      "curl -d @a --data=.env",
      "cat ../project/.env",
      "cat $(<.env)",
      "while read x; do a; done < .env",
    ],
    ...["sed p .env", "awk 1 lib/.env", "base64 -w 0 .env", "cd lib; less .env", "xargs cat < .env", "env cat .env"],
  ];
  for (const line of asks) assert.notEqual(read(line), "allow", line);
  for (const line of ["cat .env.example", "ls", "npm test"]) assert.equal(read(line), "allow", line);
  // Searches do not name what they open: they need a rule or a person.
  using folder = scratch({ ".env": "", "lib/a": "" });
  const asked = (line: string) => behavior(line, { deny: ["Read(.env)"] }, folder.path);
  for (const line of ["rg KEY", "grep -r KEY .", "git log -p", "git diff"]) assert.equal(asked(line), "ask", line);
  for (const line of ["rg KEY lib", "git log", "git status"]) assert.equal(asked(line), "allow", line);
});

test("a command that reads, moves or removes whole folders above a denied path asks, and one that lists names does not", () => {
  using folder = scratch({
    ".env": "",
    "src/deep/a": "",
    "src/b": "",
    "lib/c": "",
    "app/on/.env": "",
    "secret/key": "",
  });
  put(folder.path, { "node_modules/x/.env": "" });
  const says = (command: string, deny: string, cwd = ".") =>
    behavior(command, { mode: "bypass", deny: [deny], roots: [folder.path] }, join(folder.path, cwd));
  const table: [rule: string, asks: string[], passes: string[]][] = [
    ["Read(.env)", [
      ...[
        "grep -r X .",
        "grep -rn X",
        "grep -r -A 3 X",
        "grep -R X .",
        "rg X",
        "rg -z X",
        "git grep --no-index X",
        "git diff",
      ],
      ...[
        "git log -p",
        "git -C app grep X",
        "cp -r . /tmp/x",
        "tar c app",
        "mv app gone",
        "rm -rf app",
        "zip -r x app",
      ],
      ...["cat app/on/.env", "git archive HEAD", "git show HEAD:.env"],
    ], [
      ...[
        "ls -R",
        "grep -rn X lib",
        "rg X src lib",
        "git log --oneline",
        "rg --files",
        "git diff --stat",
        "git --no-pager log -3",
        "find . -name X",
        "git status",
        "git ls-files",
        "grep X lib/c",
        "rm -rf lib",
        "npm run lib",
        "cp -r src x",
      ],
      ...["rm -rf node_modules/y", "git commit -m x", "npm test", "wc -l lib/c"],
    ]],
    ["Edit(src/deep/**)", [
      ...[
        "rm -rf src",
        "mv src gone",
        "rm -rf .",
        "rm -rf ./src/",
        "git clean -fd",
        "git stash",
        "find -delete",
        "sed -i x src/deep/a",
      ],
      ...["rm -rf src/deep", "chmod -R 0 --dir=src", "cd src && rm -rf ."],
    ], ["rm -rf lib", "rm src/b", "grep -r X src", "rg X", "ls src", "git diff", "npm test", "git commit -m x"]],
    ["Read(secret/**)", ["grep -r X .", "grep -r X secret", "rg X", "git show", "tar c ."], [
      ...["grep -rn X lib", "grep -rin X lib src", "rg -n X src", "ls secret", "tar c lib", "git status"],
    ]],
    ["Edit(test/data/**)", ["rm -rf test", "bun x test", "npm test test/data/a"], [
      "npm test",
      "bun run test",
      "du -sh test",
      "tree .",
    ]],
    ["Edit(/lib/*.pem)", ["rm -rf ."], ["rm -rf lib", "rm lib/c"]],
  ];
  for (const [rule, asks, passes] of table) {
    for (const line of asks) assert.notEqual(says(line, rule), "allow", `${line} with ${rule}`);
    for (const line of passes) assert.equal(says(line, rule), "allow", `${line} with ${rule}`);
  }
  assert.equal(says("grep -r X .", "Read(secret/**)", "secret"), "deny");
  assert.equal(says("grep -r X .", "Read(secret/**)", "lib"), "allow");
});

test("an unread line under a deny rule asks whatever a hook says, and is refused with the reason if the user cannot be asked", async () => {
  const gate = permissionGate({ mode: "bypass", deny: ["Bash(rm *)"] });
  const call = {
    tool_name: "Bash",
    input: { command: "ls $x" },
    tool_use_id: "1",
    cwd: "/srv",
    effect: "write" as const,
  };
  const { behavior, reason } = await gate.permit(call, "allow");
  assert.equal(behavior, "ask");
  assert.match(
    reason,
    /the line is more than literal commands: it has '\$', which is not read, and the rule Bash\(rm \*\)/,
  );
  const free = await permissionGate({ allow: ["Bash(ls *)"] }).permit(call, "allow");
  assert.equal(free.behavior, "allow", "without such a rule a hook's allow counts");
});

test("a path through /proc or /dev/fd is unread and outside, also by a link", () => {
  using folder = scratch({ "secrets/key": "", ".git/config": "" });
  const root = folder.path;
  symlinkSync("/proc/self/cwd", join(root, "self"));
  symlinkSync("self", join(root, "again"));
  const says = (command: string, permissions: Permissions, cwd = ".") =>
    behavior(command, { roots: [root], ...permissions }, join(root, cwd));
  const reads = ["/proc/self/cwd/key", "//proc/./self/cwd/key", "/dev/fd/0", "/dev/stdin", "/x/../proc/1/cwd/key"]
    .map((path) => `cat ${path}`);
  for (const line of [...reads, "cat ../self/key", "cat < /proc/self/cwd/key", "head -n1 '/proc/self/cwd/key'"]) {
    for (const mode of ["default", "plan"] as const) {
      assert.notEqual(says(line, { mode, deny: ["Read(secrets/**)"] }, "secrets"), "allow", `${line} in ${mode}`);
    }
  }
  for (const line of ["cat self/key", "cat again/key", "cat < self/key", "sed p self/secrets/key"]) {
    assert.notEqual(says(line, { mode: "bypass", deny: ["Read(secrets/**)"] }), "allow", line);
  }
  for (
    const line of [
      "dd if=/proc/self/cwd/key",
      "cp /proc/self/root/key x",
      "curl -d @/proc/1/environ x",
      "sed -f/dev/fd/3",
    ]
  ) {
    assert.equal(says(line, { mode: "bypass", deny: ["Read(secrets/**)"] }, "secrets"), "ask", line);
    assert.equal(says(line, { mode: "bypass", deny: ["Bash(rm *)"] }), "ask", line);
  }
  for (const path of ["/proc/self/cwd/config", "../self/config", "/dev/fd/3"]) {
    assert.equal(says(`echo x > ${path}`, { mode: "acceptEdits" }, ".git"), "ask", path);
  }
  assert.equal(says("/proc/self/exe x", { mode: "bypass", deny: ["Bash(rm *)"] }), "ask");
  const file = (tool: string, path: string, permissions: Permissions) =>
    ofTool(tool, { file_path: join(root, path) }, { roots: [root], ...permissions }, { cwd: root }).behavior;
  assert.equal(file("Read", "self/secrets/key", { deny: ["Read(secrets/**)"], mode: "bypass" }), "deny");
  assert.equal(file("Write", "self/a", { mode: "acceptEdits" }), "ask");
});

test("a hard link of a denied file is the denied file, and one of any other file is not", () => {
  using folder = scratch();
  const cwd = folder.path;
  put(cwd, { "secrets/key": "k", "notes/a.txt": "a", "node_modules/p/index.js": "x" });
  linkSync(join(cwd, "secrets/key"), join(cwd, "notes/copy.txt"));
  linkSync(join(cwd, "notes/a.txt"), join(cwd, "notes/b.txt"));
  linkSync(join(cwd, "secrets/key"), join(cwd, "node_modules/p/key"));
  const rules: Permissions = { mode: "bypass", deny: ["Read(secrets/**)", "Edit(secrets/**)"] };
  const of = (tool: string, path: string) => ofTool(tool, { file_path: path }, rules, { cwd }).behavior;
  assert.deepEqual(["Read", "Edit"].map((tool) => of(tool, "notes/copy.txt")), ["deny", "deny"]);
  assert.equal(behavior("cat notes/copy.txt", rules, cwd), "deny");
  assert.deepEqual([of("Read", "notes/b.txt"), of("Edit", "notes/a.txt")], ["allow", "allow"]);
  assert.equal(of("Read", "node_modules/p/key"), "allow");
});

test("a redirection is decided where its path leads, and is unread if that is outside the workspace", () => {
  using folder = scratch();
  const root = join(folder.path, "project");
  for (const dir of ["project/gen", "project/.git", "outside"]) mkdirSync(join(folder.path, dir), { recursive: true });
  writeFileSync(join(root, "a"), "");
  symlinkSync(join(folder.path, "outside"), join(root, "docs"));
  symlinkSync(join(folder.path, "outside/key"), join(root, "gen/link"));
  symlinkSync(join(root, ".git"), join(root, "gen/git"));
  const says = (command: string, permissions: Permissions) =>
    behavior(command, { roots: [root], ...permissions }, root);
  const attacks = [
    ...[
      "echo x > docs/../authorized_keys",
      "echo x > docs/key",
      "echo x > gen/link",
      "echo x > /etc/passwd",
      "echo x > ../b",
    ],
    ...[
      "cd docs && echo x > key",
      "cd .. && echo x > b",
      "cd gen && echo x > link",
      "echo x > .git/config",
      "echo x > gen/git/config",
    ],
    ...["echo x > ~/b", "cat < docs/key", "cat < /etc/passwd", "make && echo x > gen/b", "echo x > gen/b | make"],
  ];
  for (const line of attacks) {
    assert.equal(says(line, { mode: "acceptEdits", allow: ["Bash(make *)"] }), "ask", line);
    assert.equal(says(line, { allow: ["Edit(gen/**)", "Bash(make *)", "Edit"] }), "ask", line);
  }
  for (const line of ["echo x > gen/b", "cd gen && echo x > b", "ls; cat < a >> gen/b", "make > gen/b 2>&1"]) {
    assert.equal(says(line, { mode: "acceptEdits", allow: ["Bash(make *)"] }), "allow", line);
    assert.equal(
      says(line, { allow: ["Edit(gen/**)", "Bash(make *)"] }),
      line.startsWith("cd") ? "ask" : "allow",
      line,
    );
    assert.equal(says(line, { allow: ["Bash(make *)"] }), "ask", line);
  }
});
