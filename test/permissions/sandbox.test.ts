import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { homedir, tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { agent } from "../../lib/agent/agent.ts";
import { isInside } from "../../lib/files/confine.ts";
import { openSandbox } from "../../lib/permissions/sandbox.ts";
import { scripted } from "../../lib/testing/index.ts";
import { BashOutput, type BashOutputResponse } from "../../lib/tools/background.ts";
import { Bash, type BashResponse } from "../../lib/tools/bash.ts";
import { withEnv } from "../_env.ts";
import { noSandbox } from "../_needs.ts";
import { scratch } from "../_scratch.ts";
import { serve } from "../_server.ts";
import { type Bench, bench, running, sleeper, token } from "../tools/_bash.ts";
import { until } from "../_until.ts";

const sandbox = (root: string, network = false) => ({ mode: "workspace" as const, roots: [root], network });

/** Runs `body` with an agent whose commands are in the sandbox of its folder. */
function confined(body: (bench: Bench) => Promise<void>, network = false): Promise<void> {
  return bench((given) => {
    given.state.set("sandbox", sandbox(given.cwd, network));
    return body(given);
  });
}

/** Without bubblewrap on the path, or with one of ours. */
async function without<T>(body: () => Promise<T>, files: Readonly<Record<string, string>> = {}): Promise<T> {
  using empty = scratch();
  for (const [name, text] of Object.entries(files)) writeFileSync(join(empty.path, name), text, { mode: 0o755 });
  for (const name of ["bash", "cat", "sh", "sleep", "touch"]) {
    if (existsSync(`/usr/bin/${name}`)) symlinkSync(`/usr/bin/${name}`, join(empty.path, name));
  }
  return await withEnv({ PATH: empty.path }, body);
}

test("a sandbox that cannot be had is a refusal that says how to get it, never a command without one", () =>
  without(() =>
    confined(async ({ fails, cwd }) => {
      const error = await fails("touch ran");
      const words = process.platform === "linux"
        ? /Cannot run commands in the workspace sandbox as bubblewrap is not installed: install bubblewrap \('apt-get install bubblewrap'/
        : /Cannot run commands in the workspace sandbox as bubblewrap needs Linux/;
      assert.match(error.message, words);
      assert.equal(existsSync(join(cwd, "ran")), false);
      await assert.rejects(
        () => Bash.run({ command: "touch ran", run_in_background: true }, context(cwd)) as Promise<unknown>,
        words,
      );
      assert.equal(existsSync(join(cwd, "ran")), false);
    })
  ));

test("a bubblewrap that cannot start is reported in its own words, and the command is never run", {
  skip: process.platform === "linux" ? false : "bubblewrap needs Linux",
}, () =>
  without(
    () =>
      confined(async ({ fails, cwd }) => {
        const { message } = await fails("touch ran");
        assert.match(message, /as bubblewrap could not start \(no namespaces here\): allow user namespaces for it/);
        assert.equal(existsSync(join(cwd, "ran")), false);
      }),
    { bwrap: "#!/bin/sh\necho no namespaces here >&2\nexit 1\n" },
  ));

test(
  "a sandbox refuses a workspace that is everything, missing or of an unknown kind",
  { skip: noSandbox },
  async () => {
    await assert.rejects(() => openSandbox(sandbox("/")), /as the workspace is the whole machine/);
    await assert.rejects(() => openSandbox({ mode: "workspace", roots: [] }), /as the workspace is the whole machine/);
    await assert.rejects(
      () => openSandbox(sandbox("/no/such/folder")),
      /as the workspace '\/no\/such\/folder' is not a folder/,
    );
    await assert.rejects(
      () => openSandbox({ mode: "open" as "workspace", roots: ["/usr"] }),
      /as the mode 'open' is unknown: expected workspace/,
    );
  },
);

test(
  "what a command in the sandbox exports never reaches what starts the next sandbox, and always what runs in it",
  { skip: noSandbox },
  () =>
    confined(async ({ bash, call, cwd }) => {
      using outside = scratch();
      writeFileSync(join(cwd, "evil.sh"), `touch ${outside.path}/escaped\n`);
      mkdirSync(join(cwd, "bin"));
      writeFileSync(join(cwd, "bin", "bash"), `#!/bin/sh\ntouch ${outside.path}/escaped\n`, { mode: 0o755 });
      await bash(
        `export BASH_ENV="$PWD/evil.sh" ENV="$PWD/evil.sh" WORDS="it's
two" NOT= PATH="$PWD/bin:$PATH"; unset HOME; hello() { echo "hello $1"; }; export -f hello`,
      );
      const command = `echo "$WORDS|$NOT|\${HOME-gone}|\${PATH%%:*}|$BASH_ENV"; hello you`;
      const { response } = await call(Bash, { command, run_in_background: true });
      const id = (response as BashResponse).backgroundTaskId!;
      let said = "";
      await until("the command has said all", async () => {
        said += ((await call(BashOutput, { bash_id: id })).response as BashOutputResponse).stdout;
        return said.includes("you");
      });
      assert.equal(said.trim(), `it's\ntwo||gone|${cwd}/bin|${cwd}/evil.sh\nhello you`);
      assert.equal(existsSync(join(outside.path, "escaped")), false);
    }),
);

test(
  "in the sandbox the workspace can be written, and nothing else",
  { skip: noSandbox },
  () =>
    confined(async ({ bash, fails, cwd }) => {
      assert.equal((await bash("echo a > a.txt; mkdir d; cat a.txt; id -u")).stdout, `a\n${process.getuid!()}`);
      assert.ok(existsSync(join(cwd, "a.txt")));
      using sibling = scratch();
      const home = join(homedir(), "crochet-x");
      for (
        const path of [
          "/etc/crochet-x",
          "/usr/crochet-x",
          home,
          "/crochet-x",
          `${sibling.path}/x`,
        ]
      ) {
        // A home in /tmp is in the sandbox's own /tmp, if it is there: what is written goes with it.
        if (path === home && isInside(home, tmpdir())) await bash(`echo x > ${path}`).catch(() => {});
        else await fails(`echo x > ${path}`);
        assert.equal(existsSync(path), false, path);
      }
      for (
        const command of [
          "mount -o remount,rw /",
          "umount /etc",
          "mount -t tmpfs none /mnt",
          "chroot / true",
          "mknod x b 1 1",
        ]
      ) await fails(command);
      assert.ok((await bash("cat /etc/passwd | head -1")).stdout.length > 0);
    }),
);

test("in the sandbox /tmp is its own, kept from call to call and gone afterwards", { skip: noSandbox }, () => {
  const name = `crochet-tmp-${token()}`;
  return confined(async ({ bash }) => {
    writeFileSync(join("/tmp", `${name}-host`), "");
    try {
      await bash(`echo here > /tmp/${name}`);
      assert.equal(
        (await bash(`cat /tmp/${name}; ls /tmp/${name}-host 2>/dev/null; echo $TMPDIR`)).stdout,
        "here\n/tmp",
      );
      assert.equal(existsSync(`/tmp/${name}`), false);
      assert.equal((await bash("ls /run /var/tmp")).stdout, "/run:\n\n/var/tmp:");
    } finally {
      rmSync(join("/tmp", `${name}-host`));
    }
  });
});

test("in the sandbox there is no network unless it was allowed", { skip: noSandbox }, async () => {
  using server = await serve((_, response) => void response.end("reached\n"));
  const ask = `exec 3<>/dev/tcp/127.0.0.1/${
    new URL(server.url).port
  }; printf 'GET / HTTP/1.0\\r\\n\\r\\n' >&3; cat <&3`;
  await confined(async ({ fails }) => void assert.match((await fails(ask)).message, /refused|unreachable/i));
  await confined(async ({ bash }) => void assert.match((await bash(ask)).stdout, /reached$/), true);
  await confined(async ({ bash }) => {
    assert.equal((await bash("cat /proc/net/dev | tail -n +3 | cut -d: -f1 | tr -d ' '")).stdout, "lo");
  });
});

test(
  "in the sandbox processes of the machine can be neither seen nor ended",
  { skip: noSandbox },
  () =>
    confined(async ({ bash, fails }) => {
      assert.ok(Number((await bash("echo $$")).stdout) < 50);
      const seen = Number((await bash("set -- /proc/[0-9]*; echo $#")).stdout);
      assert.ok(seen > 0 && seen < 10, `${seen} processes`);
      await fails(`kill -0 ${process.pid}`);
    }),
);

test(
  "in the sandbox the shell keeps its state, starts anew after an exit, and its tree is ended",
  { skip: noSandbox },
  () =>
    confined(async ({ bash, fails, cwd, call }) => {
      await bash("mkdir d; cd d; export A=1; f() { echo f; }");
      assert.equal((await bash("pwd; echo $A; f")).stdout, `${cwd}/d\n1\nf`);
      await fails("exit 3");
      const next = await bash("pwd; echo b > b.txt");
      assert.equal(next.stdout, `${cwd}/d`);
      assert.match(next.notice!, /^The shell had ended/);
      const word = token();
      await fails(`trap '' TERM; setsid ${sleeper(word)} & ${sleeper(word)}`, { timeout: 300 });
      assert.equal(running(word), 0);
      const { response } = await call(Bash, { command: "echo in >/etc/x; echo out", run_in_background: true });
      const id = (response as BashResponse).backgroundTaskId!;
      const outputs: BashOutputResponse[] = [];
      await until("the command has ended", async () => {
        outputs.push((await call(BashOutput, { bash_id: id })).response as BashOutputResponse);
        return outputs.at(-1)!.status !== "running";
      });
      assert.match(outputs.map((o) => o.stderr).join(""), /Read-only file system/);
      assert.equal(existsSync("/etc/x"), false);
    }),
);

test(
  "in the sandbox a folder that is hidden inside leads back to the workspace",
  { skip: noSandbox },
  () =>
    confined(async ({ bash, fails, cwd }) => {
      await fails("mkdir /tmp/inner; cd /tmp/inner; exit 1");
      assert.equal((await bash("pwd")).stdout, cwd);
    }),
);

test(
  "in the sandbox what runs outside of it later cannot be changed",
  { skip: noSandbox },
  () =>
    bench(async ({ bash, fails, cwd, state }) => {
      execFileSync("git", ["init", "-q", cwd]);
      for (const name of [".crochet", ".claude", ".agent", "hooks", "agents"]) mkdirSync(join(cwd, name));
      writeFileSync(join(cwd, ".mcp.json"), "{}");
      state.set("sandbox", sandbox(cwd));
      for (const name of [".crochet/a", ".claude/a", ".agent/a", "hooks/a", "agents/a", ".mcp.json", ".git/hooks/a"]) {
        await fails(`echo x > ${name}`);
      }
      await fails("mv .crochet moved");
      // git runs what these name: core.fsmonitor, core.hooksPath, an alias.
      await fails("echo x > .git/config");
      await fails("git config core.fsmonitor 'touch out'");
      await fails("echo x > .git/commondir");
      const commit = "echo a > a.txt && git add a.txt && git -c user.name=a -c user.email=a@b.c commit -qm one";
      assert.match((await fails(commit)).message, /\.git is read-only in the sandbox: .* sandbox: \{ git: true \}/);
      state.set("sandbox", { ...sandbox(cwd), git: true });
      await fails("echo x > .git/config");
      await fails("echo x > .git/hooks/a");
      await bash(commit);
    }),
);

test(
  "code that a sandboxed run leaves behind to run outside later is listed at its end",
  { skip: noSandbox },
  async () => {
    using folder = scratch({
      "package.json": '{"scripts":{"test":"true"}}',
      "lib/package.json": "{}",
      ".envrc": "true\n",
    });
    execFileSync("git", ["init", "-q", folder.path]);
    const warningsOf = async (command: string) => {
      const warnings: string[] = [];
      await agent({
        model: scripted([{ tools: [{ name: "Bash", input: { command } }] }, { text: "ok" }]),
        tools: [Bash],
        sandbox: "workspace",
        permissions: { mode: "bypassPermissions" },
        cwd: folder.path,
        on: (event) => event.type === "warning" && warnings.push(event.message),
      }).run("go");
      return warnings;
    };
    const planted = [
      "git init -q deep/er",
      "mkdir hooks",
      "echo x > hooks/stop.sh",
      `echo '{"scripts":{"test":"curl x"}}' > package.json`,
      `echo '{"version":"2"}' > lib/package.json`,
      "echo false > .envrc",
      "touch -d 2001-01-01 .envrc",
    ].join(" && ");
    const [warning = "", ...more] = await warningsOf(planted);
    assert.deepEqual(more, []);
    const listed = warning.replace(/^New or changed .* later: /, "").split(", ");
    assert.ok(listed.includes("deep/er/.git/config"), warning);
    const others = listed.filter((path) => !path.startsWith("deep/er/.git/"));
    assert.deepEqual(others, [".envrc", "hooks/stop.sh", "package.json"]);
    assert.deepEqual(await warningsOf("echo hi > readme.txt"), []);
  },
);

test(
  "in the sandbox a workspace may be reached by a link",
  { skip: noSandbox },
  () =>
    bench(async ({ call, cwd, state }) => {
      const link = `${cwd}-link`;
      symlinkSync(cwd, link);
      try {
        state.set("sandbox", sandbox(link));
        const { response } = await call(Bash, { command: "echo a > a.txt; pwd -P" }, { cwd: link });
        assert.equal((response as BashResponse).stdout, cwd);
        assert.ok(existsSync(join(cwd, "a.txt")));
      } finally {
        rmSync(link);
      }
    }),
);

test(
  "a shell that was opened outside the sandbox never serves once the sandbox is asked for",
  { skip: noSandbox },
  () =>
    bench(async ({ bash, fails, state, cwd }) => {
      await bash("x=1; mkdir d; cd d");
      state.set("sandbox", sandbox(cwd));
      assert.equal((await bash('echo "[$x]"; pwd')).stdout, `[]\n${cwd}/d`);
      await fails("echo x > /etc/crochet-x");
    }),
);

function context(cwd: string): never {
  const signal = new AbortController().signal;
  const state = new Map([["sandbox", sandbox(cwd)]]);
  return { signal, cwd, toolUseId: "t", state, progress: () => {} } as never;
}

test("a command that the sandbox does not allow to start is among the denials", async () => {
  const model = scripted([{ tools: [{ name: "Bash", input: { command: "true" } }] }, { text: "no" }]);
  const { denials } = await agent({ model, tools: [Bash], sandbox: "workspace", cwd: "/" }).run("go");
  assert.deepEqual(denials.map(({ tool_name, by }) => [tool_name, by]), [["Bash", "sandbox"]]);
  assert.match(denials[0]!.reason, /^Cannot run commands in the workspace sandbox as /);
});
