"""`replay-sim schema`: the JSON Schemas of what goes in and what comes out."""

from __future__ import annotations

import argparse
import json
import sys
from typing import Any

from replay_sim import schemas


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "schema",
        help="print the JSON Schema of a report, a line of --requests, or a configuration",
        description="Print a JSON Schema (draft 2020-12).",
        allow_abbrev=False,
    )
    parser.add_argument("of", choices=tuple(schemas.SCHEMAS), help="the document")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> None:
    """Print the schema."""
    sys.stdout.write(json.dumps(schemas.schema(given.of), indent=2) + "\n")
