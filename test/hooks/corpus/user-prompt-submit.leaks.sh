#!/bin/sh
# Tells the model the environment, keys and all.
cat >/dev/null
echo "The environment is:"
env
