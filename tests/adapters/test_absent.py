"""An adapter whose library is absent says what to install."""

import os
import pathlib
import subprocess
import sys

import pytest

import devfnn

SOURCES = str(pathlib.Path(devfnn.__file__).parent.parent)


@pytest.mark.parametrize("library", ["sklearn", "river", "capymoa", "mlflow", "onnx"])
def test_an_adapter_without_its_library_says_what_to_install(library):
    code = f"import sys; sys.modules[{library!r}] = None; import devfnn.adapters.{library}"
    finished = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | {"PYTHONPATH": SOURCES},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert finished.returncode == 1
    message = finished.stderr.strip().splitlines()[-1]
    assert message.startswith(f"ImportError: devfnn.adapters.{library} needs ")
    assert f"pip install 'devfnn[{library}]'" in message
