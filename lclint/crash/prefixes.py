"""What launchers, loggers and log viewers put in front of a line: taken off, and kept as facts.

torchrun (``[rank3]:``, ``[default3]:``), srun --label, OpenMPI, Ray, NeMo-Run, slime, vLLM, SGLang, c10 and Python logging in its many shapes,
journald, docker, kubectl, pytest, viewers' time stamps and line numbers come in any order and number.
"""

from __future__ import annotations

import re

_ANSI = re.compile(r"\x1b(?:\[[0-?]*[ -/]*[@-~]|\][^\x07\x1b]*(?:\x07|\x1b\\)|[@-Z\\-_])")

_LEVEL = "DEBUG|INFO|WARN|WARNING|ERROR|CRITICAL|FATAL"
_PREFIX = re.compile(
    rf"""
      (?P<rank>\[rank(?P<rank_n>\d{{1,6}})\]:[ ]?)
    | (?P<default>\[(?:default|[A-Za-z_]{{3,20}})(?P<default_n>\d{{1,4}})\]:)
    | (?P<mpi>\[\d+,(?P<mpi_n>\d{{1,9}})\]<std(?:err|out)>:)
    | (?P<srun>[ ]{{0,5}}(?P<srun_n>\d{{1,5}}):[ ](?!\d+:))
    | (?P<ray>\((?P<actor>[A-Za-z_][\w.]*)(?:[ ]pid=(?P<pid>\d{{1,12}}))?(?:,[ ]ip=(?P<ip>[\w.:-]+))?\)[ ]?)
    | (?P<c10>\[(?P<c10_level>[EWIF])\d{{3,4}}[ ]\d\d:\d\d:\d\d\.\d+[ ][\w.]+:\d+\][ ]?)
    | (?P<glog>(?P<glog_level>[EWIF])\d{{4}}[ ]\d\d:\d\d:\d\d(?:\.\d+)?[ ]+\d+[ ][\w./-]+:\d+\][ ]?)
    | (?P<group>\[(?:PG[ ][^\]]*|Rank[ ]\d+)\](?![ ]?\()[ ]?)
    | (?P<slime>\[\d{{4}}-\d\d-\d\d[ ]\d\d:\d\d:\d\d\][ ](?=[\w.]+\.py:\d+[ ]-[ ]))
    | (?P<module>[\w.]+\.py:\d+[ ]-[ ])
    | (?P<engine>\[20\d\d-\d\d-\d\d[ ]\d\d:\d\d:\d\d(?:[ ](?:DP|TP|PP|EP)\d+)+\][ ])
    | (?P<stamp>[ ]?\[?(?P<time>20\d\d[-/]\d\d[-/]\d\d[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?)(?:Z|[+-]\d\d:?\d\d)?\]?(?:[ ]UTC)?(?:[ ]|:[ ]|$)(?![ ]*iteration\b))
    | (?P<viewer>\[\d{{4,9}}\][ ])
    | (?P<nemo>[A-Za-z][\w.-]{{0,60}}/\d{{1,5}}[ ])
    | (?P<pytest>E[ ]{{4,}})
    | (?P<logging>(?P<level>{_LEVEL}):[\w.]+:[ ]?)
    | (?P<pod>[a-z0-9][a-z0-9-]{{2,60}}[ ]+\|[ ])
    | (?P<stream>std(?:out|err)[ ][FP][ ])
    | (?P<kubectl>\[pod/[\w./-]+\][ ])
    | (?P<labels>\{{\w+="[^"\n]{{0,100}}"(?:,[ ]?\w+="[^"\n]{{0,100}}"){{0,8}}\}}[ ])
    | (?P<journal>[A-Z][a-z]{{2}}[ ]{{1,2}}\d{{1,2}}[ ]\d\d:\d\d:\d\d[ ]
        (?P<journal_host>[\w.-]{{1,80}})[ ][\w./@-]{{1,60}}(?:\[(?P<journal_pid>\d{{1,9}})\])?:[ ])
    | (?P<syslog>(?P<syslog_host>[\w.-]{{1,60}})[ ][\w./@-]{{1,40}}\[\d{{1,9}}\]:[ ])
    | (?P<kernel>\[[ ]{{0,6}}\d{{1,9}}\.\d{{1,6}}\][ ])
    | (?P<pdsh>(?P<pdsh_host>(?:node|worker|gpu|host|ip|n|train|master)[\w.-]{{0,60}}\d):[ ](?!\d))
    | (?P<vllm>(?P<vllm_level>{_LEVEL})[ ]\d\d-\d\d[ ]\d\d:\d\d:\d\d(?:\.\d+)?[ ]\[?[\w./]+:\d+\][ ]?)
    | (?P<bracketed>\[(?P<bracketed_level>{_LEVEL})\][ ]?)
    | (?P<nemo_level>\[NeMo[ ](?P<nemo_letter>[EWI])[ ][^\]\n]{{1,120}}\][ ]?)
    | (?P<dashed>-[ ](?:[\w.]{{1,60}}[ ]-[ ])?(?P<dashed_level>{_LEVEL})[ ]-[ ])
    | (?P<piped>\|?[ ]?(?:[A-Z][\w.-]{{0,30}}[ ]+\|[ ])?(?P<piped_level>{_LEVEL})[ ]*\|[ ]
        (?:(?:(?:global_)?rank[ =:]*(?P<piped_rank>\d{{1,6}})|[\w.-]{{1,40}}|\([^|\n]{{1,80}}\))[ ]\|[ ]){{0,3}}(?:[\w.<>]+:[\w.<>]+:\d+[ ]-[ ])?)
    """,
    re.VERBOSE,
)
_LEVELS = {"W": "WARNING", "E": "ERROR", "F": "CRITICAL", "I": "INFO"}
_RAY_REPEAT = re.compile(r" ?\[repeated \d+x across cluster\].*$")


class Origin:
    """Where a line comes from. ``rank`` is the global rank, ``local`` the local one, ``task`` srun's; None where no prefix says so."""

    __slots__ = ("rank", "local", "task", "actor", "pid", "host", "time", "level", "plain")

    def __init__(self) -> None:
        self.rank: int | None = None
        self.local: int | None = None
        self.task: int | None = None
        self.actor: str | None = None
        self.pid: int | None = None
        self.host: str | None = None
        self.time: str | None = None
        self.level: str | None = None
        self.plain = True

    def join(self, other: Origin) -> None:
        """Take what ``other`` knows and this one does not."""
        for name in ("rank", "local", "task", "actor", "pid", "host", "time", "level"):
            if getattr(self, name) is None:
                setattr(self, name, getattr(other, name))
        self.plain = self.plain and other.plain

    def key(self) -> tuple[object, ...]:
        """What keeps the interleaved lines of several processes apart."""
        if self.rank is not None:
            return ("rank", self.rank)
        if self.task is not None:
            return ("rank", self.task)
        if self.pid is not None:
            return ("pid", self.pid, self.host)
        if self.local is not None:
            return ("local", self.local)
        return ("",) if self.host is None else ("host", self.host)


def clean(text: str) -> str:
    """Text without escape sequences and NUL bytes."""
    if "\x1b" in text:
        text = _ANSI.sub("", text)
    return text.replace("\0", "") if "\0" in text else text


def strip(text: str) -> tuple[Origin, str]:
    """The origin that a line's prefixes give, and the line without them. Indentation behind the prefixes is kept."""
    origin = Origin()
    for _ in range(10):
        match = _PREFIX.match(text)
        if match is None or not match.end():
            break
        if match["rank"]:
            origin.rank = int(match["rank_n"])
        elif match["default"]:
            origin.local = int(match["default_n"])
        elif match["mpi"]:
            origin.task = int(match["mpi_n"])
        elif match["srun"]:
            if origin.task is not None or origin.rank is not None:
                break
            origin.task = int(match["srun_n"])
        elif match["ray"]:
            if match["pid"] is None and match["actor"] not in ("raylet", "autoscaler", "gcs_server"):
                break
            origin.actor = match["actor"]
            origin.pid = int(match["pid"]) if match["pid"] else None
            origin.host = match["ip"]
        elif match["c10"]:
            origin.level = _LEVELS[match["c10_level"]]
        elif match["glog"]:
            origin.level = _LEVELS[match["glog_level"]]
        elif match["journal"]:
            origin.host = match["journal_host"]
            origin.pid = int(match["journal_pid"]) if match["journal_pid"] else None
        elif match["pdsh"] or match["syslog"]:
            origin.host = match["pdsh_host"] or match["syslog_host"]
        elif match["piped"]:
            origin.level = match["piped_level"]
            if match["piped_rank"]:
                origin.rank = int(match["piped_rank"])
        elif match["nemo_level"]:
            origin.level = _LEVELS[match["nemo_letter"]]
        elif match["logging"] or match["vllm"] or match["bracketed"] or match["dashed"]:
            origin.level = match["level"] or match["vllm_level"] or match["bracketed_level"] or match["dashed_level"]
        elif match["stamp"]:
            origin.time = match["time"].replace("T", " ").replace(",", ".").replace("/", "-")
        origin.plain = False
        text = text[match.end() :]
    if origin.actor is not None and "across cluster]" in text:
        text = _RAY_REPEAT.sub("", text)
    return origin, text
