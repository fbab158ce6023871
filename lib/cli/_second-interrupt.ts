/**
 * Ends this process at the second Ctrl-C, whatever it does: while a module hook loops, no handler of ours can run. The
 * terminal sends Ctrl-C to all processes in front, so a small shell counts along; it ends when our end of its pipe does.
 */
export function endAtSecondInterrupt(): () => void {
  const { isatty } = process.getBuiltinModule("node:tty");
  if (!isatty(0) && !isatty(2)) return () => {};
  const { spawn } = process.getBuiltinModule("node:child_process");
  const shell = spawn("/bin/sh", ["-c", COUNTS], { stdio: ["pipe", "ignore", "ignore"] });
  shell.on("error", () => {}); // then Ctrl-C works as far as handlers do
  shell.unref();
  (shell.stdin as { unref?: () => void }).unref?.();
  return () => shell.stdin.end();
}

/**
 * `cat` ends when the pipe does; `wait` is what a trap interrupts in every shell. A second is enough for a process whose
 * handlers run. Who the parent is, is asked anew: its number may be another's by then.
 */
const COUNTS = `n=0
trap 'n=$((n + 1))' INT
exec 3<&0
cat <&3 > /dev/null &
while [ $n -lt 2 ]; do wait $!; [ $? -gt 128 ] || exit; done
sleep 1
[ "$(ps -o ppid= -p $$ | tr -d ' ')" = "$PPID" ] && kill -KILL "$PPID"
kill $!`;
