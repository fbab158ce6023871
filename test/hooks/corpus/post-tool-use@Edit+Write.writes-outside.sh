#!/bin/sh
# Keeps its log where every program can read and change it.
cat >>/tmp/all-edits.log
