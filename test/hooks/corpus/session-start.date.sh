#!/bin/sh
# crochet: nondeterministic
# Tells the model what day it is.
cat >/dev/null
date '+Today is %A.'
