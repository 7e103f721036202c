"""Names of files as people write them: "feed.parquet", "~/feeds", "feeds/2026-*.csv.gz", "file:///data/feed.arrow".

text ─locate_path─▶ a path ─list_files─▶ the files, in the order of their names
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import unquote, urlsplit

from cepheid.errors import InvalidInput

MAGIC = frozenset("*?[")
STORES = frozenset(("s3", "s3a", "gs", "abfs", "abfss", "wasb", "wasbs", "hdfs", "webhdfs", "viewfs"))
COMPRESSIONS = (".gz", ".bz2", ".zst", ".lz4")  # Arrow knows them by their endings


def is_path(text: str) -> bool:
    """Not a URL, except of a file."""
    return "://" not in text or text.startswith("file://")


def is_store(text: str) -> bool:
    """The URL of a file or folder that is kept elsewhere, as Spark names it."""
    return text.partition("://")[0].lower() in STORES


def locate_path(text: str, folder: Path | None = None) -> Path:
    """folder: where relative paths start from; None: where the process runs."""
    path = Path(unquote(urlsplit(text).path)) if text.startswith("file://") else Path(text)
    if path.parts[:1] == ("~",):
        path = path.expanduser()
    return path if folder is None else folder / path


def is_folder(path: Path) -> bool:
    with _looking_for(path):
        return path.is_dir()


def has_ending(name: str, endings: tuple[str, ...]) -> bool:
    return name.lower().endswith(endings)


def find_sample(path: Path) -> Path:
    """The file that shows of what kind all are: the first of a folder or a pattern; else the path itself."""
    return next(iter(_find_files(path)), path)


def list_files(path: Path) -> list[Path]:
    """A file, what is in a folder (and in those below), or what fits a pattern, in the order of their names.

    In folders, names that begin with a dot or an underscore are left out: `_SUCCESS`, and files that are being
    written.  A pattern leaves out only those with a dot.
    """
    found = _find_files(path)
    if found:
        return found
    if _is_pattern(path):
        raise InvalidInput(f'no file fits "{path}"', hint=_where_paths_start(path))
    if path.is_dir():
        raise InvalidInput(f'the folder "{path}" has no files', hint="names that begin with . or _ do not count")
    raise InvalidInput(f'the file "{path}" does not exist', hint=_where_paths_start(path))


def _find_files(path: Path) -> list[Path]:
    with _looking_for(path):
        if path.is_dir():
            return _files_in(path)
        if path.exists():
            return [path]
        if not _is_pattern(path):
            return []
        files: list[Path] = []
        for found in sorted(_expand(path)):
            files += _files_in(found) if found.is_dir() else [found]
        return list(dict.fromkeys(files))


@contextmanager
def _looking_for(path: Path) -> Iterator[None]:
    """A name that is too long, a folder that one may not enter."""
    try:
        yield
    except OSError as problem:
        hint = "see that its name is right, and that you may read it"
        raise InvalidInput(f'"{path}" cannot be read: {problem.strerror}', hint=hint) from None


def _files_in(folder: Path) -> list[Path]:
    inside = (path for path in folder.rglob("*") if path.is_file())
    return sorted(path for path in inside if not any(part[0] in "._" for part in path.relative_to(folder).parts))


def _expand(pattern: Path) -> list[Path]:
    first = next(number for number, part in enumerate(pattern.parts) if MAGIC & set(part))
    base = Path(*pattern.parts[:first])
    found = base.glob(str(Path(*pattern.parts[first:])))
    return [path for path in found if not any(part[0] == "." for part in path.relative_to(base).parts)]


def _is_pattern(path: Path) -> bool:
    return bool(MAGIC & set(str(path))) and not path.exists()


def _where_paths_start(path: Path) -> str:
    return "see that its name is right" if path.is_absolute() else f"paths start from {Path.cwd()}"
