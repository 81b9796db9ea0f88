"""Records of people, some of them several times and with mistakes: a table to de-duplicate."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import check_random_state

Seed = int | np.random.RandomState | None

_FIRST = (
    "Ada Alan Alice Amir Anna Boris Carla Chen Clara Daniel David Elena Emil Emma Eva Felix Fatima "
    "Frank Grace Hanna Hans Helen Henry Ines Irene Ivan Jack Jane Joan Jonas Julia Karl Kate Laura "
    "Leo Linda Louis Lucy Maria Mark Martin Mary Mia Mina Nadia Nina Nora Olga Omar Oscar Paul "
    "Peter Rosa Robert Ruth Sara Simon Sofia Thomas Vera Victor Yara"
)
_LAST = (
    "Adams Allen Baker Becker Berg Bishop Braun Brown Carter Chapman Clark Cohen Cooper Costa "
    "Dixon Duarte Evans Fischer Fisher Foster Garcia Gibson Graham Green Hansen Harris Hoffmann "
    "Hughes Jansen Jensen Keller Kelly Khan Klein Kowalski Lang Larsen Lee Lewis Lopez Marsh Meyer "
    "Miller Moore Morris Moser Novak Olsen Ortiz Palmer Parker Petrov Price Reed Reyes Rossi Russo "
    "Santos Schmidt Silva Stone Turner Vogel Wagner Walker Weber White Wood Wright Young Zhang"
)
_STREET = (
    "Abbey Beech Bridge Castle Cedar Chapel Cherry Church Elm Field Forest Garden Grove Harbour "
    "High Hill King Lake Lime Main Market Meadow Mill North Oak Orchard Park Pine Queen River "
    "School South Spring Station Sunset Temple Tower Valley Victoria Willow"
)
_WAY = {"Street": "St", "Road": "Rd", "Avenue": "Ave", "Lane": "Ln"}
_TOWN = "Ashford Brookfield Clifton Dunmore Easton Fairview Granby Hartley Kingsley Marlow"
_SOURCES = "billing newsletter shop support"
_SHARES = (0.4, 0.3, 0.2, 0.1)  # of people with one record, two, three, four
_RELATED = 0.1  # share of people that have surname and address of the one before


def make_records(
    n_people: int = 500, *, mistakes: float = 1.0, random_state: Seed = None
) -> tuple[dict[str, list[str]], NDArray[np.int64]]:
    """Make records of people, with typing mistakes, abbreviations and gaps.

    Each person has one to four records, two on average, each in another source. One in ten people
    lives with the one before and has the same surname.

    Parameters
    ----------
    n_people : int
        Number of people.
    mistakes : float
        Changes to a record, on average: a letter that is missing, doubled, changed or swapped with
        the next; a first name cut to its initial; a street's abbreviation; a field left empty; day
        and month of birth swapped.
    random_state : int, RandomState or None
        Seed of all that is drawn at random.

    Returns
    -------
    records : dict of str to list of str
        Columns "name", "street", "town", "born" and "source", as ``pandas.DataFrame`` takes them;
        text is empty where it is missing. Rows are in random order.
    y : ndarray of shape (n_records,)
        Which person a record is of.

    Examples
    --------
    >>> records, y = make_records(random_state=0)
    >>> len(y), len(set(y.tolist()))
    (1001, 500)
    >>> [records["name"][row] for row in range(len(y)) if y[row] == 7]
    ['Y. Parker', 'Yarra Parker', 'Yara Parker']
    """
    for name, value, least in (("n_people", n_people, 1), ("mistakes", mistakes, 0)):
        if not value >= least:
            raise ValueError(f"{name} must be at least {least}, got {value!r}")
    random = check_random_state(random_state)
    rows: list[list[str]] = []
    y: list[int] = []
    person: list[str] = []
    for number in range(n_people):
        person = _person(random, person if random.uniform() < _RELATED else [])
        times = 1 + int(random.choice(len(_SHARES), p=_SHARES))
        for source in random.permutation(_SOURCES.split())[:times]:
            record = list(person)
            for _ in range(random.poisson(mistakes)):
                _spoil(record, random)
            rows.append([*record, str(source)])
            y.append(number)
    order = random.permutation(len(rows))
    columns = zip(*(rows[row] for row in order), strict=True)
    names = ("name", "street", "town", "born", "source")
    return dict(zip(names, map(list, columns), strict=True)), np.array(y, dtype=np.int64)[order]


def _one(words: str, random: np.random.RandomState) -> str:
    known = words.split()
    return known[random.randint(len(known))]


def _person(random: np.random.RandomState, relative: list[str]) -> list[str]:
    """Name, street, town and date of birth; name and address of a relative, where there is one."""
    last, street, town = _one(_LAST, random), _one(_STREET, random), _one(_TOWN, random)
    way, house = _one(" ".join(_WAY), random), random.randint(1, 200)
    year, month, day = random.randint(1930, 2006), random.randint(1, 13), random.randint(1, 29)
    name, address = f"{_one(_FIRST, random)} {last}", [f"{house} {street} {way}", town]
    if relative:
        name, address = f"{name.split()[0]} {relative[0].split()[1]}", relative[1:3]
    return [name, *address, f"{year}-{month:02}-{day:02}"]


def _spoil(record: list[str], random: np.random.RandomState) -> None:
    """Make one mistake, in place: of three in five, a letter."""
    kind, field = random.choice(5, p=(0.6, 0.1, 0.1, 0.1, 0.1)), random.randint(len(record))
    if kind == 0:
        record[field] = _mistyped(record[field], random)
    elif kind == 1:
        first, *rest = record[0].split(" ") if record[0] else [""]
        record[0] = " ".join([first[:1] + ".", *rest]) if first else record[0]
    elif kind == 2:
        for long, short in _WAY.items():
            record[1] = record[1].replace(long, short)
    elif kind == 3:
        record[1 + random.randint(len(record) - 1)] = ""
    else:
        parts = record[3].split("-")
        record[3] = "-".join([parts[0], *parts[:0:-1]])


def _mistyped(text: str, random: np.random.RandomState) -> str:
    """Drop, double, change or swap one letter."""
    if not text:
        return text
    at, kind = random.randint(len(text)), random.randint(4)
    before, letter, after = text[:at], text[at], text[at + 1 :]
    if kind == 0:
        return before + after
    if kind == 1:
        return before + 2 * letter + after
    if kind == 2:
        pool = "0123456789" if letter.isdigit() else "abcdefghijklmnopqrstuvwxyz"
        return before + pool[random.randint(len(pool))] + after
    return before + after[:1] + letter + after[1:]
