"""Rules about the code itself: honest exports, a light import, self-contained kernels."""

import ast
import functools
import importlib
import inspect
import os
import pathlib
import pkgutil
import subprocess
import sys
import types

import pytest

import devfnn
from devfnn.kernels._jit import step

PACKAGE = pathlib.Path(devfnn.__file__).parent
KERNEL_SOURCES = sorted((PACKAGE / "kernels").glob("*.py"))
KERNEL_MODULES = [f"devfnn.kernels.{source.stem}" for source in KERNEL_SOURCES]
PACKAGES = ["devfnn"] + [
    module.name for module in pkgutil.walk_packages([str(PACKAGE)], "devfnn.") if module.ispkg
]


def name_of(source: pathlib.Path) -> str:
    """A source as the test report shows it."""
    return str(source.relative_to(PACKAGE))


def run_python(code: str) -> str:
    """What a fresh process prints that imports this very package."""
    environment = os.environ | {"PYTHONPATH": str(PACKAGE.parent)}
    finished = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120
    )
    assert finished.returncode == 0, finished.stderr
    return finished.stdout.strip()


@pytest.mark.parametrize("name", PACKAGES)
def test_exports_are_honest(name):
    package = importlib.import_module(name)
    exported = getattr(package, "__all__", [])
    assert sorted(exported) == sorted(set(exported))
    assert [each for each in exported if not hasattr(package, each)] == []
    tree = ast.parse(pathlib.Path(package.__file__).read_text())
    imported = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and str(node.module).startswith("devfnn")
        for alias in node.names
    }
    assert imported <= set(exported)


def test_importing_the_package_is_light():
    code = (
        "import sys, time; start = time.perf_counter(); import devfnn; "
        "heavy = {'numba', 'pyarrow', 'rich', 'typer', 'matplotlib', 'scipy', 'jinja2', 'river', "
        "'sklearn'}; "
        "print(time.perf_counter() - start, *heavy & set(sys.modules))"
    )
    answers = [run_python(code).split() for _ in range(3)]
    assert [answer[1:] for answer in answers] == [[], [], []]
    assert min(float(answer[0]) for answer in answers) < 0.3


# Numba compiles what a kernel sees when it is first called: the functions it calls must be kernels
# of this folder, with whose sources the cache is stamped, and the globals it reads constants.


def kernel_names(tree: ast.Module) -> list[str]:
    """Functions of a module that are decorated with `kernel()` or `part()`."""
    return [
        node.name
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any(
            isinstance(decorator, ast.Call)
            and isinstance(decorator.func, ast.Name)
            and decorator.func.id in ("kernel", "step", "part", "sum_part")
            for decorator in node.decorator_list
        )
    ]


KERNELS = [
    pytest.param(module, name, id=f"{module.split('.')[-1]}.{name}")
    for module, source in zip(KERNEL_MODULES, KERNEL_SOURCES, strict=True)
    for name in kernel_names(ast.parse(source.read_text()))
    if source.name != "_jit.py"  # which may see Numba itself
]


def is_kernel(value: object) -> bool:
    """Whether a function is a kernel of this package, compiled or plain."""
    function = getattr(value, "py_func", value)
    if not isinstance(function, types.FunctionType):
        return False
    if function.__module__ == "devfnn.kernels._jit":
        return function.__name__ in ("borrowed", "view")
    source = pathlib.Path(function.__code__.co_filename)
    return source.parent == PACKAGE / "kernels" and function.__name__ in kernels_in(source)


@functools.cache
def kernels_in(source: pathlib.Path) -> frozenset[str]:
    """Names of the kernels in a file."""
    return frozenset(kernel_names(ast.parse(source.read_text())))


def is_constant(value: object) -> bool:
    """Whether a value cannot change."""
    if isinstance(value, tuple):
        return all(map(is_constant, value))
    return isinstance(value, bool | int | float | str | None)


def is_named_tuple(value: object) -> bool:
    """Whether a value is one of the state classes."""
    return isinstance(value, type) and issubclass(value, tuple) and hasattr(value, "_fields")


def test_there_are_kernels():
    assert len(KERNELS) > 10


@pytest.mark.parametrize(("module", "name"), KERNELS)
def test_a_kernel_sees_only_kernels_and_constants(module, name):
    function = getattr(importlib.import_module(module), name)
    seen = inspect.getclosurevars(getattr(function, "py_func", function))
    assert seen.nonlocals == {}
    libraries = {key for key, value in seen.globals.items() if isinstance(value, types.ModuleType)}
    assert libraries <= {"np", "math"}
    strange = {
        key
        for key, value in seen.globals.items()
        if key not in libraries
        and not (is_kernel(value) or is_constant(value) or is_named_tuple(value))
        and value is not step  # the decorator: `work.step` has its name
    }
    assert strange == set()


@pytest.mark.parametrize(("module", "name"), KERNELS)
def test_a_kernel_has_at_most_8_arguments(module, name):
    function = getattr(importlib.import_module(module), name)
    assert len(inspect.signature(getattr(function, "py_func", function)).parameters) <= 8


# Numbers that change results are parameters; the others have a name and carry their reason.

NUMBER_SOURCES = sorted([*KERNEL_SOURCES, *(PACKAGE / "model").rglob("*.py")])


def is_number(value: object) -> bool:
    """Whether a value is a number, or a tuple of numbers."""
    if isinstance(value, tuple):
        return bool(value) and all(map(is_number, value))
    return isinstance(value, int | float) and not isinstance(value, bool)


def numbers_in(source: pathlib.Path) -> dict[str, tuple[object, str]]:
    """Constants that are numbers, and their docstrings; codes, which a `range` counts, are none."""
    body = ast.parse(source.read_text()).body
    name = ".".join(source.relative_to(PACKAGE.parent).with_suffix("").parts)
    module, found = importlib.import_module(name.removesuffix(".__init__")), {}
    for node, after in zip(body, [*body[1:], None], strict=True):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None:
            continue
        if isinstance(node.value, ast.Call) and ast.unparse(node.value.func) == "range":
            continue
        is_text = isinstance(after, ast.Expr) and isinstance(after.value, ast.Constant)
        text = after.value.value if is_text and isinstance(after.value.value, str) else ""
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for each in (each for target in targets for each in ast.walk(target)):
            if isinstance(each, ast.Name) and is_number(getattr(module, each.id)):
                found[each.id] = (getattr(module, each.id), text)
    return found


def test_there_are_numbers():
    assert sum(len(numbers_in(source)) for source in NUMBER_SOURCES) > 50


@pytest.mark.parametrize("source", NUMBER_SOURCES, ids=name_of)
def test_a_number_carries_its_reason(source):
    bare = [name for name, (_, text) in numbers_in(source).items() if not text.strip()]
    assert bare == []


def test_a_name_stands_for_one_number():
    values: dict[str, set[object]] = {}
    for source in NUMBER_SOURCES:
        for name, (value, _) in numbers_in(source).items():
            values.setdefault(name, set()).add(value)
    assert {name: found for name, found in values.items() if len(found) > 1} == {}


@pytest.mark.parametrize("source", KERNEL_SOURCES, ids=name_of)
def test_a_kernel_file_imports_nothing_of_the_package_but_kernels(source):
    for node in ast.walk(ast.parse(source.read_text())):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0
            names = [str(node.module)]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        for name in names:
            is_own = name.startswith("devfnn.kernels") or name == "devfnn.arrays"
            assert name.split(".")[0] != "devfnn" or is_own


# A file that is written is a draft first, locked while its writer lives: files.py does it for all.

WRITERS = {
    "files.py",
    "cli/output.py",  # pipes and devices, which nothing can replace
    "kernels/_jit.py",  # compiled code, in a folder of its own
}


def opens_to_write(node: ast.Call) -> bool:
    """Whether a call opens a file for writing, or writes it at once."""
    name = node.func.attr if isinstance(node.func, ast.Attribute) else ast.unparse(node.func)
    if name in ("write_text", "write_bytes", "mkstemp"):
        return True
    modes = [*node.args, *(each.value for each in node.keywords if each.arg == "mode")]
    texts = [each.value for each in modes if isinstance(each, ast.Constant)]
    letters = [text for text in texts if isinstance(text, str) and set(text) <= set("rwxabt+")]
    return name == "open" and any(set(text) & set("wxa+") for text in letters)


def test_files_are_written_in_one_place():
    found = {
        name_of(source)
        for source in PACKAGE.rglob("*.py")
        for node in ast.walk(ast.parse(source.read_text()))
        if isinstance(node, ast.Call) and opens_to_write(node)
    }
    assert found == WRITERS
