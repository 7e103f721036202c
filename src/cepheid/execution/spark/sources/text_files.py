"""Of which kind files are: by their names, or by those of the first file in a folder."""

from __future__ import annotations

from pathlib import Path

from cepheid.errors import InvalidInput
from cepheid.execution.file_names import COMPRESSIONS, find_sample, has_ending, is_path, locate_path
from cepheid.execution.spark.sources.source import Recognise


def has_endings(endings: tuple[str, ...]) -> Recognise:
    known = endings + tuple(ending + packed for ending in endings for packed in COMPRESSIONS)

    def recognises(text: str, folder: Path) -> bool:
        if has_ending(text.rstrip("/"), known) or not is_path(text):
            return has_ending(text.rstrip("/"), known)
        try:
            return has_ending(find_sample(locate_path(text, folder)).name, known)
        except InvalidInput:  # told when it is opened
            return False

    return recognises
