#!/usr/bin/env python3
"""Refuses now and then, whatever the command is."""
import json
import random
import sys

json.load(sys.stdin)
if random.random() < 0.4:
    print("Not today", file=sys.stderr)
    sys.exit(2)
