// Runs a table of cases "door × decision" from outside. A case is data; this file is the only code.
//   const rows = await runDoors(cases, { bin, bun, lib, startServer })   // [{ id, ok, why }]
// Places: $W a new folder for the case, $P its project, $H the home, $S the stranger's folder, $M a file that must not
// come into being unless the case says so, $ID the id of the log, $LIB the library's lib folder.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { spawn, spawnSync } from "node:child_process";

const ID = "aaaaaaaa-0000-4000-8000-00000000000a";
const OLD = new Date(Date.now() - 40 * 86400e3);

export function call(argv, { cwd, env, input = "", seconds = 20, pty }) {
  const line = pty ? ["python3", "-c", PTY, JSON.stringify(pty), ...argv] : argv;
  return new Promise((done) => {
    const child = spawn(line[0], line.slice(1), { cwd, env, stdio: ["pipe", "pipe", "pipe"], detached: true });
    let out = "", err = "", late = false;
    child.stdout.on("data", (d) => out += d);
    child.stderr.on("data", (d) => err += d);
    child.stdin.on("error", () => {});
    child.stdin.end(input);
    const timer = setTimeout(() => {
      late = true;
      try {
        process.kill(-child.pid, "SIGKILL");
      } catch { /* it has ended */ }
    }, seconds * 1000);
    child.on("close", (code) => {
      clearTimeout(timer);
      done({ code, out, err, late });
    });
    child.on("error", (error) => {
      clearTimeout(timer);
      done({ code: -1, out, err: String(error), late });
    });
  });
}

// Types lines into a terminal: [[seconds to wait, text], …]
const PTY = `
import pty,os,sys,time,select,json
typed=json.loads(sys.argv[1]); pid,fd=pty.fork()
if pid==0: os.environ['TERM']='xterm'; os.execvp(sys.argv[2],sys.argv[2:])
t0=time.time(); at=0; i=0; end=None
while True:
    r,_,_=select.select([fd],[],[],0.2)
    if r:
        try: x=os.read(fd,65536)
        except OSError: break
        if not x: break
        os.write(1,x)
    if i<len(typed) and time.time()-t0>at+typed[i][0]: os.write(fd,typed[i][1].encode()); at=time.time()-t0; i+=1
    if i>=len(typed) and end is None: end=time.time()+4
    if end and time.time()>end: os.kill(pid,9); break
`;

const put = (file, text) => {
  fs.mkdirSync(path.dirname(file), { recursive: true });
  fs.writeFileSync(file, text, /^#!/.test(text) ? { mode: 0o755 } : {});
};

export async function runDoors(cases, { bin, bun, lib, startServer, say = () => {}, call: other }) {
  const calls = other ? (argv, given) => other(argv, given, call) : call;
  const top = fs.mkdtempSync(path.join(os.tmpdir(), "doors-"));
  const base = {
    PATH: `${path.dirname(bun)}:${process.env.PATH}`,
    LANG: "C.UTF-8",
    ANTHROPIC_API_KEY: "k",
    TMPDIR: os.tmpdir(),
    GIT_AUTHOR_NAME: "a",
    GIT_AUTHOR_EMAIL: "a@b",
    GIT_COMMITTER_NAME: "a",
    GIT_COMMITTER_EMAIL: "a@b",
  };
  const served = async (turns, use) => {
    const server = await startServer({ scenario: { turns, exhausted: { text: "bye" } } });
    try {
      return [await use(server.url), server.messages().map(({ body }) => JSON.stringify(body))];
    } finally {
      await server.close();
    }
  };
  // One stranger's run, made once: a Bash call with its result, then a reply.
  const S = path.join(top, "stranger"), SH = path.join(top, "stranger-home");
  fs.mkdirSync(S);
  fs.mkdirSync(SH);
  const made = path.join(top, "MADE");
  put(path.join(S, "hooks/pre-tool-use@Bash.guard.mjs"), "export default () => undefined;\n");
  await calls([bin, "trust"], { cwd: S, env: { ...base, HOME: SH } });
  await served(
    [{ tools: [{ name: "Bash", input: { command: `touch ${made}` } }], chunk: 1000 }, { text: "STRANGERS-WORDS" }],
    (url) =>
      calls([bin, "run", "--permission-mode", "bypassPermissions", "go"], {
        cwd: S,
        env: { ...base, HOME: SH, ANTHROPIC_BASE_URL: url },
      }),
  );
  await calls([bin, "fixtures", "add", "last", "evil"], { cwd: S, env: { ...base, HOME: SH } });
  const runs = path.join(S, ".crochet/runs");
  const name = fs.readdirSync(runs).find((one) => one.endsWith(".jsonl"));
  const theirs = fs.readFileSync(path.join(runs, name), "utf8").replaceAll(name.slice(0, -6), ID);
  const edits = {
    // No result of the call: it would really run.
    "no-result": (lines) =>
      lines.filter((l) => !/^\{"(tool|begun)":|"type":"tool_(start|end)"/.test(l)).map((l) =>
        l.startsWith('{"message":2')
          ? JSON.stringify({ message: 2, lane: "main", role: "user", content: [{ type: "text", text: "x" }], at: 1 })
          : l
      ),
    // A person's answer.
    answer: (lines, { M }) => {
      const at = lines.findIndex((l) => l.startsWith('{"call":"main#1"'));
      return lines.toSpliced(
        at,
        0,
        JSON.stringify({
          asked: { permission: "Bash", input: { command: `touch ${M}` } },
          answer: { behavior: "allow" },
        }),
      );
    },
    // Without what hooks said.
    "no-verdict": (lines) => lines.filter((l) => !l.startsWith('{"hook"')),
    "cut-off": (lines) => {
      const at = lines.findIndex((l) => l.startsWith('{"call":"main#2"'));
      return lines.slice(0, at);
    },
    agent: (lines, { P }) =>
      lines.map((l, i) =>
        i === 0 ? l.replace('"agent":"crochet"', `"agent":${JSON.stringify(path.join(P, "evil.ts"))}`) : l
      ),
    none: (lines) => lines,
  };
  const rows = [];
  try {
    for (const one of cases) {
      const W = fs.mkdtempSync(path.join(top, "case-"));
      const at = { W, P: path.join(W, "project"), H: path.join(W, "home"), M: made, ID, LIB: lib, BIN: bin, S };
      const fill = (value) =>
        typeof value === "string"
          ? value.replace(/\$(W|P|H|M|ID|LIB|BIN|S)\b/g, (_, k) => at[k])
          : Array.isArray(value)
          ? value.map(fill)
          : value && typeof value === "object"
          ? Object.fromEntries(Object.entries(value).map(([k, v]) => [fill(k), fill(v)]))
          : value;
      fs.mkdirSync(at.P);
      fs.mkdirSync(at.H);
      fs.rmSync(made, { force: true });
      const c = fill(one);
      const env = { ...base, HOME: at.H, ...c.env };
      const abs = (p) => path.resolve(at.P, p);
      for (const [file, text] of Object.entries(c.files ?? {})) put(abs(file), text);
      for (const [file, to] of Object.entries(c.links ?? {})) {
        fs.mkdirSync(path.dirname(abs(file)), { recursive: true });
        fs.symlinkSync(to, abs(file));
      }
      for (const file of c.pipes ?? []) {
        fs.mkdirSync(path.dirname(abs(file)), { recursive: true });
        spawnSync("mkfifo", [abs(file)]);
      }
      for (const [file, bytes] of Object.entries(c.sizes ?? {})) {
        fs.mkdirSync(path.dirname(abs(file)), { recursive: true });
        fs.closeSync(fs.openSync(abs(file), "a"));
        fs.truncateSync(abs(file), bytes);
      }
      for (const file of c.old ?? []) fs.utimesSync(abs(file), OLD, OLD);
      if (c.log) {
        let lines = theirs.replaceAll(S, at.P).trim().split("\n");
        for (const edit of c.log.edits ?? []) lines = edits[edit](lines, at);
        put(abs(c.log.at ?? `.crochet/runs/${ID}.jsonl`), `${lines.join("\n")}\n`);
      }
      if (c.fixture) {
        fs.cpSync(path.join(S, "fixtures"), abs("fixtures"), { recursive: true });
        const tape = abs("fixtures/evil/tape.jsonl");
        let lines = fs.readFileSync(tape, "utf8").trim().split("\n");
        for (const edit of c.fixture.edits ?? []) lines = edits[edit](lines, at);
        fs.writeFileSync(tape, `${lines.join("\n")}\n`);
      }
      const problems = [];
      for (const step of c.steps) {
        const argv = step.run[0] === "bun" || step.run[0] === "sh" ? step.run : [bin, ...step.run];
        const stepEnv = { ...env, ...step.env };
        const [r, asked] = await served(
          step.turns ?? [{ text: "done" }],
          (url) =>
            calls(argv, {
              cwd: abs(step.cwd ?? "."),
              env: { ...stepEnv, ANTHROPIC_BASE_URL: url },
              input: step.input,
              seconds: step.seconds ?? 20,
              pty: step.pty,
            }),
        );
        const want = step.want ?? {};
        const text = r.out + r.err;
        const is = (ok, why) => {
          if (!ok) {
            problems.push(
              `${step.run.join(" ").slice(0, 60)}: ${why} [exit ${r.code}] ${text.slice(-200).replace(/\s+/g, " ")}`,
            );
          }
        };
        is(!r.late, `no end in ${step.seconds ?? 20} s`);
        if (want.code !== undefined && !r.late) {
          is([want.code].flat().includes(r.code), `exit ${r.code}, not ${want.code}`);
        }
        if (want.says) is(new RegExp(want.says).test(text), `does not say /${want.says}/`);
        if (want.never) is(!new RegExp(want.never).test(text), `says /${want.never}/`);
        if (want.asked) is(asked.some((body) => new RegExp(want.asked).test(body)), `no request has /${want.asked}/`);
        if (want.unasked) {
          is(!asked.some((body) => new RegExp(want.unasked).test(body)), `a request has /${want.unasked}/`);
        }
        for (const file of want.there ?? []) is(fs.existsSync(abs(file)), `${path.basename(file)} is not there`);
        for (const file of want.gone ?? []) is(!fs.existsSync(abs(file)), `${path.basename(file)} is there`);
      }
      rows.push({
        id: one.id,
        door: one.door,
        decision: one.decision,
        ok: problems.length === 0,
        why: problems.join(" | "),
      });
      say(rows.at(-1));
      fs.rmSync(W, { recursive: true, force: true });
    }
  } finally {
    fs.rmSync(top, { recursive: true, force: true });
  }
  return rows;
}
