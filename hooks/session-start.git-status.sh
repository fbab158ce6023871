#!/bin/sh
# crochet: timeout=10 nondeterministic
# Shows the agent the state of the work: the branch, the last commits, what is not committed.
# A repository inside a clone names programs in its settings: none of them runs.
git() { command git -c safe.bareRepository=explicit -c core.fsmonitor=false "$@"; }
git rev-parse --is-inside-work-tree >/dev/null 2>&1 || exit 0
branch=$(git branch --show-current)
echo "Git branch: ${branch:-detached at $(git rev-parse --short HEAD)}"
commits=$(git log --oneline --no-decorate -5 2>/dev/null)
[ -n "$commits" ] && printf 'Last commits:\n%s\n' "$commits"
changes=$(git status --short | head -n 30)
if [ -n "$changes" ]; then
  printf 'Not committed:\n%s\n' "$changes"
else
  echo "Everything is committed."
fi
