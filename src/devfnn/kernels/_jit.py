"""The decorators of all compiled code, and the care of what Numba keeps on disk.

Numba's disk cache knows only the file of a kernel, not the files of the kernels it calls. So the
cache carries a stamp made from every source in this folder; when the stamp is old, the cached files
are removed before they can be used.
"""

import functools
import hashlib
import os
import pathlib
import sys
import tempfile

import numba
from numba.core import cgutils, types
from numba.extending import intrinsic, overload

kernel = functools.partial(numba.njit, cache=True, error_model="numpy")
"""Compile a function that Python calls."""

part = functools.partial(numba.njit, cache=True, error_model="numpy", forceinline=True)
"""Compile a function that only kernels call; it becomes part of its caller."""

sum_part = functools.partial(
    numba.njit,
    cache=True,
    error_model="numpy",
    forceinline=True,
    fastmath={"reassoc", "nsz", "contract"},
)
"""The same for sums whose order does not matter, so that several terms are added at once."""


def borrowed(arrays):  # type: ignore[no-untyped-def]
    """The same arrays without reference counting, for use inside one kernel call.

    Counting costs two atomic operations per array and inner call, more than the arithmetic of a
    small rule. The caller in Python owns the arrays for the whole call, so it is not needed.
    """
    return arrays


@overload(borrowed, jit_options={"forceinline": True})
def _borrowed(arrays):  # type: ignore[no-untyped-def]
    return lambda arrays: _without_owner(arrays)


@intrinsic
def _without_owner(typing_context, arrays):  # type: ignore[no-untyped-def]
    """Clear the owner of every array in a (named) tuple."""

    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        result = args[0]
        for index, kind in enumerate(signature.args[0]):
            if isinstance(kind, types.Array):
                value = builder.extract_value(result, index)
                array = context.make_array(kind)(context, builder, value=value)
                array.meminfo = cgutils.get_null_value(array.meminfo.type)
                array.parent = cgutils.get_null_value(array.parent.type)
                result = builder.insert_value(result, array._getvalue(), index)
        return result

    return arrays(arrays), generate


_FOLDER = pathlib.Path(__file__).parent
_STAMP = "devfnn-kernels.stamp"


def sources_stamp() -> str:
    """Fingerprint of the kernel sources and of what compiles them."""
    digest = hashlib.sha256(f"{numba.__version__} {sys.version}".encode())
    for source in sorted(_FOLDER.glob("*.py")):
        digest.update(source.read_bytes())
    return digest.hexdigest()


def cache_folder() -> pathlib.Path | None:
    """Where Numba keeps the compiled kernels; None when it compiles nothing."""
    if numba.config.DISABLE_JIT:
        return None
    from devfnn.kernels import votes

    return pathlib.Path(votes.update_votes.stats.cache_path)


def _compiled(folder: pathlib.Path) -> list[str] | None:
    """What was compiled from these sources, as `write_stamp` called it; None if they are others."""
    stamp = folder / _STAMP
    words = stamp.read_text().split() if stamp.is_file() else []
    return words[1:] if words and words[0] == sources_stamp() else None


def discard_stale_cache(what: str) -> bool:
    """Remove compiled kernels that come from other sources; True if `what` is to be compiled."""
    folder = cache_folder()
    if folder is None:
        return False
    compiled = _compiled(folder)
    if compiled is not None:
        return what not in compiled
    names = {source.stem for source in _FOLDER.glob("*.py")}
    for cached in folder.glob("*.nb?"):
        if cached.name.split(".")[0] in names:
            cached.unlink(missing_ok=True)
    return True


def write_stamp(*what: str) -> None:
    """Say that the cache belongs to these sources, and what is in it now."""
    folder = cache_folder()
    if folder is None or not folder.is_dir():
        return
    compiled = sorted({*(_compiled(folder) or []), *what})
    descriptor, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(" ".join([sources_stamp(), *compiled]))
    os.chmod(name, 0o644)
    os.replace(name, folder / _STAMP)
