"""`replay-sim plan`: the fewest workers that meet an SLA."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from replay_sim import api, config, options, planner, timing
from replay_sim.cli import arguments
from replay_sim.cli.console import log, show
from replay_sim.cli.progress import ReplayBar

#: The options that every replay of a search shares; the planner decides the pools.
SHARED = [option for option in options.OPTIONS if not option.setting.startswith("cluster.")]
#: Options that are settings of the planner itself.
OWN = {"engine": "backend", "timing": "performance_model"}


def register(commands: Any) -> None:
    """Add the command to the parser."""
    parser: argparse.ArgumentParser = commands.add_parser(
        "plan",
        help="find the fewest workers that meet an SLA; exit code 1 if none do",
        description="Find the fewest workers that meet an SLA on a trace. Every step of the search "
        "is a replay.",
        epilog="Options go before the configuration file (-c): a planner configuration, whose "
        "table `replay` holds the settings of the replays.",
        allow_abbrev=False,
    )
    parser.add_argument("traces", nargs="+", type=Path, metavar="TRACE", help="plain or gzip")
    parser.add_argument(
        "-c", "--config", type=Path, metavar="FILE", help="settings as TOML, JSON or YAML"
    )
    search = parser.add_argument_group("search")
    search.add_argument(
        "--backend",
        choices=tuple(planner.BACKENDS),
        help="what to plan for (default: vllm); mocker needs --timing",
    )
    search.add_argument(
        "--tensor-parallel-size", type=int, metavar="N", help="GPUs of one worker (default: 1)"
    )
    search.add_argument(
        "--goodput",
        type=float,
        metavar="SHARE",
        help="share of all requests that must meet the SLA (default: 0.99)",
    )
    search.add_argument(
        "--max-workers", type=int, metavar="N", help="most workers that are tried (default: 64)"
    )
    arguments.add_options(parser, [option for option in SHARED if option.name != "engine"])
    parser.add_argument(
        "--format",
        choices=("table", "json"),
        default="table",
        help="what goes to standard output: a table, or the whole plan (default: table)",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Search, print the plan; return the exit code."""
    checked = planner.validate(_document(given))
    with ReplayBar() as bar:

        def watch(workers: Mapping[str, int], progress: api.Progress) -> None:
            bar.update(f"replaying {_pools(workers)}", progress)

        found = planner.plan(*given.traces, config=checked, progress=watch)
    if given.format == "json":
        sys.stdout.write(json.dumps(found, indent=2) + "\n")
    else:
        show(_verdict(found, checked), _probes(found))
    if found["plan"] is None:
        log.print("[bold yellow]no plan:[/] ", end="")
        log.print(found["reason"], markup=False)
        return 1
    return 0


def _document(given: argparse.Namespace) -> dict[str, Any]:
    document: dict[str, Any] = {"backend": "vllm"}
    if given.config is not None:
        document |= config.read(given.config)
        if "performance_model" in document:
            model, folder = document["performance_model"], given.config.parent
            document["performance_model"] = timing.resolve(model, folder)
    for name in ("backend", "tensor_parallel_size", "goodput", "max_workers"):
        if getattr(given, name) is not None:
            document[name] = getattr(given, name)
    if given.timing is not None:
        document["performance_model"] = timing.parse(given.timing)
    for own in (True, False):
        place = document if own else document.setdefault("replay", {})
        chosen = {
            option.name: getattr(given, option.name)
            for option in SHARED
            if option.setting.startswith("sla.") == own and option.name not in OWN
        }
        options.apply(place, chosen)
    return document


def _pools(workers: Mapping[str, int]) -> str:
    return " + ".join(f"{count:,} {pool}" for pool, count in workers.items())


def _verdict(found: planner.Plan, checked: planner.PlannerConfig) -> Table:
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold cyan")
    table.add_column()
    sla = checked.replay["sla"]
    bounds = [f"{name} <= {bound:,g}" for name, bound in sla.items() if bound is not None]
    table.add_row("plan", "none" if found["plan"] is None else f"{_pools(found['plan'])} workers")
    table.add_row("SLA", f"{', '.join(bounds)} for {checked.goodput:.2%} of requests")
    table.add_row("reached", _reached(found["best"]))
    if found["next_smaller"] is not None:
        missing = _missing(found["next_smaller"], checked.goodput)
        smaller = _reached(found["next_smaller"])
        table.add_row("one less", f"{smaller}: {missing:,} requests too few")
    model = checked.performance_model
    table.add_row(
        "pass times", f"{model.specification['type']} ({model.provenance}): {model.source}"
    )
    return table


def _reached(probe: planner.Probe) -> str:
    good = probe["figures"]["goodput_completed_requests"]
    return f"{probe['goodput']:.2%}, {good:,} of {probe['figures']['num_requests']:,} requests"


def _missing(probe: planner.Probe, wanted: float) -> int:
    """How many more requests would have to meet the SLA."""
    total = int(probe["figures"]["num_requests"] or 0)
    good = int(probe["figures"]["goodput_completed_requests"] or 0)
    return next((more for more in range(total - good + 1) if (good + more) / total >= wanted), 0)


def _probes(found: planner.Plan) -> Table:
    table = Table(title="Replays of the search, simulated ms", title_justify="left")
    labels = ("workers", "goodput", "TTFT mean", "TTFT p99", "ITL mean", "ITL p99", "GPU hours")
    for label in labels:
        table.add_column(label, justify="right")
    names = ("mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "p99_tpot_ms")
    for probe in found["probes"]:
        figures = probe["figures"]
        latencies = [figures[name] for name in names]
        table.add_row(
            _pools(probe["workers"]),
            f"{probe['goodput']:.2%}",
            *("-" if value is None else f"{value:,.1f}" for value in latencies),
            f"{figures['gpu_hours']:,.2f}",
        )
    return table
