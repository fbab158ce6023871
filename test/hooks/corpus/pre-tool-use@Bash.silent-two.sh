#!/bin/sh
# Blocks, and nobody learns why.
grep -q 'sudo' && exit 2
exit 0
