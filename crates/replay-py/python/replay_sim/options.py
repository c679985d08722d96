"""The settings that have a short name: the options of `replay-sim run` and of `replay_sim.run`.

The table below is all there is to an option: its flag, the setting it fills in the configuration
document, its type and its help. Defaults live in the Rust core alone.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypedDict

from replay_sim import timing
from replay_sim.errors import ConfigError


class Options(TypedDict, total=False):
    """Keyword arguments of `replay_sim.run`."""

    trace_format: Literal[
        "mooncake", "mooncake-delta", "azure", "applied-compute-agentic", "dynamo"
    ]
    trace_block_size: int
    block_size: int
    num_gpu_blocks: int
    max_num_seqs: int
    max_num_batched_tokens: int
    max_model_len: int
    prefix_caching: bool
    chunked_prefill: bool
    engine: Literal["vllm"]
    timing: str
    workers: int
    dp_size: int
    router: Literal["round_robin", "kv_router"]
    speedup: float
    concurrency: int
    seed: int
    max_sim_time: float
    sla_ttft: float
    sla_itl: float


@dataclass(frozen=True)
class Option:
    """One option: `name` is its keyword, `setting` its dotted place in the document."""

    name: str
    setting: str
    group: str
    help: str
    type: Callable[[str], Any] = str
    metavar: str | None = None
    choices: tuple[str, ...] | None = None
    #: A flag that switches off what is on by default.
    switch_off: bool = False
    #: From the value given to the value of the document.
    convert: Callable[[Any], Any] = lambda value: value

    @property
    def flag(self) -> str:
        """The option on the command line."""
        return ("--no-" if self.switch_off else "--") + self.name.replace("_", "-")


def _seconds_to_ms(seconds: float) -> float:
    return seconds * 1000.0


OPTIONS = (
    Option(
        "trace_format",
        "trace.format",
        "trace",
        "format of the trace files",
        choices=("mooncake", "mooncake-delta", "azure", "applied-compute-agentic", "dynamo"),
    ),
    Option(
        "trace_block_size",
        "trace.block_size",
        "trace",
        "tokens that one hash id of the trace stands for",
        int,
        "TOKENS",
    ),
    Option("engine", "engine.backend", "engine", "engine model", choices=("vllm",)),
    Option(
        "block_size",
        "engine.block_size",
        "engine",
        "tokens of one KV cache block; must divide the trace block size",
        int,
        "TOKENS",
    ),
    Option(
        "num_gpu_blocks",
        "engine.num_gpu_blocks",
        "engine",
        "KV cache blocks of one worker",
        int,
        "BLOCKS",
    ),
    Option(
        "max_num_seqs",
        "engine.max_num_seqs",
        "engine",
        "requests that run at once on one worker",
        int,
        "N",
    ),
    Option(
        "max_num_batched_tokens",
        "engine.max_num_batched_tokens",
        "engine",
        "tokens that one forward pass computes",
        int,
        "TOKENS",
    ),
    Option(
        "max_model_len",
        "engine.max_model_len",
        "engine",
        "longest prompt plus output; longer outputs are cut, longer prompts rejected",
        int,
        "TOKENS",
    ),
    Option(
        "prefix_caching",
        "engine.enable_prefix_caching",
        "engine",
        "forget every block as soon as its request ends",
        switch_off=True,
    ),
    Option(
        "chunked_prefill",
        "engine.enable_chunked_prefill",
        "engine",
        "compute every prompt in a single pass; a larger one is rejected",
        switch_off=True,
    ),
    Option(
        "timing",
        "engine.timing",
        "engine",
        "time of a forward pass: polynomial, fixed:PREFILL_MS,DECODE_MS, or table:FILE.csv",
        metavar="MODEL",
        convert=timing.parse,
    ),
    Option("workers", "cluster.workers", "cluster", "workers", int, "N"),
    Option(
        "dp_size",
        "cluster.dp_size",
        "cluster",
        "data-parallel ranks of each worker; each has its own cache, and they step together",
        int,
        "N",
    ),
    Option(
        "router",
        "router.policy",
        "cluster",
        "how requests are placed on workers",
        choices=("round_robin", "kv_router"),
    ),
    Option(
        "speedup",
        "load.speedup",
        "load",
        "divides the timestamps and the delays of the trace",
        float,
        "RATIO",
    ),
    Option(
        "concurrency",
        "load.concurrency",
        "load",
        "sessions in flight; timestamps are ignored, a session keeps its slot while it thinks",
        int,
        "N",
    ),
    Option("seed", "seed", "load", "seed of every random draw", int, "N"),
    Option(
        "max_sim_time",
        "stop.max_sim_time_ms",
        "load",
        "simulated time after which nothing is counted, in seconds",
        float,
        "SECONDS",
        convert=_seconds_to_ms,
    ),
    Option(
        "sla_ttft",
        "sla.ttft_ms",
        "goodput",
        "longest acceptable time to the first token, in milliseconds",
        float,
        "MS",
    ),
    Option(
        "sla_itl",
        "sla.itl_ms",
        "goodput",
        "longest acceptable mean time between the tokens of a request, in milliseconds",
        float,
        "MS",
    ),
)


def apply(document: dict[str, Any], options: Mapping[str, Any]) -> None:
    """Write the options that are not None into a configuration document.

    Raises:
        ConfigError: an option does not exist, or its value is wrong.
    """
    known = {option.name: option for option in OPTIONS}
    for name, value in options.items():
        if name not in known:
            raise ConfigError(
                f"{name}: there is no such option\n  fix: use one of {', '.join(known)}"
            )
        if value is None:
            continue
        *tables, key = known[name].setting.split(".")
        place = document
        for table in tables:
            inner = place.setdefault(table, {})
            if not isinstance(inner, dict):
                raise ConfigError(f"{table}: {inner!r} is not a table of settings\n  fix: nest it")
            place = inner
        place[key] = known[name].convert(value)
