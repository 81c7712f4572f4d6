"""The command that was typed, as it can be typed again."""

import shlex
from collections.abc import Iterable

import typer

OUTPUTS = ("json_file", "csv_path", "report", "save", "checkpoint", "is_resumed", "quiet", "output")
"""Parameters that say where things go; the result does not depend on them."""


def typed_command(
    context: typer.Context, *, with_outputs: bool = False, flags: Iterable[str] = ()
) -> str:
    """What was typed, less what was left to its default, and with more flags."""
    words, last = context.command_path.split(), list[str]()
    for parameter in context.command.params:
        name = parameter.name or ""
        source = context.get_parameter_source(name)
        if source is None or source.name != "COMMANDLINE" or (name in OUTPUTS and not with_outputs):
            continue
        value = context.params[name]
        given = [str(each) for each in (value if isinstance(value, list | tuple) else [value])]
        if parameter.param_type_name == "argument":
            is_odd = any(each.startswith("-") and each != "-" for each in given)
            (last if is_odd else words).extend(given)
        elif getattr(parameter, "is_flag", False):
            words.append(parameter.opts[0])
        else:
            words += [word for each in given for word in (parameter.opts[0], each)]
    words += [flag for flag in flags if flag not in words]
    return shlex.join([*words, "--", *last] if last else words)
