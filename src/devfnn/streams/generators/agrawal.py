"""Agrawal: people who ask for a loan, and ten rules that divide them into two groups.

Agrawal, Imielinski and Swami, "Database mining: a performance perspective", IEEE TKDE 5, 1993. The
rules are those of the paper. Labels are those of River: for functions 1 to 6 the paper's group A is
class 1, for functions 7 to 10 it is class 0. (In MOA it is class 0 throughout.)

Where River departs from the paper we do not follow: its function 5 compares salaries with ranges of
loans, its functions 7 to 10 ask for more than 1 to be left, not 0, its commissions go up to 85,000,
and its houses in zipcode 8 are worth nothing. Perturbed house values stay within the range of their
zipcode; MOA cuts them at 135,000, and River sets them to one value for each zipcode, or to 0.
"""

import dataclasses
from collections import namedtuple
from collections.abc import Callable, Sequence
from typing import Any, Unpack

import numpy as np

from devfnn.arrays import Flags, Floats, Ints
from devfnn.streams.arguments import finite_number, listed, whole_number
from devfnn.streams.generators.concept import Maker, picked
from devfnn.streams.generators.drifting import StreamOptions, drifting, with_defaults
from devfnn.streams.stream import Stream

Ranges = tuple[tuple[float, float], ...]
"""Lowest and highest value for those under 40, those under 60, and those from 60 on."""


People = namedtuple("People", "salary commission age elevel car zipcode hvalue hyears loan")
"""One array for each feature, (n_rows,)."""


@dataclasses.dataclass(frozen=True)
class Agrawal:
    """Label by one of ten functions of salary, commission, age, education, house and loan."""

    function: int
    """From 1 to 10, as the paper counts them."""
    perturbation: float = 0.0
    """How far numbers are moved at random after the label was found, as a share of their range."""

    feature_names = People._fields
    classes = (0, 1)
    n_draws = 15

    def __post_init__(self) -> None:
        whole_number("function", self.function, low=1, high=len(FUNCTIONS))
        finite_number("perturbation", self.perturbation, low=0, high=1)

    def start(self) -> Maker:
        def made(draws: Floats) -> tuple[Floats, Ints]:
            people = _people(draws)
            is_in_group_a = FUNCTIONS[self.function - 1](people)
            classes = is_in_group_a == (self.function <= 6)
            if self.perturbation:
                people = _perturbed(people, self.perturbation * (2.0 * draws[:, 9:15] - 1.0))
            return np.column_stack(people), classes.astype(np.int64)

        return made


def _people(draws: Floats) -> People:
    salary = 20_000.0 + 130_000.0 * draws[:, 0]
    zipcode = picked(draws[:, 5], 9)
    return People(
        salary=salary,
        commission=np.where(salary < 75_000.0, 10_000.0 + 65_000.0 * draws[:, 1], 0.0),
        age=20 + picked(draws[:, 2], 61),
        elevel=picked(draws[:, 3], 5),
        car=1 + picked(draws[:, 4], 20),
        zipcode=zipcode,
        hvalue=(9 - zipcode) * 100_000.0 * (0.5 + draws[:, 6]),
        hyears=1 + picked(draws[:, 7], 30),
        loan=500_000.0 * draws[:, 8],
    )


def _perturbed(people: People, moves: Floats) -> People:
    """Numbers moved by shares of their range, and not out of it.

    moves: (n_rows, 6), from -1 to 1
    """

    def moved(name: str, column: int, low: Any, high: Any) -> Floats:
        values: Floats = getattr(people, name) + (high - low) * moves[:, column]
        return np.clip(values, low, high)

    house = (9 - people.zipcode) * 100_000.0
    commission = moved("commission", 1, 10_000.0, 75_000.0)
    return people._replace(
        salary=moved("salary", 0, 20_000.0, 150_000.0),
        commission=np.where(people.commission > 0.0, commission, 0.0),
        age=np.rint(moved("age", 2, 20.0, 80.0)),
        hvalue=moved("hvalue", 3, 0.5 * house, 1.5 * house),
        hyears=np.rint(moved("hyears", 4, 1.0, 30.0)),
        loan=moved("loan", 5, 0.0, 500_000.0),
    )


SALARIES: Ranges = ((50e3, 100e3), (75e3, 125e3), (25e3, 75e3))
LEVELS: Ranges = ((0, 1), (1, 3), (2, 4))
SALARIES_BY_LEVEL: Ranges = ((25e3, 75e3), (50e3, 100e3), (50e3, 100e3))
LOANS: Ranges = ((200e3, 400e3), (300e3, 500e3), (100e3, 300e3))
LOANS_BY_SALARY: Ranges = ((100e3, 300e3), (200e3, 400e3), (300e3, 500e3))


def _is_within(values: Any, people: People, ranges: Ranges) -> Flags:
    """Whether values are in the range that belongs to the person's age."""
    ages = (people.age >= 40).astype(np.int64) + (people.age >= 60)
    lows, highs = np.array(ranges).T
    return np.asarray((lows[ages] <= values) & (values <= highs[ages]))


def _spare(people: People, reserve: float) -> Any:
    """Two thirds of the income, less a reserve."""
    return 2.0 * (people.salary + people.commission) / 3.0 - reserve


def _equity(people: People) -> Any:
    """How much of the house is paid."""
    return people.hvalue * np.maximum(people.hyears - 20, 0) / 10.0


FUNCTIONS: tuple[Callable[[People], Flags], ...] = (
    lambda each: (each.age < 40) | (each.age >= 60),
    lambda each: _is_within(each.salary, each, SALARIES),
    lambda each: _is_within(each.elevel, each, LEVELS),
    lambda each: np.where(
        _is_within(each.elevel, each, LEVELS),
        _is_within(each.salary, each, SALARIES_BY_LEVEL),
        _is_within(each.salary, each, SALARIES),
    ),
    lambda each: np.where(
        _is_within(each.salary, each, SALARIES),
        _is_within(each.loan, each, LOANS_BY_SALARY),
        _is_within(each.loan, each, LOANS),
    ),
    lambda each: _is_within(each.salary + each.commission, each, SALARIES),
    lambda each: _spare(each, 20e3) - each.loan / 5.0 > 0.0,
    lambda each: _spare(each, 20e3) - 5e3 * each.elevel > 0.0,
    lambda each: _spare(each, 10e3) - 5e3 * each.elevel - each.loan / 5.0 > 0.0,
    lambda each: _spare(each, 10e3) - 5e3 * each.elevel + _equity(each) / 5.0 > 0.0,
)
"""Who is in group A, by the functions 1 to 10."""


def agrawal(
    n_rows: int | None = None,
    *,
    functions: Sequence[int] = (1, 2, 3, 4),
    perturbation: float = 0.05,
    **options: Unpack[StreamOptions],
) -> Stream:
    """9 features of people who ask for a loan, up to 10 rules.

    Each function of `Agrawal` lasts 10,000 rows by default; see `StreamOptions`.
    """
    concepts = [Agrawal(function, perturbation) for function in listed("functions", functions)]
    return drifting(concepts, n_rows, **with_defaults(options, rows_per_concept=10_000))
