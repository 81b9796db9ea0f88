"""`linkshift ask`: show two rows, ask whether they belong together, keep the answer, go on."""

from __future__ import annotations

import shlex
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from linkshift._core.text import counted
from linkshift.cli import options as opt
from linkshift.cli.talking import Console, InputError, passed_on
from linkshift.cli.writing import targets

if TYPE_CHECKING:
    from linkshift.active import Question, Session
    from linkshift.cli.reading.answers import AnswersFile
    from linkshift.cli.reading.keys import Keys
    from linkshift.cli.reading.problem import Source
    from linkshift.cli.writing.pairs import View

_HELP = {
    "data": f"Table whose rows are asked about: {opt.DATA.partition('; - ')[0]}.",
    "links": "The file of answers, which is made or gone on with: .csv or .tsv with the columns "
    "a,b,kind,confidence,purpose, as linkshift cluster --links reads it. Links that are in it "
    "already are known from the start. Default: the name of DATA with .answers.csv.",
    "show": "Columns to show of two rows. Default: all, or the first 20.",
    "text": "Column of text to show in place of columns, wrapped.",
    "budget": "Leave after N answers. Default: ask until q is pressed.",
    "audit": "Share of the questions that are drawn at random, to say how good the clusters are.",
    "output": "Write the labels as they are in the end: .csv, .tsv, .parquet, .npy, .npz.",
}
_EVERY = 10  # answers, after which the session says how it stands
_MANY = 100  # answers, from which on the first estimate of a run takes seconds
_MOST_TOLD = 3  # contradictions at a time
_WARNING = len("Warning: ")  # letters that are before one
_PROMPT = "s same, d different, u don't know (z undo, q leave, ? why): "
_KEYS = """\
s  they belong together
d  they do not
u  you do not know: the pair is not asked again
z  take the last answer back
q  leave; all answers are in the file, and the next run goes on from there
?  this, and why the pair is asked"""
_SAID = {"unknown": "don't know", "why": "why", "quit": "leave"}
_PURPOSES = {
    "audit": ", drawn at random to measure how good the clusters are",
    "confirm": ", asked again to make sure of an answer that much hangs on",
}


def ask(
    ctx: typer.Context,
    data: Annotated[Path, opt.argument("DATA", _HELP["data"])],
    links: Annotated[Path | None, opt.value("FILE", _HELP["links"], "--links")] = None,
    show: Annotated[str | None, opt.value("A,B,C", _HELP["show"])] = None,
    text: Annotated[str | None, opt.value("COLUMN", _HELP["text"])] = None,
    columns: opt.Columns = None,
    id_column: opt.IdColumn = None,
    header: opt.Header = None,
    scale: opt.Scale = "auto",
    prepare: opt.Prepare = False,
    pca: opt.Pca = None,
    budget: Annotated[int | None, opt.value("N", _HELP["budget"], min=1)] = None,
    audit: Annotated[float, opt.value("SHARE", _HELP["audit"], min=0.0, max=1.0)] = 0.2,
    random_state: Annotated[int, opt.random_state] = 0,
    output: Annotated[Path | None, opt.output(_HELP["output"])] = None,
) -> None:
    """Ask which rows belong together: the pairs that tell most, two rows side by side.

    Each answer is in the file of answers at once, as a link. The next run with the same file goes
    on where this one was left, and linkshift cluster takes the file with --links.
    """
    console = Console()
    if str(data) == "-":
        raise InputError(
            "linkshift ask reads answers from stdin, and cannot read the table from there, too. "
            "Write it to a file, and name that."
        )
    if show is not None and text is not None:
        raise InputError("--show and --text both say what is shown of a row. Give one.")
    if audit == 1:
        raise InputError("--audit 1 would leave no question to learn from. Give a share below 1.")
    from linkshift.cli.reading.answers import answers_path
    from linkshift.cli.reading.problem import Source

    path = answers_path(links, data)
    if output is not None:
        targets.check_targets([data, path], targets.LABEL_SUFFIXES, output=output)
        if output.resolve() == path.resolve():
            raise InputError(f"--output {output} is where the answers go; name another file.")
    asked = (prepare, pca, opt.asked_for(ctx, "scale"))
    source = Source(data, path, columns, id_column, None, header, *asked, show=text)
    about = _Asked(source, show, scale, given=links is not None)
    conversation = _begin(about, console, audit=audit, random_state=random_state)
    conversation.budget = budget
    try:
        conversation.hold()
    finally:
        _tell_of_file(ctx, conversation)
    if output is not None:
        from linkshift.cli.writing.tables import write_labels

        session, view = conversation.session, conversation.view
        write_labels(output, session.labels_, view.ids, id_column)
        console.finish(None, output)


@dataclass(frozen=True)
class _Asked:
    """What the options say."""

    source: Source  # its links are the answers
    show: str | None
    scale: str
    given: bool  # whether the file of answers was named


def _begin(about: _Asked, console: Console, **settings: Any) -> _Conversation:
    """Read the table and the answers, and bring a session to where the last one was left."""
    from linkshift.active import Session
    from linkshift.cli.reading.answers import AnswersFile, check_answers_file, check_ids
    from linkshift.cli.reading.asked import asked_rows, asked_table
    from linkshift.cli.writing.pairs import View

    source, path = about.source, about.source.links
    assert path is not None
    table, ids = asked_table(source, console)
    if ids is not None:
        check_ids(ids, str(source.id_column))
    view = View.of(table, ids, source.id_column, about.show, source.show)
    check_answers_file(path, source.data, console, given=about.given)
    # Before the features: answers for another table are found before a long list is told.
    file = AnswersFile(path, table, ids, console)
    found = asked_rows(source, table, about.scale, console)
    if view.note:
        console.say(view.note)
    rows = {name: row for row, name in enumerate(range(table.n_rows) if ids is None else ids)}
    console.say(f"Looking for what is worth asking among {table.n_rows:,} rows ...")
    with console.warnings(), passed_on():
        session = Session(found.X, file.given(rows), ids=ids, **settings)
    conversation = _Conversation(session, file, view, console, rows)
    conversation.replay()
    return conversation


@dataclass
class _Conversation:
    """Questions, answers, and what is said in between."""

    session: Session
    file: AnswersFile
    view: View
    console: Console
    rows: dict[Any, int]
    places: list[int] = field(default_factory=list)  # in the file, of what is in the log
    known: set[str] = field(default_factory=set)  # contradictions that were told
    budget: int | None = None
    n_new: int = 0

    def replay(self) -> None:
        """Give the session the answers that the file holds, in their order."""
        if not self.file.answers:
            self.console.say(f"Answers go to {self.file.path}, each at once.")
            return
        for place, answer in enumerate(self.file.answers):
            if not answer.purpose and answer.word != "unknown":
                continue  # a link that was there from the start
            purpose = {"purpose": answer.purpose} if answer.purpose else {}
            with passed_on(f"{self.file.path}, line {answer.line}: "):
                self.session.answer(
                    answer.word, pair=answer.pair, confidence=answer.confidence, **purpose
                )
            self.places.append(place)
        n_given = len(self.file.answers) - len(self.places)
        told = [counted(len(self.places), "answer")] if self.places else []
        told += [f"{counted(n_given, 'link')} without a question"] if n_given else []
        clusters = counted(self.session.n_clusters_, "cluster")
        self.console.say(f"{self.file.path}: {' and '.join(told)}; {clusters} by now.")
        self._tell_contradictions()

    def hold(self) -> None:
        """Ask until there is nothing to ask, or the person leaves."""
        from linkshift.cli.reading.keys import QUIT, UNDO, opened

        with opened() as keys:
            while self.budget is None or self.n_new < self.budget:
                question = self.session.ask()
                if question is None:
                    self.console.say("Nothing is left to ask: every pair is known or implied.")
                    return
                word = self._ask(question, keys)
                if word == QUIT:
                    return
                if word == UNDO:
                    self._undo()
                else:
                    self._answer(question, word)
        self.console.say(f"{counted(self.n_new, 'answer')}: as many as --budget allows.")

    def _ask(self, question: Question, keys: Keys) -> str:
        """Show a pair until something sensible is pressed, and give that."""
        from linkshift.cli.reading.keys import WHY

        pair = self.rows[question.a], self.rows[question.b]
        title = f"Question {len(self.places) + 1}{_PURPOSES.get(question.purpose, '')}"
        self.console.say(f"\n{typer.style(title, bold=True)}\n{self.view.pair(*pair)}")
        seen = False
        while True:
            typer.echo(_PROMPT, nl=False, err=True)
            word = keys.read(seen=seen)
            seen = True
            typer.echo("" if word is None else _SAID.get(word, word), err=True)
            if word == WHY:
                whole = self.view.pair(*pair, whole=True)
                self.console.say(f"{self._why(question)}\n{_KEYS}\n{whole}")
            elif word is None:
                self.console.say("That is none of the keys: s, d, u, z, q or ?.")
            else:
                return word

    def _why(self, question: Question) -> str:
        """Say why a pair is asked; the session's own guess only where it could not mislead."""
        from linkshift.cli.writing.pairs import filled

        told = question.why
        if question.purpose == "learn":  # an audit measures it, and a slip is no news to it
            sure = self.session.probability(question.a, question.b)
            told += f" The session's own guess is {sure:.0%} for the same."
        return filled(told)

    def _answer(self, question: Question, word: str) -> None:
        """Keep an answer, and say what it has changed."""
        from linkshift.cli.reading.answers import Answer
        from linkshift.cli.writing.pairs import filled

        # In the file before it is worked on: whatever happens then, it is not lost.
        before = self.session.labels_
        self.file.add(Answer((question.a, question.b), word, 1.0, question.purpose))
        try:
            with passed_on():
                self.session.answer(word)
        except InputError:  # the next run could not read it either
            self.file.remove(len(self.file.answers) - 1)
            raise
        self.places.append(len(self.file.answers) - 1)
        self.n_new += 1
        self._tell_of_change(counted(len(self.places), "answer"), before)
        self._tell_contradictions()
        if len(self.places) % _EVERY == 0:
            if self.n_new <= _EVERY and len(self.places) > _MANY:
                self.console.say("Working out how good the clusters are, from all answers ...")
            for told in (self.session.estimate(), self.session.progress()):
                self.console.say(filled(str(told)))

    def _undo(self) -> None:
        """Take the last answer back, from the session and from the file."""
        if not self.places:
            self.console.say("There is no answer to take back.")
            return
        (a, b), word, *_ = self.file.answers[self.places[-1]]
        before = self.session.labels_
        self.file.remove(self.places.pop())
        self.session.undo()
        self.n_new = max(self.n_new - 1, 0)
        heads = " and ".join(self.view.head(self.rows[name]) for name in (a, b))
        self._tell_of_change(f"Taken back: {heads}, {_SAID.get(word, word)}", before)
        self._tell_contradictions()

    def _tell_of_change(self, what: str, before: Any) -> None:
        """Say how many clusters there are, and how many rows are in another than before."""
        from linkshift.methods.numbering import numbers_like

        session, now = self.session, self.session.labels_
        n_rows = len(now)
        n_moved = int((numbers_like(now, before, session.n_clusters_)[now] != before).sum())
        moved = f"{n_moved:,} of {counted(n_rows, 'row')} moved" if n_moved else "no row moved"
        self.console.say(f"{what}; {counted(session.n_clusters_, 'cluster')}, {moved}.")

    def _tell_contradictions(self) -> None:
        """Warn of answers that contradict each other, once."""
        from linkshift.cli.writing.pairs import filled

        found = [str(one) for one in self.session.contradictions()]
        new = [one for one in found if one not in self.known]
        for one in new[:_MOST_TOLD]:
            self.console.warn(filled(one, _WARNING))
        if new:
            more = len(new) - _MOST_TOLD
            also = f"And {counted(more, 'contradiction')} more. " if more > 0 else ""
            self.console.say(
                filled(
                    f"{also}Where an earlier answer is the wrong one: q, take its line out of "
                    f"{self.file.path}, and start again."
                )
            )
        self.known = set(found)


def _tell_of_file(ctx: typer.Context, conversation: _Conversation) -> None:
    """Say where the answers are, and how to go on with them."""
    console, file = conversation.console, conversation.file
    if not file.answers:
        console.say(
            f"\nNo answers {'in' if file.path.exists() else 'yet, and no file'} {file.path}."
        )
        return
    new = f", {conversation.n_new:,} of them new" if conversation.n_new else ""
    console.say(f"\n{file.path} holds {counted(len(file.answers), 'answer')}{new}.")
    mine = ("links", "show", "text", "budget", "audit", "random_state", "output")
    if any(answer.word != "unknown" for answer in file.answers):
        words = [*opt.cluster_command(ctx, leave_out=mine), "--links", str(file.path)]
        console.say(f"Cluster with them:  {shlex.join(words)}")
    console.say("Go on answering:    the same command again")
