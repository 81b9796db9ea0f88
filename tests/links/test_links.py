"""The value object: what comes in, what is refused, what the operations keep."""

import copy
import pickle
import subprocess
import sys
import warnings
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from linkshift.links import ConflictError, Links, PairError, RowRangeError
from linkshift.links._parse import KINDS

PAIR = st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda p: p[0] < p[1])
PAIRS = st.lists(PAIR, unique=True, max_size=10)


def as_set(pairs):
    return {tuple(pair) for pair in np.asarray(pairs).tolist()}


class TestConstruction:
    def test_stores_sorted_int64_in_the_order_given(self):
        links = Links(must=[(5, 2), (1, 3)], cannot=np.array([[9.0, 0.0]]))
        assert links.must.tolist() == [[2, 5], [1, 3]]
        assert links.cannot.tolist() == [[0, 9]]
        assert links.must.dtype == links.cannot.dtype == np.int64
        assert links.must_confidence.tolist() == [1, 1]
        assert len(links) == 3

    @pytest.mark.parametrize("empty", [None, [], (), np.empty((0, 2)), np.array([])])
    def test_empty(self, empty):
        links = Links(empty, empty)
        assert not links
        assert links.must.shape == links.cannot.shape == (0, 2)
        assert links == Links()

    @pytest.mark.parametrize("dtype", [np.uint8, np.int32, np.uint64, np.float32])
    def test_numeric_dtypes(self, dtype):
        assert Links(np.array([[3, 1]], dtype=dtype)).must.tolist() == [[1, 3]]

    @pytest.mark.parametrize(
        ("must", "message"),
        [
            ([(0, 1), (4, 4)], r"must-link 1: \(4, 4\): a sample cannot be linked with itself"),
            ([(0, 1), (2, float("nan"))], r"must-link 1: \(2.0, nan\): NaN"),
            ([(0, 1), (2, float("inf"))], r"must-link 1: \(2.0, inf\): infinity"),
            (np.array([[0.5, 1]]), r"must-link 0: \(0.5, 1.0\): .*whole"),
            ([(0, 1), (-2, 3)], r"must-link 1: \(-2, 3\): .*negative"),
            (np.array([[0, 1], [-2, 3]]), r"must-link 1: \(-2, 3\): .*negative"),
            ([(0, 1), (True, 3)], r"must-link 1: \(True, 3\): True and False"),
            ([(0, 2**70)], r"must-link 0: \(0, 1180591620717411303424\): .*64 bits"),
            (np.array([[0, 2**63]], dtype=np.uint64), r"must-link 0: .*64 bits"),
            ([(0, 1), (2, 3, 4)], r"\(2, 3, 4\) at position 1"),
            ([("a", "b"), ("a", None)], r"must-link 1: \('a', None\): an id is missing"),
            ([("a", "a")], r"must-link 0: \('a', 'a'\): a sample cannot"),
            ([("a", [1])], r"must-link 0: \('a', \[1\]\): .*hashable"),
            (["ab"], r"'ab' at position 0"),
        ],
    )
    def test_bad_pairs_are_named(self, must, message):
        with pytest.raises(PairError, match=message):
            Links(must)

    @pytest.mark.parametrize("bad", [(0, 1), np.zeros((2, 3)), np.arange(2), np.zeros((1, 2, 2))])
    def test_wrong_shapes(self, bad):
        with pytest.raises(ValueError, match=r"cannot-links must be pairs.*cannot=\[\(0, 1\)\]"):
            Links(cannot=bad)

    @pytest.mark.parametrize("bad", ["ab", {"a": 1}, 3])
    def test_not_pairs_at_all(self, bad):
        with pytest.raises(TypeError, match="must be a list of pairs"):
            Links(bad)

    def test_boolean_array(self):
        with pytest.raises(ValueError, match="True and False"):
            Links(np.array([[True, False]]))

    @pytest.mark.parametrize("value", [0.0, -0.1, 1.1, np.nan])
    def test_confidence_outside_the_unit_interval(self, value):
        with pytest.raises(ValueError, match=r"must_confidence must lie in \(0, 1\]"):
            Links([(0, 1)], must_confidence=value)
        with pytest.raises(PairError, match=r"cannot-link 1: \(7, 4\): its confidence"):
            Links(cannot=[(0, 1), (7, 4)], cannot_confidence=[1, value])

    def test_confidence_of_wrong_length_or_type(self):
        with pytest.raises(ValueError, match=r"shape \(2,\), but there are 1 must-links"):
            Links([(0, 1)], must_confidence=[1, 1])
        with pytest.raises(TypeError, match="must_confidence must be numbers"):
            Links([(0, 1)], must_confidence=["sure"])

    def test_confidence_follows_its_pair(self):
        links = Links([(3, 1), (0, 2)], must_confidence=[0.25, 0.5], cannot=[(0, 1)])
        assert links.must_confidence.tolist() == [0.25, 0.5]
        assert "0.25" in repr(links)

    @pytest.mark.parametrize(
        ("must", "message"),
        [
            ([(0, 1), (2, 3), (1, 0)], r"must-link 2: \(0, 1\) is the same pair as must-link 0"),
            ([("a", "b"), ("b", "a")], r"must-link 1: \('a', 'b'\) is the same pair"),
        ],
    )
    def test_duplicates_refused_where_asked(self, must, message):
        with pytest.raises(PairError, match=message):
            Links(must, duplicates="raise")
        assert len(Links(must)) == len(must) - 1

    @given(st.lists(st.tuples(st.integers(0, 2), st.booleans(), st.sampled_from([0.25, 0.5, 1]))))
    def test_votes_of_a_pair(self, answers):
        """The kind with the larger sum wins, by its share; a pair of answers settles nothing."""
        arguments = {"must": [], "cannot": [], "must_confidence": [], "cannot_confidence": []}
        for row, is_must, sure in answers:
            kind = "must" if is_must else "cannot"
            arguments[kind].append((row, row + 1))
            arguments[f"{kind}_confidence"].append(sure)
        with warnings.catch_warnings(record=True):
            warnings.simplefilter("always")
            links = Links(**arguments)
        found = {
            (kind, a): sure
            for kind in ("must", "cannot")
            for (a, _), sure in zip(
                getattr(links, kind).tolist(), getattr(links, f"{kind}_confidence"), strict=True
            )
        }
        expected = {}
        for row in range(3):
            told = {k: [s for r, m, s in answers if r == row and m == (k == "must")] for k in KINDS}
            most = {k: max(v) for k, v in told.items() if v}
            sums = {k: sum(v) for k, v in told.items()}
            if (
                len(most) == 2
                and sums["must"] != sums["cannot"]
                and len(told["must"] + told["cannot"]) > 2
            ):
                kind = max(sums, key=sums.get)
                most = {kind: most[kind] * sums[kind] / sum(sums.values())}
            expected |= {(kind, row): sure for kind, sure in most.items()}
        assert found == pytest.approx(expected)

    def test_votes_are_told(self):
        with pytest.warns(UserWarning, match=r"cannot-link \('a', 'b'\), confidence 0.67"):
            links = Links([("a", "b")], [("b", "a"), ("a", "b")])
        assert links == Links(cannot=[("a", "b")], cannot_confidence=2 / 3)

    def test_duplicates_dropped_keep_the_highest_confidence(self):
        links = Links([(4, 5), (0, 1), (5, 4)], must_confidence=[0.2, 0.9, 0.6], duplicates="drop")
        assert links.must.tolist() == [[4, 5], [0, 1]]
        assert links.must_confidence.tolist() == [0.6, 0.9]
        with pytest.raises(ValueError, match="duplicates must be"):
            Links(duplicates="keep")

    def test_same_pair_as_must_and_cannot_is_left_to_conflicts(self):
        assert len(Links([(0, 1)], [(0, 1)]).conflicts()) == 1

    def test_out_of_range(self):
        message = r"must-link 1: \(5, 120\): row 120 is out of range for 100 samples"
        pairs = [(0, 1), (120, 5)]
        with pytest.raises(RowRangeError, match=message):
            Links(pairs, n_samples=100)
        with pytest.raises(IndexError, match=message):
            Links(pairs).check(100)
        links = Links(pairs)
        assert links.check(121) is links

    def test_check_notices_links_made_for_more_rows(self):
        links = Links([(0, 1)], n_samples=100)
        assert links.check(120) is links
        with pytest.raises(ValueError, match=r"for 100 samples, but the data have 80.*take"):
            links.check(80)

    @pytest.mark.parametrize("bad", [-1, 2.5, True, "3"])
    def test_bad_n_samples(self, bad):
        with pytest.raises((TypeError, ValueError), match="n_samples"):
            Links([(0, 1)], n_samples=bad)


class TestIds:
    def test_ids_at_construction(self):
        links = Links([(1001, 1003)], [(1003, 7)], ids=[7, 1001, 1003])
        assert not links.keyed_by_id
        assert links.must.tolist() == [[1, 2]]
        assert links.cannot.tolist() == [[0, 2]]
        assert links.n_samples == 3

    def test_unknown_id_names_the_pair(self):
        with pytest.raises(PairError, match=r"must-link 1: \('a', 'zoe'\): 'zoe' is not among"):
            Links([("a", "b"), ("a", "zoe")], ids=["a", "b"])

    def test_ids_must_be_unique_and_agree_with_n_samples(self):
        with pytest.raises(ValueError, match="'a' is the id of row 0 and of row 2"):
            Links([("a", "b")], ids=["a", "b", "a"])
        with pytest.raises(ValueError, match="n_samples=3, but there are 2 ids"):
            Links([("a", "b")], ids=["a", "b"], n_samples=3)
        with pytest.raises(ValueError, match="pass ids instead"):
            Links([("a", "b")], n_samples=3)

    def test_unresolved_links_say_how_to_resolve(self):
        links = Links([("a", "b")], [("b", "c")])
        assert links.keyed_by_id
        assert links.must_ids == (("a", "b"),)
        for use in (
            lambda: links.must,
            lambda: links.cannot,
            lambda: links.take([0]),
            links.closure,
            lambda: links.check(3),
        ):
            with pytest.raises(ValueError, match=r"links\.resolve\(ids\)"):
                use()

    def test_resolve(self):
        links = Links([("a", "b"), ("a", "c")], must_confidence=[0.5, 0.75])
        resolved = links.resolve(np.array(["c", "b", "a"]))
        assert resolved == Links([(1, 2), (0, 2)], must_confidence=[0.5, 0.75])
        with pytest.raises(PairError, match=r"must-link 1: \('a', 'c'\)"):
            links.resolve(["a", "b"])
        part = links.resolve(["b", "a"], missing="drop")
        assert part == Links([(0, 1)], must_confidence=0.5)
        with pytest.raises(ValueError, match="keyed by row already"):
            resolved.resolve(["a", "b"])

    def test_mixed_ids_are_not_turned_into_text(self):
        links = Links([("a", 1)], [(1, (2, "x"))])
        assert links.cannot_ids == ((1, (2, "x")),)
        assert links.resolve([(2, "x"), 1, "a"]).must.tolist() == [[1, 2]]

    def test_dates_are_ids_and_not_numbers(self):
        days = np.array(["2020-01-01", "2020-01-02", "2020-01-03"], dtype="datetime64[ns]")
        links = Links(days[[[0, 2]]])
        assert links.keyed_by_id
        assert links.resolve(days).must.tolist() == [[0, 2]]
        assert Links(days[[[0, 2]]], ids=days) == links.resolve(days)

    def test_negative_numbers_may_be_ids(self):
        assert Links([(-1, 5)], ids=[5, 7, -1]).must.tolist() == [[0, 2]]

    def test_pandas(self):
        pd = pytest.importorskip("pandas")
        frame = pd.DataFrame({"a": ["x", "y"], "b": ["y", "z"]})
        assert Links(frame, ids=pd.Index(["x", "y", "z"])) == Links([(0, 1), (1, 2)])
        assert Links(pd.DataFrame({"a": [0], "b": [1]})) == Links([(0, 1)])

    @settings(deadline=None)
    @given(PAIRS, PAIRS, st.permutations(range(8)))
    def test_ids_and_rows_agree(self, must, cannot, order):
        def name(pairs):
            return [(f"s{a}", f"s{b}") for a, b in pairs]

        ids = [f"s{i}" for i in order]
        row = {i: r for r, i in enumerate(order)}
        expected = Links([(row[a], row[b]) for a, b in must], [(row[a], row[b]) for a, b in cannot])
        assert Links(name(must), name(cannot), ids=ids) == expected
        assert Links(name(must), name(cannot)).resolve(ids) == expected


class TestValue:
    def test_frozen(self):
        links = Links([(0, 1)], must_confidence=0.5)
        for array in (links.must, links.cannot, links.must_confidence, links.cannot_confidence):
            assert not array.flags.writeable
        with pytest.raises(AttributeError, match="frozen"):
            links.must = 3
        with pytest.raises(AttributeError, match="frozen"):
            del links._pairs
        given_array = np.array([[0, 1]])
        links = Links(given_array)
        given_array[0, 1] = 9
        assert links.must.tolist() == [[0, 1]]

    def test_equality_ignores_order_but_nothing_else(self):
        links = Links([(0, 1), (2, 3)], [(4, 5)])
        assert links == Links([(3, 2), (1, 0)], [(5, 4)])
        assert hash(links) == hash(Links([(3, 2), (1, 0)], [(5, 4)]))
        assert links != Links([(0, 1)], [(2, 3), (4, 5)])
        assert links != Links([(0, 1), (2, 3)], [(4, 5)], must_confidence=0.5)
        assert links != "links"
        assert Links([("a", "b")]) == Links([("b", "a")])
        assert Links([("a", "b")]) != Links([(0, 1)])

    @pytest.mark.parametrize(
        "links",
        [
            Links([(0, 1)], [(1, 2)], must_confidence=0.3, n_samples=5),
            Links([("a", "b")], [("b", 3)]),
            Links(),
        ],
    )
    def test_survives_copy_and_pickle(self, links):
        for twin in (copy.copy(links), copy.deepcopy(links), pickle.loads(pickle.dumps(links))):
            assert twin == links
            assert twin.n_samples == links.n_samples
            assert twin.keyed_by_id == links.keyed_by_id
            assert not twin.must_confidence.flags.writeable

    def test_coerce(self):
        links = Links([(0, 1)], [(1, 2)])
        assert Links.coerce(links) is links
        assert Links.coerce(None) == Links()
        assert Links.coerce({"must": [(0, 1)], "cannot": [(1, 2)]}) == links
        assert Links.coerce(([(0, 1)], [(1, 2)])) == links
        with pytest.raises(TypeError, match="unknown key 'musts'"):
            Links.coerce({"musts": []})
        with pytest.raises(TypeError, match=r"build one with Links\("):
            Links.coerce([(0, 1)])

    def test_is_not_a_list(self):
        with pytest.raises(TypeError):
            iter(Links([(0, 1)]))

    def test_import_is_light(self):
        code = (
            "import sys, linkshift.links;"
            "bad = {'numba', 'pandas', 'sklearn', 'scipy.optimize', 'scipy.sparse'};"
            "sys.exit(str(bad & set(sys.modules)) if bad & set(sys.modules) else 0)"
        )
        subprocess.run([sys.executable, "-c", code], check=True)


class TestFromLabels:
    def test_closure_says_all_that_labels_say(self):
        y = np.array([2, -1, 0, 0, 2, 5, 5, -1, 0])
        closure = Links.from_labels(y).closure()
        known = [(a, b) for a, b in combinations(range(9), 2) if y[a] >= 0 and y[b] >= 0]
        assert as_set(closure.must_pairs()) == {(a, b) for a, b in known if y[a] == y[b]}
        assert as_set(closure.cannot_pairs()) == {(a, b) for a, b in known if y[a] != y[b]}

    @pytest.mark.parametrize(
        "y",
        [
            [0, 1, None, 0],
            [0.0, 1.0, np.nan, 0.0],
            ["x", "y", None, "x"],
            ["x", "y", np.nan, "x"],
            np.array(["x", "y", -1, "x"], dtype=object),
        ],
    )
    def test_kinds_of_unknown(self, y):
        assert Links.from_labels(y) == Links([(0, 3)], [(0, 1)])
        assert Links.from_labels(y).n_samples == 4

    def test_pandas_missing(self):
        pd = pytest.importorskip("pandas")
        y = pd.Series([0, 1, None, 0], dtype="Int64")
        assert Links.from_labels(y) == Links([(0, 3)], [(0, 1)])

    @pytest.mark.parametrize("y", [[], [-1, -1], [3]])
    def test_nothing_to_say(self, y):
        assert not Links.from_labels(y)

    def test_size_is_linear(self):
        y = np.arange(100_000) % 10
        links = Links.from_labels(y)
        assert len(links.must) == 100_000 - 10
        assert len(links.cannot) == 45

    def test_refuses_what_are_no_labels(self):
        with pytest.raises(ValueError, match=r"20,000 classes"):
            Links.from_labels(np.arange(20_000))
        with pytest.raises(ValueError, match="one label for each sample"):
            Links.from_labels(np.zeros((3, 2)))


class TestSample:
    y = np.array([0, 0, 0, 1, 1, 2, -1])

    def test_kinds_are_right_and_every_class_pair_is_covered(self):
        for seed in range(30):
            links = Links.sample(self.y, 5, random_state=seed)
            assert len(links) == 5
            assert all(self.y[a] == self.y[b] for a, b in links.must)
            covered = {tuple(sorted(self.y[pair])) for pair in links.cannot}
            assert covered == {(0, 1), (0, 2), (1, 2)}
            assert 6 not in links.must
            assert 6 not in links.cannot

    def test_all_pairs(self):
        links = Links.sample(self.y, 15, random_state=0)
        drawn = as_set(links.must) | as_set(links.cannot)
        assert drawn == set(combinations(range(6), 2))

    def test_uniform_between_classes_and_beyond(self):
        """Against the exact chance of each pair, within five standard errors."""
        runs, n_links = 4000, 6
        count = dict.fromkeys(combinations(range(6), 2), 0)
        rng = np.random.default_rng(0)
        for _ in range(runs):
            links = Links.sample(self.y, n_links, random_state=rng)
            for pair in as_set(links.must) | as_set(links.cannot):
                count[pair] += 1
        sizes = {0: 3, 1: 2, 2: 1}
        later = (n_links - 3) / (15 - 3)  # 3 of the 12 pairs that are not yet drawn
        for (a, b), observed in count.items():
            p, q = self.y[a], self.y[b]
            first = 0 if p == q else 1 / (sizes[p] * sizes[q])
            chance = first + (1 - first) * later
            error = np.sqrt(chance * (1 - chance) / runs)
            assert abs(observed / runs - chance) <= 5 * error + 1e-12, (a, b)

    def test_last_class_is_not_starved(self):
        y = np.repeat([0, 1, 2, 3], 50)
        links = Links.sample(y, 6000, random_state=1)
        per_class = np.bincount(y[links.must[:, 0]], minlength=4)
        expected = (6000 - 6) * 1225 / 19900
        assert np.all(np.abs(per_class - expected) < 5 * np.sqrt(expected))

    @pytest.mark.parametrize("n_links", [45, 3000, 30_000, 40_000, 44_850])
    def test_distinct_at_every_density(self, n_links):
        y = np.arange(300) % 10
        links = Links.sample(y, n_links, random_state=3)  # construction refuses duplicates
        assert len(links) == n_links

    def test_large(self):
        y = np.arange(60_000) % 10
        links = Links.sample(y, 50_000, random_state=0)
        assert len(links) == 50_000
        assert np.array_equal(*y[links.must].T)
        assert links.cannot.max() > 59_000

    def test_error_rate(self):
        y = np.arange(200) % 4
        links = Links.sample(y, 1000, random_state=0, error_rate=0.1)
        wrong = np.sum(y[links.must[:, 0]] != y[links.must[:, 1]])
        wrong += np.sum(y[links.cannot[:, 0]] == y[links.cannot[:, 1]])
        assert wrong == 100
        assert len(links) == 1000
        with pytest.raises(ValueError, match="error_rate"):
            Links.sample(y, 10, error_rate=1.5)

    def test_too_few_and_too_many(self):
        with pytest.raises(ValueError, match=r"3 classes have 3 pairs of classes.*at least 3"):
            Links.sample(self.y, 2)
        with pytest.raises(ValueError, match=r"6 labelled samples have 15 pairs"):
            Links.sample(self.y, 16)

    def test_random_state(self):
        y = np.arange(40) % 4
        assert Links.sample(y, 50, random_state=5) == Links.sample(y, 50, random_state=5)
        assert Links.sample(y, 50, random_state=5) != Links.sample(y, 50, random_state=6)
        old = [Links.sample(y, 50, random_state=np.random.RandomState(5)) for _ in range(2)]
        assert old[0] == old[1]


class TestTake:
    @settings(deadline=None)
    @given(PAIRS, PAIRS, st.permutations(range(8)), st.integers(0, 8))
    def test_against_brute_force(self, must, cannot, order, size):
        rows = order[:size]
        links = Links(must, cannot, n_samples=8, must_confidence=np.linspace(0.1, 1, len(must)))

        def kept(pairs):
            return {
                tuple(sorted((rows.index(a), rows.index(b))))
                for a, b in pairs
                if a in rows and b in rows
            }

        part = links.take(rows)
        assert as_set(part.must) == kept(must)
        assert as_set(part.cannot) == kept(cannot)
        assert part.n_samples == size
        confidence = dict(zip(map(tuple, links.must.tolist()), links.must_confidence, strict=True))
        for (a, b), sure in zip(part.must.tolist(), part.must_confidence, strict=True):
            assert confidence[tuple(sorted((rows[a], rows[b])))] == sure

    @settings(deadline=None)
    @given(PAIRS, PAIRS, st.permutations(range(8)), st.integers(0, 8))
    def test_closed_keeps_what_the_closure_implies(self, must, cannot, order, size):
        rows = order[:size]
        links = Links(must, cannot, n_samples=8).conflicts().resolve()
        whole, part = links.closure(), links.take(rows, closed=True)

        def expected(pairs):
            return as_set(Links(must=pairs, n_samples=8).take(rows).must)

        assert as_set(part.closure().must_pairs()) == expected(whole.must_pairs())
        assert as_set(part.closure().cannot_pairs()) == expected(whole.cannot_pairs())
        explicit = links.take(rows)
        assert as_set(explicit.must) <= as_set(part.must)
        assert as_set(explicit.cannot) <= as_set(part.cannot)
        assert len(part) <= 2 * len(links)

    @settings(deadline=None)
    @given(PAIRS, st.data())
    def test_closed_keeps_the_surest_chain(self, must, data):
        level = st.sampled_from([0.25, 0.5, 0.75, 1.0])
        sure = data.draw(st.lists(level, min_size=len(must), max_size=len(must)))
        rows = data.draw(st.lists(st.integers(0, 7), unique=True))
        links = Links(must, must_confidence=sure, n_samples=8)

        def widest(links, n):
            width = np.zeros((n, n))
            for (a, b), w in zip(links.must, links.must_confidence, strict=True):
                width[a, b] = width[b, a] = w
            for k in range(n):
                width = np.maximum(width, np.minimum(width[:, [k]], width[[k], :]))
            np.fill_diagonal(width, 1)
            return width

        part = links.take(rows, closed=True)
        assert np.array_equal(widest(part, len(rows)), widest(links, 8)[np.ix_(rows, rows)])

    def test_closed_moves_a_cannot_link_to_the_surest_stand_in(self):
        links = Links([(0, 1), (1, 2)], [(1, 3)], must_confidence=[0.9, 0.4], cannot_confidence=0.7)
        part = links.take([0, 2, 3], closed=True)
        assert part.must.tolist() == [[0, 1]]
        assert part.must_confidence.tolist() == [0.4]
        assert part.cannot.tolist() == [[0, 2]]
        assert part.cannot_confidence.tolist() == [0.7]

    def test_closed_changes_nothing_when_all_are_kept(self):
        links = Links([(0, 1), (1, 2), (0, 2)], [(0, 3), (1, 3)])
        assert links.take(range(4), closed=True) == links

    def test_mask(self):
        links = Links([(0, 2)], [(2, 3)])
        assert links.take([True, False, True, True]) == Links([(0, 1)], [(1, 2)])
        with pytest.raises(ValueError, match="the links name row 3"):
            links.take([True, False, True])
        with pytest.raises(ValueError, match="4 entries for 5 samples"):
            Links([(0, 1)], n_samples=5).take([True] * 4)

    @pytest.mark.parametrize(
        ("rows", "message"),
        [
            ([1, 2, 1], "row 1 occurs 2 times"),
            ([-1], "negative"),
            ([0.5], "whole numbers"),
            ([[0]], "shape"),
            ([9], "row 9 is out of range for 5 samples"),
        ],
    )
    def test_errors(self, rows, message):
        with pytest.raises((ValueError, TypeError, IndexError), match=message):
            Links([(0, 1)], n_samples=5).take(rows)

    def test_closed_refuses_conflicts(self):
        with pytest.raises(ConflictError):
            Links([(0, 1)], [(0, 1)]).take([0], closed=True)


class TestAddRemove:
    def test_union_keeps_the_larger_confidence(self):
        left = Links([(0, 1), (1, 2)], must_confidence=[0.2, 0.9])
        right = Links([(2, 1), (1, 0)], [(0, 5)], must_confidence=[0.3, 0.4])
        both = left + right
        assert both == right + left
        assert both == Links([(0, 1), (1, 2)], [(0, 5)], must_confidence=[0.4, 0.9])

    @settings(deadline=None)
    @given(PAIRS, PAIRS, PAIRS, PAIRS)
    def test_union_by_row_and_by_id(self, must, cannot, more_must, more_cannot):
        def name(pairs):
            return [(f"s{a}", f"s{b}") for a, b in pairs]

        both = Links(must, cannot) + Links(more_must, more_cannot)
        assert as_set(both.must) == set(must) | set(more_must)
        assert as_set(both.cannot) == set(cannot) | set(more_cannot)
        by_id = Links(name(must), name(cannot)) + Links(name(more_must), name(more_cannot))
        assert by_id.resolve([f"s{i}" for i in range(8)]) == both
        assert both.remove(both.must, both.cannot) == Links()

    def test_add(self):
        links = Links([(0, 1)], n_samples=4).add(cannot=[(1, 2)], cannot_confidence=0.5)
        assert links == Links([(0, 1)], [(1, 2)], cannot_confidence=0.5)
        assert links.n_samples == 4
        with pytest.raises(RowRangeError, match=r"cannot-link 1: \(1, 4\)"):
            links.add(cannot=[(1, 4)])
        assert Links([("a", "b")]).add([("b", 3)]).must_ids == (("a", "b"), ("b", 3))
        with pytest.raises(PairError, match=r"must-link 0: \('a', 'b'\).*keyed by row"):
            links.add([("a", "b")])

    def test_unlike_links_do_not_mix(self):
        with pytest.raises(ValueError, match="one is keyed by row"):
            Links([(0, 1)]) + Links([("a", "b")])
        with pytest.raises(ValueError, match="for 3 and for 4 samples"):
            Links([(0, 1)], n_samples=3) + Links([(0, 2)], n_samples=4)
        with pytest.raises(TypeError):
            Links() + 3

    def test_remove(self):
        links = Links([(0, 1), (1, 2)], [(0, 2)], must_confidence=[0.1, 0.2])
        assert links.remove(must=[(1, 0)]) == Links([(1, 2)], [(0, 2)], must_confidence=0.2)
        with pytest.raises(PairError, match=r"cannot remove must-link \(0, 5\)"):
            links.remove(must=[(5, 0)])
        by_id = Links([("a", "b"), ("b", "c")])
        assert by_id.remove([("b", "a")]) == Links([("b", "c")])


class TestScikitLearn:
    """Cross-validation must cut links down to the fold, whatever their number."""

    @pytest.mark.parametrize("n_links", [3, 20])  # 20: as many links as samples
    @pytest.mark.parametrize("known", [True, False])
    def test_cross_validation(self, n_links, known):
        import sklearn
        from sklearn.base import BaseEstimator, ClusterMixin
        from sklearn.model_selection import KFold, cross_validate

        seen = []

        class Probe(ClusterMixin, BaseEstimator):
            def fit(self, X, y=None, links=None):
                seen.append((X[:, 0].astype(int), links))
                return self

            def score(self, X, y=None):
                return 0.0

        y = np.arange(20) % 2
        links = Links.sample(y, n_links, random_state=0)
        if not known:
            links = Links(links.must, links.cannot)
        X = np.arange(20.0)[:, None]
        with sklearn.config_context(enable_metadata_routing=True):
            probe = Probe().set_fit_request(links=True)
            cross_validate(probe, X, cv=KFold(4), params={"links": links})
        assert len(seen) == 4
        for rows, passed in seen:
            assert passed == (links.take(rows) if known else links)
            assert passed.n_samples == (15 if known else None)

    def test_indexing_is_take(self):
        links = Links([(0, 2), (3, 4)], n_samples=5)
        assert links[[2, 0]] == links.take([2, 0])
        assert links[1:] == links.take([1, 2, 3, 4])
        assert links.shape == (5,)
        with pytest.raises(ValueError, match="take"):
            Links([(0, 1)])[1:]
