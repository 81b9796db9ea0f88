"""The loop that links come from: ask a pair, take the answer, cluster, ask the next."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_array

from linkshift._core.arrays import Array, Progress
from linkshift._core.messages import Refusal
from linkshift._core.threads import one_blas_thread
from linkshift.active.among import Choice, marked
from linkshift.active.belief import beliefs
from linkshift.active.checks import checked_ids, checked_jobs, checked_seed, checked_share
from linkshift.active.estimate import Audit, Estimate, estimated
from linkshift.active.keeping import check_version, place_of, read_back
from linkshift.active.known import Contradiction, Told
from linkshift.active.log import Answer, as_links, read_answer, read_links, told_of
from linkshift.active.memory import Memory, between_rows
from linkshift.active.picking import Picking
from linkshift.active.prepared import believed
from linkshift.active.questions import Candidate, Question
from linkshift.active.reasons import why_is
from linkshift.active.why import Why
from linkshift.links import Links
from linkshift.methods.numbering import numbers_like

if TYPE_CHECKING:
    from linkshift.web.sessions import Serving

__all__ = ["Session"]

_RECENT = 25  # answers whose effect is told


class Session:
    """Questions about pairs of rows, and the clusters that follow from the answers.

    A session asks whether two rows are the same, the pair with the most at stake first, and
    clusters by what it was told. It writes and prints nothing: keep `to_dict`, or the links.

    Labels, questions and estimates depend on the data, the answers and ``random_state`` alone: the
    same log gives the same labels, to the bit, and an answer that is taken back leaves no trace.

    Parameters
    ----------
    X : array-like of shape (n, d)
        The rows, in columns of one scale (`linkshift.tables.scaling`, or scikit-learn's scalers).
        The index of a data frame, where it is not just the numbers of the rows, has their ids.
    links : Links, default=None
        What is known before the first question.
    ids : sequence of n hashables, default=None
        Names of the rows, by which questions and links call them.
    audit : float, default=0.2
        Share of the questions after the tenth whose pairs are drawn at random, to know how good
        the clusters are (`estimate`). 0 asks none.
    random_state : int, default=0
        Seed of what is drawn: audits, and the rows that are looked at where there are more than
        2,500.
    n_jobs : int, default=None
        Threads of the first look at the rows; no label depends on it.

    Attributes
    ----------
    labels_ : ndarray of shape (n,)
        Clusters, numbered by their first row.
    n_clusters_ : int
    links : Links
        What was said: the links that were given, and the answers. May be set.
    changed : ndarray
        Rows whose label the last answer moved.
    log : tuple of dict
        The answers, in order.

    Notes
    -----
    The first look takes time and memory with the square of the rows, 2,500 at most; other rows go
    with the nearest of these, and rows that answers name are always looked at. Answers are closed:
    who is the same as the same is the same. A later answer to a pair takes the place of an earlier
    one, or of a link that was given; of answers that contradict each other the least probable is
    set aside (`contradictions`), and an answer that may have been a slip is asked for again.

    Examples
    --------
    >>> import numpy as np
    >>> from linkshift import Session
    >>> rng = np.random.default_rng(0)
    >>> X = np.concatenate([rng.normal(c, 0.5, (50, 2)) for c in (0, 3, 6)])
    >>> truth = np.repeat([0, 1, 1], 50)  # of which two heaps are one, for a reason of ours
    >>> session = Session(X)
    >>> for _ in range(12):
    ...     question = session.ask()
    ...     same = truth[question.a] == truth[question.b]
    ...     session.answer("same" if same else "different")
    >>> session.n_clusters_
    2
    """

    def __init__(
        self,
        X: Any,
        links: Any = None,
        *,
        ids: Iterable[Hashable] | None = None,
        audit: float = 0.2,
        random_state: int = 0,
        n_jobs: int | None = None,
    ) -> None:
        self._X = check_array(X, dtype=np.float64, ensure_min_samples=2)
        self.ids = checked_ids(ids, X, len(self._X))
        self.audit, self.random_state, self.n_jobs = (
            checked_share(audit),
            checked_seed(random_state),
            checked_jobs(n_jobs),
        )
        self._answers: list[Answer] = []
        self._given: list[Told] = []
        self._asked: list[Candidate] = []  # questions that are open
        self._choice: Choice | None = None
        self._memory = Memory(self._X, self.random_state, self.n_jobs)
        self._audits: dict[tuple[Any, ...], Audit | None] = {}
        if links is not None:
            self.links = links

    # Asking and answering ------------------------------------------------------------------------

    def ask(self, n: int | None = None) -> Any:
        """Say which pair to ask about: a `Question`, or a list of up to n; None for no more.

        Questions of a list are about different clusters, so that no answer to one makes another
        needless; with few clusters they are fewer than n.
        """
        if n is not None and (not isinstance(n, int) or isinstance(n, bool) or n < 1):
            raise Refusal(f"ask({n!r})", "Ask for a whole number of questions, from 1 on.")
        found = self._picking.batch(1 if n is None else n)
        self._asked = list(found)
        if n is None:
            return self._question(found[0]) if found else None
        return [self._question(one) for one in found]

    def answer(
        self,
        answer: Any,
        confidence: float = 1.0,
        *,
        pair: Sequence[Any] | None = None,
        purpose: str | None = None,
    ) -> None:
        """Take an answer: "same", "different" or "unknown", to the pair that was asked last.

        Parameters
        ----------
        answer : {"same", "different", "unknown"}
            Also s, d, u, True, False and None.
        confidence : float, default=1
            Above 0 and up to 1. An answer that is not certain counts less, and gives way to others
            and to the model where it is improbable.
        pair : (id, id), default=None
            Another pair than the one asked last.
        purpose : {"learn", "audit", "confirm"}, default=None
            Why it was asked; None: as it was, or to learn.
        """
        if pair is None and not self._asked:
            raise Refusal(
                "No question is open.",
                "Call ask() first, or name the pair: answer(..., pair=(a, b)).",
                parameter="pair",
            )
        a, b = (self._asked[0].a, self._asked[0].b) if pair is None else self._pair(pair)
        asked = [one for one in self._asked if {one.a, one.b} == {a, b}]
        why = purpose or (asked[0].purpose if asked else "learn")
        self._answers.append(read_answer(a, b, answer, confidence, why))
        self._asked = [one for one in self._asked if one not in asked]

    def ask_among(self, n: int = 5) -> Choice | None:
        """Show a row and up to n others, and ask which are like it; None for no more.

        One look of a person, and up to n answers: `choose` takes them. Audits and questions that
        confirm an answer come here too, with one other row; one in five choices is an audit.
        """
        if not isinstance(n, (int, np.integer)) or isinstance(n, bool) or n < 1:
            raise Refusal(f"ask_among({n!r})", "Show a whole number of rows, from 1 on.")
        found = self._picking.among(n)
        self._choice = None
        if found is not None:
            best, purpose = found
            named = self.ids.__getitem__ if self.ids is not None else int
            among = tuple(named(one) for one in best.among)
            self._choice = Choice(named(best.row), among, best.why, best.at_stake, purpose)
        return self._choice

    def choose(
        self,
        picked: Iterable[Any] | None,
        confidence: float = 1.0,
        *,
        choice: Choice | None = None,
    ) -> None:
        """Say which of the rows of a choice are like its row: the others are different from it.

        Each is an answer of its own in the log.

        Parameters
        ----------
        picked : iterable of ids, or None
            Those that are like it, [] for none of them; None where nobody knows.
        confidence : float, default=1
            Of all of them, as in `answer`.
        choice : Choice, default=None
            Another one than the last.
        """
        about = self._choice if choice is None else choice
        if about is None:
            raise Refusal(
                "No choice is open.",
                "Call ask_among() first, or give the choice: choose(..., choice=...).",
                parameter="choice",
            )
        pairs = [self._pair((about.row, one)) for one in about.among]
        said = zip(pairs, marked(picked, about.among), strict=True)
        found = [read_answer(a, b, word, confidence, about.purpose) for (a, b), word in said]
        self._answers += found
        self._choice = None
        self._asked = [one for one in self._asked if _sorted(one) not in {a.pair for a in found}]

    def same(self, *rows: Any) -> None:
        """Say that rows, by id, belong together: as answers to one pair after the other."""
        for pair in pairwise(rows):
            self.answer("same", pair=pair)

    def different(self, *rows: Any) -> None:
        """Say that rows, by id, all belong to different clusters."""
        for i, a in enumerate(rows):
            for b in rows[i + 1 :]:
                self.answer("different", pair=(a, b))

    def undo(self, number: int = -1) -> dict[str, Any]:
        """Take back the last answer, or that of another place in the log, and return it."""
        whole = isinstance(number, (int, np.integer)) and not isinstance(number, bool)
        if not whole or not -len(self._answers) <= number < len(self._answers):
            raise Refusal(
                f"There is no answer {number!r} to take back: the log has {len(self._answers)}.",
                "Answers are numbered from 0 in `log`; without a number the last one goes.",
                parameter="number",
            )
        self._asked, self._choice = [], None
        return self._answers.pop(number).as_dict(self.ids)

    def run(self, oracle: Callable[[Any, Any], Any], budget: int) -> Self:
        """Ask somebody else: ``oracle(a, b)`` answers for two ids, ``budget`` questions at most.

        A person, a classifier, a language model: whoever says "same", "different" or "unknown", or
        True, False and None.
        """
        if not isinstance(budget, (int, np.integer)) or isinstance(budget, bool) or budget < 0:
            raise Refusal(
                f"budget is {budget!r}.", "Give a whole number of questions.", parameter="budget"
            )
        for _ in range(budget):
            question = self.ask()
            if question is None:
                break
            self.answer(oracle(question.a, question.b))
        return self

    # What follows --------------------------------------------------------------------------------

    @property
    def labels_(self) -> Array:
        """Clusters of all rows."""
        return self._memory.labels(self._told)

    @property
    def n_clusters_(self) -> int:
        """Count the clusters."""
        return int(self.labels_.max()) + 1

    @property
    def log(self) -> tuple[dict[str, Any], ...]:
        """Give the answers in order, as plain values."""
        return tuple(answer.as_dict(self.ids) for answer in self._answers)

    @property
    def links(self) -> Links:
        """What was said, as links between ids (or rows): given ones and answers."""
        return as_links(self._told, self.ids)

    @links.setter
    def links(self, links: Any) -> None:
        there = {
            (*_sorted(one), one.same): one for one in read_links(links, self.ids, len(self._X))
        }
        stays = {
            (*_sorted(one), one.same)
            for one in told_of(self._answers, self.ids)
            if (found := there.get((*_sorted(one), one.same))) is not None
            and found.confidence == one.confidence
            # Of links of both kinds neither takes the place of the other.
            and (*_sorted(one), not one.same) not in there
        }
        self._answers = [
            one
            for one in self._answers
            if one.word == "unknown" or (*one.pair, one.word == "same") in stays
        ]
        self._given = [one for key, one in there.items() if key not in stays]
        self._asked, self._choice = [], None

    @property
    def changed(self) -> Array:
        """Rows whose label the last answer moved."""
        if not self._answers:
            return np.zeros(0, dtype=np.int64)
        before = self._memory.labels(self._told_by(self._answers[:-1]))
        return np.flatnonzero(_moved(before, self.labels_))

    def probability(self, a: Any, b: Any) -> float:
        """How probable it is that two rows, by id, belong together; 0 or 1 where answers say so."""
        one, other = self._pair((a, b))
        sight, state = self._memory.state(self._told, (one, other))
        said = between_rows(self._told, state).says(one, other)
        one, other = sight.place[one], sight.place[other]
        said = state.known.says(one, other) if said is None else said
        if said is not None:
            return float(said)
        with one_blas_thread():
            features = sight.faces.of_pairs(np.array([one]), np.array([other]))
        return float(beliefs(state.weights, features.T[:, :, None])[0, 0])

    def contradictions(self) -> list[Contradiction]:
        """Answers that were set aside, each with the chain of answers that says the opposite."""
        told, (_, state) = self._told, self._memory.state(self._told)
        by_name = {one.name: one for one in told}  # there are rows here, and places in the state
        found = {
            one.against.name: Contradiction(
                by_name[one.against.name], tuple(by_name[link.name] for link in one.chain)
            )
            for one in state.known.contradictions
        }
        for one in between_rows(told, state).contradictions:
            found.setdefault(one.against.name, one)
        return list(found.values())

    def estimate(self) -> Estimate:
        """Estimate precision and recall of pairs and the adjusted Rand index, with 90 % intervals.

        Audit questions (one in five by default, from the eleventh on) are what it goes by: see
        :mod:`linkshift.active.estimate`. An answer counts before it is learned from.
        """
        audits: dict[tuple[Any, ...], Audit | None] = {}
        for i, answer in enumerate(self._answers):
            if answer.purpose == "audit" and answer.word != "unknown":
                # What was believed then needs all of a state: it is kept for the next estimate.
                key = (*self._given, *self._answers[: i + 1])
                known = self._audits
                audits[key] = known[key] if key in known else believed(self, i, answer)
        self._audits = audits
        found = [one for one in audits.values() if one is not None]
        with one_blas_thread():
            return estimated(self._memory.state(self._told)[1].shown, found, len(self._answers))

    def explain(self, row: Any, *, max_what_ifs: int = 8, progress: Progress | None = None) -> Why:
        """Say why a row, by id, is in its cluster: answers that hold it there, and what if.

        Without each of the answers that act on it, ``max_what_ifs`` at most, the clusters are
        worked out anew, on the side; ``progress(done, of)`` is called before each.
        """
        return why_is(self, self._place(row), max_what_ifs, progress)

    def progress(self) -> str:
        """Say in words what the last answers changed, and what further ones are expected to."""
        recent = min(_RECENT, len(self._answers))
        n = len(self._X)
        told = ""
        if recent:
            before = self._memory.labels(self._told_by(self._answers[:-recent]))
            share = _moved(before, self.labels_).sum() / n
            last = "answer" if recent == 1 else f"{recent} answers"
            told = f"The last {last} changed {share:.1%} of the rows; "
        expected = sum(one.moves for one in self._picking.candidates[:_RECENT]) / n
        further = f"{told}further {_RECENT} are expected to move {min(expected, 1.0):.1%}."
        return further[0].upper() + further[1:]

    def labels_by(self, estimator: Any) -> Array:
        """Labels that another method makes of the same links: ``estimator.fit(X, links=...)``.

        Answers that were set aside are not among them.
        """
        aside = {one.against.name for one in self.contradictions()}
        told = [one for one in self._told if one.name not in aside]
        by_row = as_links(told, None)
        labels = clone(estimator).fit_predict(self._X, links=by_row if told else None)
        found: Array = np.asarray(labels)
        return found

    # On a page -----------------------------------------------------------------------------------

    def serve(self, items: Any = None, **options: Any) -> Serving:
        """Open the labelling page of this session, in the browser or a notebook's frame.

        Answers that are given there enter the session as they come, and leave it where they are
        taken back; meanwhile, answer on the page alone. Needs the extra ``web``.

        Parameters
        ----------
        items : table, list of text or of paths, or array of images, default=None
            What is shown of each row; None shows the columns.
        **options
            ``store``: path of the file of what is said, which is made or gone on with (None: one
            that goes when the page is closed); ``port``, ``browser`` (None: unless in a notebook),
            ``who`` answers, ``title``.

        Returns
        -------
        Serving
            With ``address`` and ``stop()``; shown in a notebook it is the page.
        """
        try:
            from linkshift.web.sessions import serve_session
        except ModuleNotFoundError as error:
            if (error.name or "").partition(".")[0] not in ("starlette", "uvicorn"):
                raise
            raise ImportError(
                f'Session.serve needs {error.name}: pip install "linkshift[web]"'
            ) from error

        return serve_session(self, items, **options)

    # Keeping -------------------------------------------------------------------------------------

    def to_dict(self) -> dict[str, Any]:
        """Give all that is needed to go on later, beside the data, as JSON has it."""
        named = self.ids.__getitem__ if self.ids is not None else int
        return {
            "version": 1,
            "n_rows": len(self._X),
            "audit": self.audit,
            "random_state": self.random_state,
            "links": [[named(t.a), named(t.b), t.same, t.confidence] for t in self._given],
            "log": list(self.log),
        }

    @classmethod
    def from_dict(
        cls,
        X: Any,
        kept: Mapping[str, Any],
        *,
        ids: Iterable[Hashable] | None = None,
        n_jobs: int | None = None,
    ) -> Self:
        """Go on with the same data where `to_dict` was: the same labels, to the bit."""
        check_version(kept)
        new = cls(X, ids=ids, audit=kept["audit"], random_state=kept["random_state"], n_jobs=n_jobs)
        read_back(new, kept)
        return new

    # Within --------------------------------------------------------------------------------------

    @property
    def _told(self) -> list[Told]:
        return self._told_by(self._answers)

    def _told_by(self, answers: list[Answer]) -> list[Told]:
        """Give links and answers; an answer takes the place of a link of the same pair."""
        said = told_of(answers, self.ids)
        pairs = {_sorted(one) for one in said}
        return [one for one in self._given if _sorted(one) not in pairs] + said

    @cached_property
    def _position(self) -> dict[Any, int]:
        return {} if self.ids is None else {name: i for i, name in enumerate(self.ids)}

    def _pair(self, pair: Sequence[Any]) -> tuple[int, int]:
        """Rows of two ids."""
        if isinstance(pair, str) or not hasattr(pair, "__len__") or len(pair) != 2:
            raise Refusal(f"{pair!r} is no pair.", "Name two rows: (a, b).", parameter="pair")
        return self._place(pair[0]), self._place(pair[1])

    def _place(self, row: Any) -> int:
        return place_of(row, self.ids, self._position, len(self._X))

    @property
    def _picking(self) -> Picking:
        answers = tuple(self._answers)
        return Picking(*self._memory.state(self._told), answers, self.audit, self.random_state)

    def _question(self, one: Candidate) -> Question:
        a, b = (one.a, one.b) if self.ids is None else (self.ids[one.a], self.ids[one.b])
        return Question(a, b, one.why, one.at_stake, one.purpose)


def _moved(before: Array, now: Array) -> Array:
    """Which rows are in another cluster than before, clusters being matched by their rows."""
    return np.asarray(numbers_like(now, before, int(now.max()) + 1)[now] != before)


def _sorted(pair: Told | Candidate) -> tuple[int, int]:
    return min(pair.a, pair.b), max(pair.a, pair.b)
