"""What a command printed, on one line and without frames."""


def shown(result) -> str:
    """Everything."""
    return " ".join(result.output.replace("│", " ").split())


def messages(result) -> str:
    """Progress and errors."""
    return " ".join(result.stderr.replace("│", " ").split())
