/**
 * A script that finds programs which run the command in their arguments, and prints what goes before that command, such as
 * `timeout 1`. It tries the machine's small programs that can start others: only for a shell without network and rights.
 */
export const FIND_WRAPPERS: string = String.raw`
marks=$(mktemp -d); export marks; cd "$marks"
try() {
  mark=$marks/mark-${"$"}{1##*/}
  for before in "" 1 -o0 "-n 1" "-n 1 --" /tmp/lock "-o /dev/null" --; do
    timeout -s KILL 0.4 "$1" $before cp -f /dev/null "$mark" > /dev/null 2>&1 < /dev/null; status=$?
    [ -e "$mark" ] || continue
    [ $status != 0 ] || echo "${"$"}{1##*/}${"$"}{before:+ $before}"
    break
  done
}
export -f try
find /usr/bin -maxdepth 1 -type f -perm -1 -size -200k -exec grep -lEa 'execv|posix_spawn' {} + 2> /dev/null |
  xargs -d '\n' -n 1 -P 2 bash -c 'try "$1"' bash 2> /dev/null | sort
rm -rf "$marks"
`;
