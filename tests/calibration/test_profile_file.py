"""Profiles as files: what is written is read again, and mistakes are told with their line."""

from __future__ import annotations

from pathlib import Path

import pytest

from cepheid.cost.profile import Profile, QueryProfile, VertexProfile
from cepheid.cost.profile_file import read_profile, show_profile, write_profile
from cepheid.errors import InvalidInput

MEASURED = QueryProfile(
    latency_s=2e-6,
    throughput_s=1.5e-6,
    regression_s=1e-6,
    overhead_s=0.01,
    r2=-0.25,
    spread=0.02,
    selectivity=0.0,
    largest_batch=100_000,
    batches=12,
    events=5_000_000,
)
WHOLE = Profile(
    host="spark",
    pes=2,
    overhead_s=0.2,
    vertices={"sequence_1": VertexProfile(ipe=262.5, selectivity=0.049), 'a "b".c': VertexProfile(ipe=1.0)},
    queries={"late": MEASURED},
)


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    for profile in (WHOLE, Profile(host="embedded")):
        write_profile(profile, tmp_path / "profile.toml")
        assert read_profile(tmp_path / "profile.toml") == profile


@pytest.mark.parametrize(
    ("old", "new", "told", "line"),
    [
        ('host = "spark"', "", 'the profile lacks the key "host"', 1),
        ('host = "spark"', 'host = "sparks"', 'did you mean "spark"', 1),
        ('host = "spark"', "host = 3", "a text for host, not 3", 1),
        ("mips = 2500.0", "mips = 0", "above 0 for mips, not 0", 2),
        ("pes = 2", "pes = 0", "from 1 to 1,000,000 for pes, not 0", 3),
        ("pes = 2", "pes = 2.5", "a whole number for pes, not 2.5", 3),
        ("overhead_s = 0.2", "overheads = 0.2", 'did you mean "overhead_s"', 4),
        ("ipe = 262.5", "ipe = nan", 'vertex "sequence_1" needs a number that is finite for ipe', 7),
        ("ipe = 262.5", "ipe = true", "a number for ipe, not true", 7),
        ("ipe = 262.5", "", 'vertex "sequence_1" lacks the key "ipe"', 6),
        ("ipe = 1.0", 'ipe = "1"', 'vertex "a "b".c" needs a number for ipe, not "1"', 12),
        ("events = 5000000", "events = -1", 'query "late" needs a whole number from 0', 26),
        ('host = "spark"', 'host = "spark', "this is no TOML", 1),
    ],
)
def test_mistakes_are_told_with_their_line(tmp_path: Path, old: str, new: str, told: str, line: int) -> None:
    text = show_profile(WHOLE)
    assert text.count(old) == 1
    path = tmp_path / "profile.toml"
    path.write_text(text.replace(old, new))
    with pytest.raises(InvalidInput) as problem:
        read_profile(path)
    assert told in str(problem.value)
    assert f"--> {path}:{line}:" in str(problem.value)


def test_a_part_that_is_no_table_is_told(tmp_path: Path) -> None:
    path = tmp_path / "profile.toml"
    for text in ('host = "spark"\nvertices = 3\n', 'host = "spark"\n[vertices]\nsequence_1 = 3\n'):
        path.write_text(text)
        with pytest.raises(InvalidInput, match="must be a table, not 3"):
            read_profile(path)


def test_a_file_that_is_not_there_is_told_with_how_to_get_one(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"none\.toml") as problem:
        read_profile(tmp_path / "none.toml")
    assert "cepheid calibrate" in str(problem.value)
