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
from typing import Any

import numba
import numpy as np
from numba.core import cgutils, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.registry import CPUDispatcher, cpu_target
from numba.core.typing.templates import AttributeTemplate, infer_getattr
from numba.extending import NativeValue, intrinsic, models, register_model, type_callable, unbox
from numba.np.arrayobj import make_array, populate_array


class _InnerCode(JITCodeLibrary):  # type: ignore[misc]
    """The code of a function that only kernels call, left as it is until a kernel takes it in.

    Numba would optimise it and make machine code of it, and then do both again for each caller.
    """

    codegen = property(lambda self: self)

    def set_env(self, *_: Any) -> None:
        """What lets Python call the function is not needed."""

    def _optimize_final_module(self) -> None:
        """The kernel does."""

    def _finalize_final_module(self) -> None:
        self._finalized = True


def _inner_compiler(typing, target, library, *more):  # type: ignore[no-untyped-def]
    """Numba's compiler, for inner code."""
    return Compiler(typing, target, _InnerCode(target.codegen(), "inner"), *more)


def kernel(**options):  # type: ignore[no-untyped-def]
    """Compile a function that Python calls.

    nogil=True: other threads of Python go on meanwhile, which pays where the kernel takes long; to
    come back from a short one, a thread would wait for the others each time.
    """
    options = {"cache": True, "error_model": "numpy", "no_cfunc_wrapper": True} | options

    def decorate(function):  # type: ignore[no-untyped-def]
        compiled = numba.njit(**options)(function)
        if compiled is not function:
            # Numba would compile a function again for every constant that it is called with.
            template = compiled.get_call_template
            compiled.get_call_template = lambda args, named: template(
                [types.unliteral(each) for each in args],
                {name: types.unliteral(each) for name, each in named.items()},
            )
        return compiled

    return decorate


class _Inner(CPUDispatcher):  # type: ignore[misc]
    """A function that only kernels call. Tests call it from Python, and get a kernel of its own."""

    def __call__(self, *args: Any) -> Any:
        if "kernel" not in vars(self):
            self.kernel = kernel(**self.options, cache=False)(self.py_func)
        return self.kernel(*args)


def step(**options):  # type: ignore[no-untyped-def]
    """Compile a function of its own that only kernels call."""

    def decorate(function):  # type: ignore[no-untyped-def]
        inner = {"cache": False, "no_cpython_wrapper": True, "pipeline_class": _inner_compiler}
        compiled = kernel(**options, **inner)(function)
        if compiled is not function:
            compiled.__class__, compiled.options = _Inner, options
        return compiled

    return decorate


part = functools.partial(step, forceinline=True)
"""Compile a small function that becomes part of the kernels that call it."""

sum_part = functools.partial(part, fastmath={"reassoc", "nsz", "contract"})
"""The same for sums whose order does not matter, so that several terms are added at once."""


def borrowed(arrays):  # type: ignore[no-untyped-def]
    """The same arrays for use inside one kernel call: without reference counting, by reference.

    Counting costs two atomic operations per array and inner call, more than the arithmetic of a
    small rule. The caller in Python owns the arrays for the whole call, so it is not needed. A
    named tuple becomes a `Borrowed`: functions that take it are handed one pointer instead of
    hundreds of numbers, so they compile several times faster. Where a loop is hot, take the arrays
    out of it first: the optimiser cannot know that a store leaves the pointers alone.
    """
    return arrays


def view(arrays, index):  # type: ignore[no-untyped-def]
    """Entry `index` of every array in a named tuple, as views; also inside nested ones."""
    if arrays is None:
        return None
    return arrays._make(
        view(each, index) if each is None or isinstance(each, tuple) else each[index]
        for each in arrays
    )


class Borrowed(types.Type):  # type: ignore[misc]
    """The type of a named tuple in compiled code, by reference."""

    def __init__(self, fields: types.BaseNamedTuple) -> None:
        self.fields = fields
        super().__init__(name=f"Borrowed({fields})")


@register_model(Borrowed)
class _BorrowedModel(models.PrimitiveModel):  # type: ignore[misc]
    """A pointer to where the fields are."""

    def __init__(self, dmm, fe_type):  # type: ignore[no-untyped-def]
        fields = dmm.lookup(fe_type.fields).get_value_type()
        super().__init__(dmm, fe_type, fields.as_pointer())


@type_callable(borrowed)
def _type_borrowed(context):  # type: ignore[no-untyped-def]
    def typer(arrays):  # type: ignore[no-untyped-def]
        if isinstance(arrays, types.BaseNamedTuple):
            return Borrowed(arrays)
        return arrays if isinstance(arrays, Borrowed | types.BaseTuple) else None

    return typer


@type_callable(view)
def _type_view(context):  # type: ignore[no-untyped-def]
    def typer(arrays, index):  # type: ignore[no-untyped-def]
        fields = arrays.fields if isinstance(arrays, Borrowed) else arrays
        return Borrowed(_entry_type(fields)) if isinstance(fields, types.BaseNamedTuple) else None

    return typer


def _entry_type(kind):  # type: ignore[no-untyped-def]
    """The type of one entry of arrays: one axis less, inside named tuples too."""
    if isinstance(kind, types.BaseNamedTuple):
        inner = [_entry_type(each) for each in kind]
        return types.BaseTuple.from_types(inner, kind.instance_class)
    return kind.copy(ndim=kind.ndim - 1) if isinstance(kind, types.Array) else kind


@lower_builtin(borrowed, types.BaseNamedTuple)
def _borrow_fields(context, builder, signature, args):  # type: ignore[no-untyped-def]
    return cgutils.alloca_once_value(builder, args[0])


@lower_builtin(borrowed, Borrowed)
def _borrow_again(context, builder, signature, args):  # type: ignore[no-untyped-def]
    # A copy of the fields: the optimiser keeps those in registers that nobody else can change.
    return cgutils.alloca_once_value(builder, builder.load(args[0]))


@lower_builtin(view, Borrowed, types.Integer)
def _view_entry(context, builder, signature, args):  # type: ignore[no-untyped-def]
    kind, number = signature.args
    index = context.cast(builder, args[1], number, types.intp)
    entry = _entry_of(context, builder, kind.fields, builder.load(args[0]), index)
    return cgutils.alloca_once_value(builder, entry)


def _entry_of(context, builder, kind, value, index):  # type: ignore[no-untyped-def]
    """The value of one entry of arrays."""
    if isinstance(kind, types.BaseNamedTuple):
        inner = [
            _entry_of(context, builder, each, builder.extract_value(value, place), index)
            for place, each in enumerate(kind)
        ]
        return context.make_tuple(builder, _entry_type(kind), inner)
    if not isinstance(kind, types.Array):
        return value
    array = make_array(kind)(context, builder, value=value)
    shape = cgutils.unpack_tuple(builder, array.shape, kind.ndim)
    strides = cgutils.unpack_tuple(builder, array.strides, kind.ndim)
    data = cgutils.pointer_add(builder, array.data, builder.mul(strides[0], index), array.data.type)
    entry = make_array(_entry_type(kind))(context, builder)
    populate_array(
        entry,
        data=data,
        shape=shape[1:],
        strides=strides[1:],
        itemsize=array.itemsize,
        meminfo=None,
    )
    return entry._getvalue()


@lower_builtin(borrowed, types.BaseTuple)
def _borrow_items(context, builder, signature, args):  # type: ignore[no-untyped-def]
    result = args[0]
    for index, kind in enumerate(signature.args[0]):
        item = _without_owner(context, builder, kind, builder.extract_value(result, index))
        result = builder.insert_value(result, item, index)
    return result


def _without_owner(context, builder, kind, value):  # type: ignore[no-untyped-def]
    """An array of which nobody counts the references; other values as they are."""
    if not isinstance(kind, types.Array):
        return value
    array = context.make_array(kind)(context, builder, value=value)
    array.meminfo = cgutils.get_null_value(array.meminfo.type)
    array.parent = cgutils.get_null_value(array.parent.type)
    return array._getvalue()


@infer_getattr
class _BorrowedAttribute(AttributeTemplate):  # type: ignore[misc]
    """The type of a field: that of the array, or by reference again."""

    key = Borrowed

    def generic_resolve(self, arrays, name):  # type: ignore[no-untyped-def]
        if name in arrays.fields.fields:
            kind = arrays.fields[arrays.fields.fields.index(name)]
            return Borrowed(kind) if isinstance(kind, types.BaseNamedTuple) else kind
        return None


@lower_getattr_generic(Borrowed)
def _field_of_borrowed(context, builder, arrays, pointer, name):  # type: ignore[no-untyped-def]
    index = arrays.fields.fields.index(name)
    field = cgutils.gep_inbounds(builder, pointer, 0, index)
    kind = arrays.fields[index]
    if isinstance(kind, types.BaseNamedTuple):
        return field
    return _without_owner(context, builder, kind, builder.load(field))


# ---- arguments that stay the same over many calls


class Held:
    """A named tuple of arrays and numbers, unpacked once for many calls of kernels.

    To unpack a hundred arrays and numbers takes longer than to learn a row. A kernel is handed the
    address; what is in the arrays may change, the arrays may not.
    """

    def __init__(self, arrays: Any) -> None:
        self.arrays = arrays  # keeps them alive
        key = _key_of(arrays)
        if key not in _known_types:
            kind, context = Borrowed(numba.typeof(arrays)), cpu_target.target_context
            _known_types[key] = kind, context.get_abi_sizeof(context.get_value_type(kind.fields))
        self.type, size = _known_types[key]
        self._memory = np.empty(size, np.uint8)
        _store_fields(arrays, self._memory)
        self.address = self._memory.__array_interface__["data"][0]

    def __reduce__(self) -> tuple[Any, ...]:
        return Held, (self.arrays,)  # a copy holds copies


_known_types: dict[Any, tuple[Borrowed, int]] = {}
"""Type and bytes, which Numba takes a third of a millisecond to find."""


def _key_of(value: Any) -> Any:
    """What the type of an argument depends on."""
    if isinstance(value, tuple):
        return (type(value), *map(_key_of, value))
    if isinstance(value, np.ndarray):
        return value.dtype.char, value.ndim, value.flags.num
    return type(value)


def held(arrays: Any) -> Any:
    """A named tuple for many calls; itself where nothing is compiled."""
    return arrays if numba.config.DISABLE_JIT else Held(arrays)


@numba.extending.typeof_impl.register(Held)
def _type_of_held(value, context):  # type: ignore[no-untyped-def]
    return value.type


@unbox(Borrowed)
def _unbox_held(kind, value, c):  # type: ignore[no-untyped-def]
    number = c.pyapi.object_getattr_string(value, "address")
    address = c.pyapi.long_as_voidptr(number)
    c.pyapi.decref(number)
    return NativeValue(c.builder.bitcast(address, c.context.get_value_type(kind)))


@intrinsic
def _store(typing_context, arrays, memory):  # type: ignore[no-untyped-def]
    def generate(context, builder, signature, args):  # type: ignore[no-untyped-def]
        data = make_array(signature.args[1])(context, builder, value=args[1]).data
        builder.store(args[0], builder.bitcast(data, args[0].type.as_pointer()))
        return context.get_dummy_value()

    return types.void(arrays, memory), generate


@kernel()
def _store_fields(arrays, memory):  # type: ignore[no-untyped-def]
    _store(arrays, memory)


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

    return pathlib.Path(votes.vote.stats.cache_path)


def _kept(folder: pathlib.Path) -> list[str] | None:
    """What was compiled from these sources, as `write_stamp` called it; None if they are others."""
    stamp = folder / _STAMP
    words = stamp.read_text().split() if stamp.is_file() else []
    return words[1:] if words and words[0] == sources_stamp() else None


def discard_stale_cache(what: str) -> bool:
    """Remove compiled kernels that come from other sources; True if `what` is to be compiled."""
    folder = cache_folder()
    if folder is None:
        return False
    compiled = _kept(folder)
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
    compiled = sorted({*(_kept(folder) or []), *what})
    descriptor, name = tempfile.mkstemp(dir=folder)
    with os.fdopen(descriptor, "w") as stream:
        stream.write(" ".join([sources_stamp(), *compiled]))
    os.chmod(name, 0o644)
    os.replace(name, folder / _STAMP)
