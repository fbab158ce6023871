#!/usr/bin/env python3
"""The context stands where no host of this kind looks for it."""
import json
import sys

json.load(sys.stdin)
print(json.dumps({"additionalContext": "The style guide is in docs/style.md"}))
