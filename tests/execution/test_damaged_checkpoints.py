"""What of a checkpoint is damaged is named, and the stream goes back to the last batch that is whole."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner

from cepheid.cli import app
from cepheid.errors import InvalidInput, SnapshotMismatch
from cepheid.execution.spark.checkpoint_files.damage import diagnose
from cepheid.execution.spark.checkpoint_files.file_sink import LOG, find_file_sink
from cepheid.execution.spark.checkpoint_files.layout import (
    Checkpoint,
    has_right_sum,
    open_checkpoint,
    sidecar,
    write_file,
)
from cepheid.execution.spark.checkpoint_files.rewind import plan_rewind, rewind
from cepheid.execution.spark.run_failures import tell_failure

END_OF_BLOCKS = b"LZ4Block\x15" + bytes(12)
LAST = 4


def write_changes(text: str) -> bytes:
    packed = text.encode()
    return b"LZ4Block\x15" + len(packed).to_bytes(4, "little") * 2 + bytes(4) + packed + END_OF_BLOCKS


@pytest.fixture
def checkpoint(tmp_path: Path) -> Checkpoint:
    """After batches 0 to 4, of two state partitions, each with a snapshot of versions 1 and 4."""
    root = tmp_path / "checkpoint"
    for folder in ("offsets", "commits", "cepheid", "state/0/0/SSTs", "state/0/1/SSTs"):
        (root / folder).mkdir(parents=True)
    write_file(root / "metadata", b'{"id":"a"}')
    write_file(root / "cepheid" / "stages.json", b'{"format": 2, "stages": []}')
    for batch in range(LAST + 1):
        write_file(root / "offsets" / str(batch), b'v1\n{"conf":{}}\n{"logOffset":%d}' % batch)
        write_file(root / "commits" / str(batch), b'v1\n{"nextBatchWatermarkMs":0}')
        for partition in ("0", "1"):
            write_file(root / "state/0" / partition / f"{batch + 1}.changelog", write_changes(f"changes of {batch}"))
    for version, partition in ((version, partition) for version in (1, 4) for partition in ("0", "1")):
        folder = root / "state/0" / partition
        write_file(folder / "SSTs" / f"{version}.sst", b"a table")
        told = {"sstFiles": [{"localFileName": "1.sst", "dfsSstFileName": f"{version}.sst"}]}
        with zipfile.ZipFile(folder / f"{version}.zip", "w") as archive:
            archive.writestr("metadata", "v1\n" + json.dumps(told))
        write_file(folder / f"{version}.zip", (folder / f"{version}.zip").read_bytes())
    return Checkpoint(root)


def cut_short(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-5])


def make_empty(path: Path) -> None:
    path.write_bytes(b"")


def change_a_byte(path: Path) -> None:
    content = bytearray(path.read_bytes())
    content[len(content) // 2] ^= 1
    path.write_bytes(bytes(content))


def cut_without_sum(path: Path) -> None:
    cut_short(path)
    sidecar(path).unlink()


@pytest.mark.parametrize("spoil", [cut_short, make_empty, change_a_byte, cut_without_sum, Path.unlink])
@pytest.mark.parametrize(
    ("name", "whole"),
    [
        ("commits/4", 3),
        ("state/0/1/5.changelog", 3),
        ("state/0/1/4.zip", 4),  # there is another way, from version 1
        ("state/0/0/SSTs/4.sst", 4),
    ],
)
def test_the_damaged_file_is_named_and_the_stream_goes_back_exactly(
    checkpoint: Checkpoint, name: str, whole: int, spoil: Callable[[Path], None]
) -> None:
    if spoil is cut_without_sum and name.endswith("sst"):
        pytest.skip("without a checksum nobody but RocksDB can tell")
    if spoil is Path.unlink and name in ("commits/4", "state/0/1/4.zip"):
        pytest.skip("then it was never there: batch 4 is run again, and version 1 is the newest snapshot")
    spoil(checkpoint.root / name)
    found = diagnose(checkpoint)
    assert [str(damage.path.relative_to(checkpoint.root)) for damage in found.damaged] == [name]
    assert found.whole == whole
    plan = plan_rewind(found, None, cut_anew=False)
    assert plan.is_exact
    aside = rewind(checkpoint, plan, found.damaged)
    again = diagnose(checkpoint)
    assert again.is_whole
    assert (again.begun, again.committed) == (LAST, whole), "the batch behind is read again from its offsets"
    if (checkpoint.root / name).suffix != ".sst" and spoil is not Path.unlink:
        assert (aside / name).exists(), "nothing is thrown away"


def test_a_whole_checkpoint_is_left_as_it_is(checkpoint: Checkpoint) -> None:
    found = diagnose(checkpoint)
    assert (found.is_whole, found.whole, found.replays) == (True, LAST, False)
    with pytest.raises(InvalidInput, match="is whole"):
        plan_rewind(found, None, cut_anew=False)


@pytest.mark.parametrize("name", ["offsets/4", "state/0/0/4.changelog"])
def test_batches_that_would_be_cut_anew_need_a_word(checkpoint: Checkpoint, name: str) -> None:
    """Sinks that know their numbers would leave events out that were not in them before."""
    make_empty(checkpoint.root / name)
    if name.startswith("state"):
        make_empty(checkpoint.root / "state/0/0/4.zip")
    found = diagnose(checkpoint)
    with pytest.raises(InvalidInput, match="cut anew"):
        plan_rewind(found, None, cut_anew=False)
    plan = plan_rewind(found, None, cut_anew=True)
    rewind(checkpoint, plan, found.damaged)
    assert diagnose(checkpoint).is_whole


def test_a_damaged_record_of_stages_is_set_aside(checkpoint: Checkpoint) -> None:
    cut_short(checkpoint.root / "cepheid/stages.json")
    found = diagnose(checkpoint)
    plan = plan_rewind(found, None, cut_anew=False)
    assert (plan.to, plan.is_exact) == (LAST, True)
    rewind(checkpoint, plan, found.damaged)
    assert not (checkpoint.root / "cepheid/stages.json").exists()
    assert checkpoint.list_batches("commits") == list(range(LAST + 1))


def test_without_the_id_of_the_query_there_is_no_way_back(checkpoint: Checkpoint) -> None:
    make_empty(checkpoint.root / "metadata")
    with pytest.raises(SnapshotMismatch, match="id of the query"):
        plan_rewind(diagnose(checkpoint), None, cut_anew=True)


def test_the_first_batch_is_run_again_from_nothing(checkpoint: Checkpoint) -> None:
    for batch in range(1, LAST + 1):
        for log in ("offsets", "commits"):
            (checkpoint.root / log / str(batch)).unlink()
    make_empty(checkpoint.root / "commits/0")
    found = diagnose(checkpoint)
    plan = plan_rewind(found, None, cut_anew=False)
    assert (plan.to, plan.is_exact) == (-1, True)
    rewind(checkpoint, plan, found.damaged)
    assert checkpoint.list_batches("offsets") == [0]
    assert not list(checkpoint.root.glob("state/0/*/*.changelog"))


def test_commands_name_the_file_and_what_to_do(checkpoint: Checkpoint) -> None:
    place = str(checkpoint.root)
    assert CliRunner().invoke(app, ["checkpoint", "check", place]).exit_code == 0
    make_empty(checkpoint.root / "commits/4")
    found = CliRunner().invoke(app, ["checkpoint", "check", place])
    assert found.exit_code == 1
    assert "damaged: commits/4: it is empty" in found.stdout
    assert f"cepheid checkpoint rewind {place}" in found.stdout
    tried = CliRunner().invoke(app, ["checkpoint", "rewind", place, "--dry-run", "--json"])
    assert json.loads(tried.stdout) == {"to_batch": 3, "last_batch": 4, "is_exact": True, "aside": None, "done": False}
    done = CliRunner().invoke(app, ["checkpoint", "rewind", place])
    assert "goes on behind batch 3" in done.stdout
    assert json.loads(CliRunner().invoke(app, ["checkpoint", "check", place, "--json"]).stdout)["is_whole"]
    assert CliRunner().invoke(app, ["checkpoint", "rewind", place]).exit_code == 2


def write_sink(folder: Path, logs: dict[str, list[str]]) -> None:
    (folder / LOG).mkdir(parents=True)
    for name, files in logs.items():
        lines = [json.dumps({"path": f"file://{folder}/{file}"}) for file in files]
        write_file(folder / LOG / name, "\n".join(["v1", *lines]).encode())
        for file in files:
            (folder / file).touch()


def test_the_file_sink_forgets_what_is_written_again(checkpoint: Checkpoint, tmp_path: Path) -> None:
    """It would skip a batch that it knows, and with it the state that the batch computes."""
    out = tmp_path / "out"
    write_sink(out, {"2.compact": ["a", "b"], "3": ["c"], "4": ["d", "e"]})
    make_empty(checkpoint.root / "offsets/4")
    found = diagnose(checkpoint)
    sink = find_file_sink(str(out))
    plan = plan_rewind(found, None, cut_anew=False, forgets=True)
    assert (plan.to, plan.is_exact) == (3, True), "also a batch that is cut anew is written"
    aside = rewind(checkpoint, plan, found.damaged, sink)
    assert sorted(path.name for path in out.iterdir()) == [LOG, "a", "b", "c"]
    assert sorted(path.name for path in (out / LOG).iterdir() if path.name[0] != ".") == ["2.compact", "3"]
    assert sorted(path.name for path in (aside / "files").iterdir()) == ["d", "e"]
    assert find_file_sink(str(tmp_path)) is None


def test_a_log_that_tells_of_batches_only_together_is_left_alone(checkpoint: Checkpoint, tmp_path: Path) -> None:
    out = tmp_path / "out"
    write_sink(out, {"4.compact": ["a", "b", "c"]})
    make_empty(checkpoint.root / "commits/4")
    found = diagnose(checkpoint)
    with pytest.raises(SnapshotMismatch, match="only together with later ones"):
        rewind(checkpoint, plan_rewind(found, None, False, forgets=True), found.damaged, find_file_sink(str(out)))
    assert (checkpoint.root / "commits/4").exists(), "nothing was done"
    assert (out / "c").exists()


def test_a_query_that_fails_says_which_file_is_damaged_and_which_disk_is_full(checkpoint: Checkpoint) -> None:
    place = str(checkpoint.root)
    unreadable = "terminated with exception: [CANNOT_LOAD_STATE_STORE.UNCATEGORIZED] An error occurred during loading"
    assert "CANNOT_LOAD_STATE_STORE" in str(tell_failure("q", unreadable, None, place)), "it was something else"
    make_empty(checkpoint.root / "state/0/0/5.changelog")
    told = str(tell_failure("q", unreadable, None, place))
    assert "state/0/0/5.changelog: it is empty" in told
    assert f"cepheid checkpoint rewind {place}" in told
    full = "terminated with exception: Job aborted: java.io.IOException: No space left on device"
    told = str(tell_failure("q", full, None, place))
    assert "a disk is full" in told
    assert place in told


def test_what_is_no_checkpoint_is_said_to_be_none(tmp_path: Path, checkpoint: Checkpoint) -> None:
    with pytest.raises(InvalidInput, match="no checkpoint"):
        open_checkpoint(str(tmp_path / "elsewhere"))
    assert open_checkpoint(f"file://{checkpoint.root}").root == checkpoint.root
    assert has_right_sum(checkpoint.root / "metadata")
