#!/usr/bin/env python3
"""Falls over the first letter that is not English."""
import json
import sys

event = json.load(sys.stdin)
words = event["prompt"].encode("ascii").split()
if len(words) > 2000:
    print("A long prompt: answer its parts one by one.")
