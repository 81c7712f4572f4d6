"""Files of data sets from the network: checked, and put in place whole or not at all."""

import logging
import os
import pathlib
import textwrap
import urllib.parse
from collections.abc import Callable
from typing import Any

from devfnn.errors import DataError
from devfnn.streams.datasets.catalogue import DataSet
from devfnn.streams.files.content import replacing

Progress = Callable[[int, int | None], object]
"""Called with the bytes that are here and those of the whole file, None if nobody knows."""

RETRIES = 1
"""How often a download that fails is tried again at the same address."""

TIMEOUT_SECONDS = 30.0
"""How long a server may be silent."""

OTHER_FOLDER = "; choose another folder with data_dir or DEVFNN_CACHE"

logger = logging.getLogger(__name__)


def is_offline() -> bool:
    """Whether the user has forbidden to use the network."""
    return os.environ.get("DEVFNN_OFFLINE", "").strip().lower() not in ("", "0", "no", "false")


def fetch(
    data_set: DataSet, folder: pathlib.Path, progress: Progress | None = None
) -> pathlib.Path:
    """Download the file of a data set into a folder, from the first address that has it.

    The folder is made if need be. DataError says why no address could give the file, and how to
    get it by hand.
    """
    file, reasons = data_set.file, []
    assert file is not None
    if is_offline():
        raise DataError(f"DEVFNN_OFFLINE is set; {data_set.directions(folder)}")
    for url in file.mirrors:
        logger.info("downloading %s from %s", file.name, url)
        try:
            with replacing(folder / file.name, OTHER_FOLDER) as draft:
                _retrieve(url, draft, file.sha256, progress)
        except DataError:
            raise  # trouble with the disk, not with the network
        except (OSError, ValueError) as error:
            reasons.append(f"{url}: {_reason(error)}")
            logger.info("%s", reasons[-1])
            continue
        logger.info("%s is in %s", file.name, folder)
        return folder / file.name
    raise DataError(
        f"{file.name} could not be downloaded ({'; '.join(reasons)}). To get it by hand: "
        f"{data_set.directions(folder)}"
    )


def _retrieve(url: str, path: pathlib.Path, sha256: str | None, progress: Progress | None) -> None:
    import pooch

    pooch.get_logger().setLevel(logging.WARNING)  # it would print what is logged here already
    source = pooch.create(
        path=path.parent,
        base_url="",
        registry={path.name: sha256 and f"sha256:{sha256}"},
        urls={path.name: url},
        retry_if_failed=RETRIES,
    )
    downloader = pooch.HTTPDownloader(
        progressbar=False if progress is None else _ProgressBar(progress),
        chunk_size=1 << 16,
        timeout=TIMEOUT_SECONDS,
        headers={"Accept-Encoding": "identity"},
        hooks={"response": refuse_insecure_redirect},
    )
    source.fetch(path.name, downloader=downloader)


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
