"""Files of data sets from the network: checked, and put in place whole or not at all."""

import contextlib
import errno
import logging
import os
import pathlib
import tarfile
import tempfile
import textwrap
import urllib.parse
from collections.abc import Callable, Iterator
from typing import Any

from devfnn.errors import DataError
from devfnn.streams.datasets.description import Mirror, RemoteFile

Progress = Callable[[int, int | None], object]
"""Called with the bytes that are here and those of the whole file, None if nobody knows."""

OFFLINE = "DEVFNN_OFFLINE"
"""Environment variable: with 1, nothing is ever downloaded."""

RETRIES = 1
"""How often a download that fails is tried again at the same address."""

TIMEOUT_SECONDS = 30.0
"""How long a server may be silent."""

_FULL = (errno.ENOSPC, getattr(errno, "EDQUOT", errno.ENOSPC))

logger = logging.getLogger(__name__)


def is_offline() -> bool:
    """Whether the user has forbidden to use the network."""
    return os.environ.get(OFFLINE, "").strip().lower() not in ("", "0", "no", "false")


def fetch(file: RemoteFile, folder: pathlib.Path, progress: Progress | None = None) -> pathlib.Path:
    """Download a file into a folder from the first address that has it.

    Parameters
    ----------
    file
        What to get, from where, and how to know that it is right.
    folder
        Where to; it is made if need be.
    progress
        Called with the bytes that are here and those of the whole file (None if nobody knows).

    Raises
    ------
    DataError
        Says why no address could give the file, and how to get it by hand.
    """
    if is_offline():
        raise DataError(f"{OFFLINE} is set; {file.directions(folder)}")
    target, reasons = folder / file.name, []
    with writing(target):
        folder.mkdir(parents=True, exist_ok=True)
        for mirror in file.mirrors:
            logger.info("downloading %s from %s", file.name, mirror.url)
            try:
                with tempfile.TemporaryDirectory(prefix=".download-", dir=folder) as draft:
                    os.replace(_retrieved(file, mirror, pathlib.Path(draft), progress), target)
            except (OSError, ValueError, KeyError, EOFError, tarfile.TarError) as error:
                if getattr(error, "errno", None) is not None:
                    raise  # trouble with the disk, not with the network
                reasons.append(f"{mirror.url}: {_reason(error)}")
                logger.info("%s", reasons[-1])
                continue
            logger.info("%s is in %s", file.name, folder)
            return target
    raise DataError(
        f"{file.name} could not be downloaded ({'; '.join(reasons)}). To get it by hand: "
        f"{file.directions(folder)}"
    )


def _retrieved(
    file: RemoteFile, mirror: Mirror, draft: pathlib.Path, progress: Progress | None
) -> pathlib.Path:
    """The file from one address, in a folder of its own, checked and unpacked."""
    import pooch

    pooch.get_logger().setLevel(logging.WARNING)  # it would print what is logged here already
    sha256 = file.sha256 if mirror.member is None else mirror.sha256
    source = pooch.create(
        path=draft,
        base_url="",
        registry={file.name: sha256 and f"sha256:{sha256}"},
        urls={file.name: mirror.url},
        retry_if_failed=RETRIES,
    )
    downloader = pooch.HTTPDownloader(
        progressbar=False if progress is None else _ProgressBar(progress),
        chunk_size=1 << 16,
        timeout=TIMEOUT_SECONDS,
        headers={"Accept-Encoding": "identity"},
        hooks={"response": refuse_insecure_redirect},
    )
    path = pathlib.Path(source.fetch(file.name, downloader=downloader))
    if mirror.member is None:
        return path
    with tarfile.open(path) as archive:
        archive.extract(mirror.member, draft / "unpacked", filter="data")
    path = draft / "unpacked" / mirror.member
    if file.sha256 not in (None, actual := pooch.file_hash(path)):
        raise ValueError(f"{mirror.member} has the sha256 {actual}, not {file.sha256}")
    return path


def refuse_insecure_redirect(response: Any, **_: Any) -> None:
    """Follow a server to other addresses, but not from https to something else."""
    target = urllib.parse.urljoin(response.url, response.headers.get("Location", ""))
    if response.url.startswith("https:") and not target.startswith("https:"):
        raise ValueError(f"{target} is no https address")


class _ProgressBar:
    """A progress bar as pooch wants it."""

    def __init__(self, progress: Progress) -> None:
        self.total = 0
        self._progress = progress
        self._done = 0

    def update(self, n_bytes: int) -> None:
        self._done = min(self._done + n_bytes, self.total or self._done + n_bytes)
        self._progress(self._done, self.total or None)

    def reset(self) -> None:
        """Pooch fills the bar at the end; it is not emptied before."""

    def close(self) -> None:
        """There is nothing to close."""


def _reason(error: Exception) -> str:
    """Why a download failed, in a few words."""
    response = getattr(error, "response", None)
    if response is not None:
        return f"the server says {response.status_code} {response.reason}"
    text = textwrap.shorten(str(error), 300, placeholder=" ...")
    return f"no connection, or it broke: {text}" if isinstance(error, OSError) else text


@contextlib.contextmanager
def writing(path: pathlib.Path) -> Iterator[None]:
    """Say clearly why a file cannot be written."""
    elsewhere = "choose another folder with data_dir or DEVFNN_CACHE"
    try:
        yield
    except OSError as error:
        if error.errno in _FULL:
            raise DataError(
                f"the disk is full: {path.name} does not fit into {path.parent}; make room there "
                f"and call again, or {elsewhere}"
            ) from error
        raise DataError(
            f"{path.name} cannot be written into {path.parent} ({error.strerror or error}); "
            f"{elsewhere}"
        ) from error
