#!/bin/sh
# A loop that somebody has to begin: it goes on for as long as its file is there, and never removes it.
cat >/dev/null
[ -f .loop/prompt.txt ] || exit 0
cat .loop/prompt.txt >&2
exit 2
