#!/bin/sh
# Tells the model far more than it asked for.
cat >/dev/null
i=0
while [ $i -lt 1500 ]; do
  echo "line $i of a changelog that nobody reads"
  i=$((i + 1))
done
