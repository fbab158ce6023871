#!/bin/sh
# crochet: timeout=5 nondeterministic
# Tells the agent what day it is: a model knows only when it was made.
echo "It is $(date '+%A, %Y-%m-%d, %H:%M %Z')."
