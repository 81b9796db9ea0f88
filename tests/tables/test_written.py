"""Numbers and dates as they are written, alone and in a table."""

from datetime import date

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from linkshift import prepare
from linkshift._core.messages import Advice
from linkshift.tables.preparing import Preparation
from linkshift.tables.written import date_form_of, days_in, form_of, numbers_in

NUMBERS = st.lists(st.integers(-(10**9), 10**9).map(lambda n: n / 100), min_size=1, max_size=9)


def german(text):
    return text.translate(str.maketrans(",.", ".,"))


@given(NUMBERS, st.booleans())
def test_numbers_read_back(numbers, percent):
    """With two digits behind the sign there is no doubt about it."""
    sign = " %" if percent else ""
    texts = [f"{number:,.2f}{sign}" for number in numbers]
    expected = np.array(numbers) / (100 if percent else 1)
    for cells in (texts, [german(text) for text in texts]):
        form, count = form_of(cells)
        assert count == len(cells)
        np.testing.assert_allclose(numbers_in(cells, form), expected)


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        (["1.234", "2.5"], [1.234, 2.5]),  # plain, unless a comma says otherwise
        (["1.234", "2.345"], [1.234, 2.345]),
        (["1.234", "2,5", "1.234,5"], [1234, 2.5, 1234.5]),
        (["1,234", "2,345", "12"], [1234, 2345, 12]),
        (["1 234,5", "1\u202f000"], [1234.5, 1000]),
        (["37%", "4,5 %"], [0.37, 0.045]),
        (["37%", "0.5"], [0.37, 0.5]),
        (["1e-3", "+7"], [0.001, 7]),
        (["1,2,3", "4"], [np.nan, 4]),
        (["12,34.5", "1"], [np.nan, 1]),
        (["%", "1"], [np.nan, 1]),
        (["43,50 €", "1.200 €", "7€"], [43.5, 1200, 7]),
        (["$58.50", "-$1,200.00", "$7"], [58.5, -1200, 7]),
        (["5 kg", "7.5kg"], [5, 7.5]),
        (["5 kg", "7"], [np.nan, 7]),
        (["5 kg", "500 g"], [np.nan, np.nan]),
    ],
)
def test_forms(cells, expected):
    np.testing.assert_allclose(numbers_in([*cells, None], form_of(cells)[0]), [*expected, np.nan])


@given(st.dates())
def test_dates(day):
    expected = day.toordinal() - date(1970, 1, 1).toordinal()
    assert days_in([day.isoformat()]) == expected
    assert days_in([f"{day}T12:00:00+00:00"]) == pytest.approx(expected + 0.5)
    assert days_in([f"{day} 12:00"]) == pytest.approx(expected + 0.5)


def test_no_dates():
    assert np.isnan(
        days_in(["2024-02-31", "2024-5-1", "20240501", "soon", "2024-05-01T25:00"])
    ).all()


@pytest.fixture
def table():
    rng = np.random.default_rng(0)
    share, price = rng.integers(1, 99, size=40), rng.integers(10**4, 10**8, size=40) / 100
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 700, size=40), "D")
    return pd.DataFrame(
        {
            "share": [f"{x}%" for x in share],
            "price": [german(f"{x:,.2f}") for x in price],
            "day": days.strftime("%Y-%m-%d"),
            "share as number": share / 100,
            "price as number": price,
            "day as date": days,
        }
    )


def test_in_a_table(table):
    prepared = prepare(table, log=False)
    assert prepared.columns == table.columns.tolist()
    np.testing.assert_allclose(prepared.X[:, :3], prepared.X[:, 3:], atol=1e-12)
    first = table.loc[0]
    assert f"share: '{first['share']}' read as {first['share as number']:g}." in prepared.said
    assert f"price: '{first['price']}' read as {first['price as number']:.10g}." in prepared.said
    assert "day: dates, taken as days since 1970." in prepared.said
    assert "day as date: dates, taken as days since 1970." in prepared.said


def test_new_rows_are_read_alike(table):
    recipe = Preparation(log=False).fit(table.iloc[:, :3])
    again = Preparation.from_plain(recipe.to_plain())
    new = pd.DataFrame({"share": ["7%"], "price": ["1.234"], "day": ["2025-01-01"]})
    price = table["price as number"]
    made = again.transform(new)
    assert made[0, 1] == pytest.approx((1234 - price.mean()) / price.std(ddof=0))
    with pytest.warns(Advice, match=r"price: plain numbers, which were written as 1.234,5 before"):
        again.transform(new.assign(price=[1.234]))
    with pytest.warns(Advice, match=r"day: 1 cell no date \('soon'\), taken as missing"):
        again.transform(new.assign(day=["soon"]))
    plain = recipe.to_plain()
    plain["steps"][0]["form"] = "roman"
    with pytest.raises(ValueError, match="no recipe"):
        Preparation.from_plain(plain)


def test_words_among_numbers_and_dates():
    share = ["1%", "2%", "3%", "n/a"] * 10
    prepared = prepare(pd.DataFrame({"share": share, "day": ["2024-01-01", "2024-01-02"] * 20}))
    assert "share: '1%' read as 0.01; 10 cells no number ('n/a'), taken as missing" in str(prepared)
    words = prepare(pd.DataFrame({"size": ["5%", "low", "high", "5%"] * 10}))
    assert words.columns == ["size=5%", "size=high", "size=low"]


@given(st.lists(st.dates(), min_size=1, max_size=9), st.sampled_from("./"), st.booleans())
def test_dates_with_the_day_or_the_month_first(days, sign, day_first):
    """A day beyond 12 says which; without one nobody can tell."""
    written = f"%d{sign}%m{sign}" if day_first else f"%m{sign}%d{sign}"
    cells = [day.strftime(written) + f"{day.year:04}" for day in days]
    form, why = date_form_of(cells)
    if any(day.day > 12 for day in days):
        assert not why
        np.testing.assert_array_equal(days_in(cells, form), days_in([str(day) for day in days]))
    else:
        assert "write them as 2024-05-31" in why


def test_dates_and_units_in_a_table():
    n = 40
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(n) * 5, "D")
    table = pd.DataFrame(
        {
            "day": days.strftime("%d.%m.%Y"),
            "price": [f"{i % 17 + 0.5:.2f} €".replace(".", ",") for i in range(n)],
            "count": [f"{i % 9 + 1}.{i * 7 % 900 + 100}" for i in range(n)],
            "when": [f"0{i % 9 + 1}/0{i % 7 + 1}/2024" for i in range(n)],
            "weight": [f"{i % 9 + 1} {'kg' if i % 2 else 'g'}" for i in range(n)],
        }
    )
    recipe = Preparation(log=False, scale="none").fit(table)
    said = "\n".join(recipe.said_)
    assert recipe.get_feature_names_out().tolist()[:4] == ["day", "price", "count", "weight=1 g"]
    assert "day: dates, written as 31.05.2024, taken as days since 1970." in said
    assert "price: '0,50 €' read as 0.5." in said
    assert "count: '1.100' read as 1100." in said
    assert "when: left out, its dates may have the day or the month first ('01/01/2024')" in said
    assert "weight: numbers with several units (g, kg), no numbers unless they have one" in said
    again = Preparation.from_plain(recipe.to_plain())
    new = table[:1].assign(day="02.01.2024", price="1,25 €", count="2.000")
    assert again.transform(new)[0, :3].tolist() == [19724.0, 1.25, 2000.0]
    with pytest.warns(Advice, match=r"price: 1 cell no number \('1,25 \$'\)"):
        again.transform(new.assign(price="1,25 $"))
    alone = Preparation().fit(table[["count"]])
    assert "'1.100' read as 1.1 (if its point is for thousands, write 1100)" in alone.said_[0]
