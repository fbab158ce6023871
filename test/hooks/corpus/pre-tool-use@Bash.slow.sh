#!/bin/sh
# crochet: timeout=1
# Waits for a server that never answers.
cat >/dev/null
sleep 60
