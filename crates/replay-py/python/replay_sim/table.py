"""The summary as a table for people."""

from __future__ import annotations

from rich.table import Table

from replay_sim.api import Result

#: Row label, name in the summary.
LATENCIES = (
    ("TTFT", "ttft_ms"),
    ("TTST", "ttst_ms"),
    ("ITL, pooled", "itl_ms"),
    ("ITL, request", "tpot_ms"),
    ("E2E", "e2e_latency_ms"),
)
STATISTICS = ("mean", "median", "p90", "p95", "p99", "max")


def render(result: Result) -> tuple[Table, Table]:
    """Return the tables of a result."""
    return _totals(result), _latencies(result)


def _latencies(result: Result) -> Table:
    table = Table(title="Latency, simulated ms", title_justify="left")
    table.add_column("", no_wrap=True)
    for statistic in STATISTICS:
        table.add_column(statistic, justify="right")
    figures: dict[str, object] = dict(result.summary)
    for label, name in LATENCIES:
        table.add_row(label, *(_number(figures[f"{stat}_{name}"]) for stat in STATISTICS))
    return table


def _totals(result: Result) -> Table:
    summary, settings = result.summary, result.report["configuration"]
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold cyan")
    table.add_column()
    done = f"{summary['completed_requests']:,} of {summary['num_requests']:,} completed"
    for count, word in (
        (summary["rejected_requests"], "rejected: they can never fit"),
        (summary["unfinished_requests"], "unfinished at the time limit"),
    ):
        if count:
            done += f", {count:,} {word}"
    engine = settings["engine"]
    cache = engine["num_gpu_blocks"] * engine["block_size"]
    rows = [
        (
            "cluster",
            f"{settings['cluster']['workers']} x {engine['backend']}, {cache:,} KV tokens each, "
            f"router {settings['router']['policy']}",
        ),
        ("requests", done),
        (
            "tokens",
            f"{summary['total_input_tokens']:,} in, {summary['total_output_tokens']:,} out",
        ),
        (
            "throughput",
            f"{summary['request_throughput_rps']:,.2f} requests/s, "
            f"{summary['output_throughput_tok_s']:,.0f} output tokens/s",
        ),
        ("prefix reuse", _reuse(result)),
        ("GPU hours", f"{summary['gpu_hours']:,.2f}"),
        (
            "simulated",
            f"{summary['duration_ms'] / 1e3:,.1f} s, replayed in {result.wall_seconds:,.2f} s",
        ),
    ]
    if summary["extrapolated_passes"]:
        share = summary["extrapolated_passes"] / summary["forward_passes"]
        rows.append(("pass times", f"{share:.2%} of the passes lie outside of the measured points"))
    if "goodput_completed_requests" in summary:
        good = summary["goodput_completed_requests"]
        rate = summary["goodput_request_throughput_rps"]
        rows.append(("goodput", f"{good:,} requests within the SLA, {rate:,.2f} requests/s"))
    for row in rows:
        table.add_row(*row)
    return table


def _reuse(result: Result) -> str:
    first = result.summary["first_admission_prefix_cache_reused_ratio"]
    if first is None:
        return "-"
    preemptions = result.summary["preemptions"]
    return f"{first:.2%} of prompt tokens at first admission, {preemptions:,} preemptions"


def _number(value: object) -> str:
    if not isinstance(value, float):
        return "-"
    return f"{value:,.1f}" if value < 10_000 else f"{value:,.0f}"
