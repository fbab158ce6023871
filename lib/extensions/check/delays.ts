import { mkdirSync, writeFileSync } from "node:fs";
import { delimiter, join } from "node:path";
import { onPath } from "../../process/programs.ts";

/** Wraps `fs`: waits before what is done with a file, but for files of code, which every program reads. */
const NODE = String.raw`
const fs = require("node:fs");
let seed = (Number(process.env.CROCHET_DELAYS) + Math.imul(process.pid, 7919)) >>> 0, left = 60;
const next = () => left-- > 0 ? (seed = (Math.imul(seed, 1664525) + 1013904223) >>> 0) >>> 27 : 0;
const cell = new Int32Array(new SharedArrayBuffer(4));
const isCode = (path) => /node_modules|\.[cm]?[jt]sx?$|\.json5?$/.test(String(path)) && !/\.claude|state/.test(String(path));
for (const name of ["readFile", "writeFile", "appendFile", "open", "rename", "unlink", "rm", "mkdir", "stat", "copyFile", "access"]) {
  const { [name]: called, [name + "Sync"]: sync } = fs, promised = fs.promises[name];
  const slowly = (path, go) => isCode(path) ? go() : setTimeout(go, next());
  fs[name] = (...given) => void slowly(given[0], () => called(...given));
  fs[name + "Sync"] = (...given) => (isCode(given[0]) || Atomics.wait(cell, 0, 0, next()), sync(...given));
  fs.promises[name] = async (...given) => (await new Promise((go) => slowly(given[0], go)), promised(...given));
}
try { require("node:module").syncBuiltinESMExports(); } catch {}
`;

/** Wraps open, os and sqlite3, and then loads the sitecustomize that it hides. */
const PYTHON = String.raw`
import builtins, io, os, random, sys, time
_random = random.Random(int(os.environ.get("CROCHET_DELAYS", "0")) * 65537 + os.getpid())
_left = [60]
def _slow(called):
    def slowly(*given, **named):
        if _left[0] > 0:
            _left[0] -= 1
            time.sleep(_random.random() * 0.03)
        return called(*given, **named)
    return slowly
builtins.open = io.open = _slow(builtins.open)
for _name in ("open", "rename", "replace", "remove", "mkdir", "link"):
    setattr(os, _name, _slow(getattr(os, _name)))
_import = builtins.__import__
def _watch(name, *given, **named):
    module = _import(name, *given, **named)
    if name == "sqlite3" and not hasattr(module, "_slow"):
        class Slow(module.Connection):
            execute = lambda self, *a: _slow(super(Slow, self).execute)(*a)
        connect = module.connect
        module.connect = lambda *a, **k: connect(*a, **{"factory": Slow, **k})
        module._slow = True
    return module
builtins.__import__ = _watch
from importlib.machinery import PathFinder
from importlib.util import module_from_spec
_spec = PathFinder.find_spec("sitecustomize", [p for p in sys.path if p != os.path.dirname(os.path.abspath(__file__))])
if _spec: _spec.loader.exec_module(module_from_spec(_spec))
`;

/** Waits before each command of the first shell: those that it starts would add up. */
const BASH = String.raw`
[ -z "$CROCHET_DELAYED" ] || return 0
export CROCHET_DELAYED=1
RANDOM=$(( (CROCHET_DELAYS + $$) % 32768 )); crochet_left=16
crochet_wait() { [ "$crochet_left" -gt 0 ] || return 0; crochet_left=$((crochet_left - 1)); command -p sleep "0.0$((RANDOM % 2))$((RANDOM % 10))"; }
trap crochet_wait DEBUG
`;

/** Programs by which scripts of other shells read and write files. */
const PROGRAMS = "cat jq grep sed awk head tail cut tr wc date expr mkdir mv rm cp touch".split(" ");

/** A program of the same name that waits after it: what a script has read is then old when it writes. */
const stub = (path: string) =>
  `#!/bin/sh\n'${path}' "$@"; code=$?\n[ -n "$CROCHET_DELAYED" ] || command -p sleep "0.0$(( ($$ * 31 + \${CROCHET_DELAYS:-0}) % 5 ))"\nexit $code\n`;

/** The environment in which a hook waits at each file operation, by what its interpreter takes from outside. */
export function delaysIn(
  folder: string,
  env: Readonly<Record<string, string | undefined>>,
  seed: number,
): { readonly [name: string]: string } {
  const at = (name: string) => join(folder, name);
  mkdirSync(at("bin"), { recursive: true });
  for (const [name, text] of Object.entries({ "node.cjs": NODE, "sitecustomize.py": PYTHON, "bash.sh": BASH })) {
    writeFileSync(at(name), text);
  }
  for (const name of PROGRAMS) {
    const path = onPath(name, env);
    if (path !== undefined) writeFileSync(at(`bin/${name}`), stub(path), { mode: 0o755 });
  }
  const list = (...parts: (string | undefined)[]) => parts.filter((part) => part !== undefined && part !== "");
  return {
    CROCHET_DELAYS: String(Math.abs(seed) % 30_000),
    NODE_OPTIONS: list(`--require ${at("node.cjs")}`, env.NODE_OPTIONS).join(" "),
    PYTHONPATH: list(folder, env.PYTHONPATH).join(delimiter),
    PYTHONDONTWRITEBYTECODE: "1",
    BASH_ENV: at("bash.sh"),
    PATH: list(at("bin"), env.PATH ?? "/usr/local/bin:/usr/bin:/bin").join(delimiter),
  };
}
