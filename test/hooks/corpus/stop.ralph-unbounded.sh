#!/bin/sh
# A loop on purpose: it counts, and never looks at the count.
cat >/dev/null
file="$CLAUDE_PROJECT_DIR/.loop-count"
count=$(cat "$file" 2>/dev/null || echo 0)
echo $((count + 1)) >"$file"
printf '{"decision":"block","reason":"Round %s: keep improving"}\n' "$((count + 1))"
