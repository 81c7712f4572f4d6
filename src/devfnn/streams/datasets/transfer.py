"""One transfer over HTTP into a partial file, from where an earlier one ended."""

import dataclasses
import http.client
import ipaddress
import re
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Iterator
from typing import IO, Any

from devfnn.streams.datasets.partial import Part

Progress = Callable[[int, int | None], object]
"""Called with the bytes that are here and those of the whole file, None if nobody knows."""

TIMEOUT_SECONDS = 30.0
"""How long a server may be silent."""

_PIECE_BYTES = 1 << 16

_TRY_LATER = (408, 425, 429, 500, 502, 503, 504)


class TransferError(Exception):
    """A file does not come from this place, however often it is asked for."""


class BrokenTransferError(TransferError):
    """A transfer ended early; the next may go on from there."""


class UnreachableError(TransferError):
    """Nobody answers."""


@dataclasses.dataclass(frozen=True)
class Source:
    """A file at a place.

    Parameters
    ----------
    url
        Where it is: https, or http on this machine.
    n_bytes
        Its size, if that is known.
    sha256
        Its checksum, if that is known.
    """

    url: str
    n_bytes: int | None = None
    sha256: str | None = None


def transfer(source: Source, part: Part, progress: Progress | None = None) -> None:
    """Try once to get the bytes of a file that are not here yet.

    Raises BrokenTransferError if it is worth while to try again, another TransferError if not, and
    OSError only if the bytes cannot be written.
    """
    check_url(source.url)
    validator = part.validator(source.url)
    # Without a version from the server, only a checksum tells whether the rest fits.
    can_continue = bool(validator) or (validator is not None and source.sha256 is not None)
    n_here = part.n_bytes if can_continue else 0
    if n_here and n_here == source.n_bytes:
        part.was_continued = True
        return
    request = urllib.request.Request(
        source.url, headers={"User-Agent": "devfnn", "Accept-Encoding": "identity"}
    )
    if n_here:
        request.add_header("Range", f"bytes={n_here}-")
        if validator:
            request.add_header("If-Range", validator)
    with _answer(request, part) as answer:
        _receive(answer, source, part, progress)


def check_url(url: str) -> None:
    """Refuse what is neither https nor on this machine."""
    parts = urllib.parse.urlsplit(url)
    if parts.scheme == "https" or (parts.scheme == "http" and _is_here(parts.hostname)):
        return
    raise TransferError(f"{url} is no https address")


def _is_here(host: str | None) -> bool:
    try:
        return host == "localhost" or ipaddress.ip_address(host or "").is_loopback
    except ValueError:
        return False


class _CheckedRedirects(urllib.request.HTTPRedirectHandler):
    """Follows a server to other addresses, but to none that would be refused here."""

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], *rest: Any
    ) -> urllib.request.Request | None:
        try:
            check_url(str(rest[-1]))
        except TransferError:
            fp.close()
            raise
        return super().redirect_request(req, fp, *rest)


def _answer(request: urllib.request.Request, part: Part) -> Any:
    """What the server says, if it has the file."""
    handlers: list[Any] = [_CheckedRedirects]
    if _is_here(urllib.parse.urlsplit(request.full_url).hostname):
        handlers.append(urllib.request.ProxyHandler({}))
    try:
        return urllib.request.build_opener(*handlers).open(request, timeout=TIMEOUT_SECONDS)
    except urllib.error.HTTPError as error:
        error.close()
        reason = f"the server says {error.code} {error.reason}"
        if error.code == http.client.REQUESTED_RANGE_NOT_SATISFIABLE:
            part.remove()
            raise BrokenTransferError(f"{reason} to a transfer that goes on") from None
        if error.code in _TRY_LATER:
            raise BrokenTransferError(reason) from None
        raise TransferError(reason) from None
    except urllib.error.URLError as error:
        raise UnreachableError(f"no connection: {_text(error.reason)}") from None
    except TimeoutError:
        raise UnreachableError("no answer in time") from None
    except (OSError, http.client.HTTPException) as error:
        raise BrokenTransferError(f"the connection broke: {_text(error)}") from None


def _receive(answer: Any, source: Source, part: Part, progress: Progress | None) -> None:
    """Add what comes to the partial file, and see that nothing is lacking."""
    if answer.headers.get("Content-Encoding", "identity").lower() != "identity":
        raise TransferError("the server sends the file packed, though asked not to")
    n_done, n_total = _extent(answer, part, part.validator(source.url))
    if n_total is not None and source.n_bytes not in (None, n_total):
        raise TransferError(f"the file has {n_total} bytes there, not {source.n_bytes}")
    n_total = source.n_bytes if n_total is None else n_total
    if n_done:
        part.was_continued = True
    else:
        part.begin(source.url, _validator(answer))
    with part.path.open("ab") as file:
        _tell(progress, n_done, n_total)
        for piece in _pieces(answer):
            file.write(piece)
            n_done += len(piece)
            if n_total is not None and n_done > n_total:
                break
            _tell(progress, n_done, n_total)
    if n_total is not None and n_done > n_total:
        part.remove()
        raise TransferError(f"more bytes come than the {n_total} of the file")
    if n_total is not None and n_done < n_total:
        raise BrokenTransferError(f"the connection ended after {n_done} of {n_total} bytes")


def _extent(answer: Any, part: Part, validator: str | None) -> tuple[int, int | None]:
    """Where in the file the bytes of an answer begin, and how long the file is."""
    if answer.status != http.client.PARTIAL_CONTENT:
        length = answer.headers.get("Content-Length", "")
        return 0, int(length) if length.isdigit() else None
    extent = re.fullmatch(
        r"bytes (\d+)-\d+/(\d+|\*)", answer.headers.get("Content-Range", "").strip()
    )
    if extent is None or int(extent[1]) != part.n_bytes or _has_changed(answer, validator):
        part.remove()
        raise BrokenTransferError("the server sends a part that does not fit what is here")
    return int(extent[1]), None if extent[2] == "*" else int(extent[2])


def _has_changed(answer: Any, validator: str | None) -> bool:
    """Whether a server that goes on with a file says that it is another by now."""
    if not validator:
        return False
    name = "ETag" if validator.startswith('"') else "Last-Modified"
    return str(answer.headers.get(name, validator)) != validator


def _validator(answer: Any) -> str:
    """What tells this version of the file from others; "" if the server does not say."""
    tag = str(answer.headers.get("ETag", ""))
    if tag and not tag.startswith("W/"):
        return tag
    return str(answer.headers.get("Last-Modified", ""))


def _pieces(answer: Any) -> Iterator[bytes]:
    """The bytes of an answer as they come."""
    while True:
        try:
            piece = answer.read1(_PIECE_BYTES)
        except (OSError, http.client.HTTPException) as error:
            raise BrokenTransferError(f"the connection broke: {_text(error)}") from None
        if not piece:
            return
        yield piece


def _tell(progress: Progress | None, n_done: int, n_total: int | None) -> None:
    if progress is not None:
        progress(n_done, n_total)


def _text(error: object) -> str:
    """An error in a few words."""
    return str(getattr(error, "strerror", None) or error or type(error).__name__)
