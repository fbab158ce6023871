#!/bin/sh
# crochet: timeout=10 mode=observe nondeterministic
# Shows on the desktop what the agent wants. Does nothing without a desktop.
event=$(cat)
field() {
  printf '%s' "$event" | sed -nE 's/.*"'"$1"'":"(([^"\\]|\\.)*)".*/\1/p' | sed 's/\\"/"/g; s/\\n/ /g; s/\\\\/\\/g'
}
message=$(field message)
title=$(field title)
[ -n "$message" ] || exit 0
if command -v notify-send >/dev/null 2>&1; then
  notify-send -- "${title:-Agent}" "$message"
elif command -v osascript >/dev/null 2>&1; then
  osascript -e 'on run argv' -e 'display notification (item 2 of argv) with title (item 1 of argv)' -e 'end run' \
    "${title:-Agent}" "$message"
fi
exit 0
