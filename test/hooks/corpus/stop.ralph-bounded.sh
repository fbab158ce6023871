#!/bin/sh
# A loop on purpose: five times, counted in a file.
cat >/dev/null
file="$CLAUDE_PROJECT_DIR/.loop-count"
count=$(cat "$file" 2>/dev/null || echo 0)
if [ "$count" -ge 5 ]; then
  rm -f "$file"
  exit 0
fi
echo $((count + 1)) >"$file"
echo "Round $((count + 1)) of 5: improve the text" >&2
exit 2
