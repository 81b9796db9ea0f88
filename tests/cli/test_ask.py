"""`linkshift ask`: the loop in a pipe and in a terminal, its file, and what new users get wrong."""

import csv
import os
import re
import select
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from typer.testing import CliRunner

from linkshift import Links
from linkshift.cli.app import app
from linkshift.cli.reading.delimited import exact_numbers

HEADER = ["a", "b", "kind", "confidence", "purpose"]
PROMPT = "? why): "
BY_NAME = ("data.csv", "--id-column", "name")


@pytest.fixture
def talk(here):
    """Call `linkshift ask` with lines as answers; refuse a traceback. Gives what was said."""

    def call(*args, keys="", code=0):
        lines = "".join(f"{key}\n" for key in keys)
        result = CliRunner().invoke(app, ["ask", *map(str, args)], input=lines)
        if result.exception is not None and not isinstance(result.exception, SystemExit):
            raise result.exception
        assert result.exit_code == code, result.output
        assert result.stdout == ""
        return result.stderr

    return call


def lines_of(path="data.answers.csv"):
    with Path(path).open(newline="") as file:
        return list(csv.reader(file))


def pairs_of(path="data.answers.csv"):
    return [frozenset(line[:2]) for line in lines_of(path)[1:]]


# --- answers and their file -----------------------------------------------------------------------


def test_answers_are_links(talk, run, data):
    told = talk(*BY_NAME, keys=["s", "different", "u", "q"])
    head, *lines = lines_of()
    assert head == HEADER
    assert [line[2] for line in lines] == ["must", "cannot", "unknown"]
    assert {line[3] for line in lines} == {"1"}
    assert len(set(pairs_of())) == 3
    names = set(pd.read_csv(data)["name"])
    assert all(set(line[:2]) <= names for line in lines)
    assert "data.answers.csv holds 3 answers, 3 of them new." in told
    assert "3 answers; " in told
    command = told.partition("Cluster with them:")[2].splitlines()[0]
    words = shlex.split(command)
    assert words == [
        *("linkshift", "cluster", *BY_NAME, "--links", "data.answers.csv"),
    ]
    result = run(*words[1:])
    assert "data.answers.csv: 1 pair answered 'unknown', and taken for no links." in result.stderr
    assert "Links: 1 must, 1 cannot" in result.stderr


def test_links_check_says_what_is_unknown(run, links):
    result = run("links", "check", links("0,1,must", "1,2,unknown", "2,3,u"))
    assert "links.csv: 2 pairs answered 'unknown', and taken for no links." in result.stderr
    assert "No conflicts among 1 must-link." in result.stdout


def test_an_answer_that_was_asked_again_is_the_last_word(run, data, links):
    head = "a,b,kind,confidence,purpose"
    file = links("0,1,cannot,1,learn", "1,2,must,1,audit", "1,0,must,1,confirm", header=head)
    for args in (("links", "check", file), ("cluster", data, "--links", file)):
        told = run(*args).stderr
        assert "links.csv: 1 answer replaced by what was said when asked again." in told
    assert "No conflicts among 2 must-links." in run("links", "check", file).stdout


def test_the_end_of_input_leaves_like_q(talk, data):
    assert "data.answers.csv holds 2 answers" in talk(data, keys=["s", "d"])
    assert len(lines_of()) == 3


def test_no_answers_make_no_file(talk, here, data):
    told = talk(data, keys=["q"])
    assert "No answers yet, and no file data.answers.csv." in told
    assert not (here / "data.answers.csv").exists()


def test_a_run_goes_on_where_the_last_one_was_left(talk, here, data):
    first = talk(*BY_NAME, "-o", "first.csv", keys=["s", "d", "u", "d", "u", "q"])
    assert "Written: first.csv." in first
    before = lines_of()
    again = talk(*BY_NAME, "-o", "again.csv", keys=["q"])
    assert "data.answers.csv: 5 answers; " in again
    assert lines_of() == before
    assert (here / "first.csv").read_text() == (here / "again.csv").read_text()
    talk(*BY_NAME, keys=["u"] * 6)
    assert lines_of()[: len(before)] == before
    assert len(set(pairs_of())) == 11  # what was not known is not asked again


def test_undo_takes_the_answer_out_of_the_file(talk, here, data):
    told = talk(data, "-o", "one.csv", keys=["s", "d", "z", "q"])
    assert "Taken back: row " in told
    assert "different; " in told
    assert [line[2] for line in lines_of()[1:]] == ["must"]
    (here / "data.answers.csv").rename("kept.csv")
    talk(data, "-o", "other.csv", keys=["s", "q"])
    assert lines_of() == lines_of("kept.csv")
    assert (here / "one.csv").read_text() == (here / "other.csv").read_text()
    told = talk(data, keys=["z", "z", "q"])  # that of an earlier run
    assert lines_of() == [HEADER]
    assert "There is no answer to take back." in told
    assert len(list(here.glob(".*"))) == 0  # nothing temporary is left


def test_audits_stay_audits(talk, data, monkeypatch):
    from linkshift.active import Session

    told = talk(data, "--audit", 0.9, keys=[*"dddsssssss", "s", "u", "d"])  # none before the tenth
    purposes = [line[4] for line in lines_of()[1:]]
    assert "audit" in purposes[10:]
    asked = told.count(", drawn at random to measure how good the clusters are\n")
    assert asked - purposes.count("audit") in (0, 1)  # the last question had no answer
    given, answer = [], Session.answer

    def noted(self, word, **how):
        given.append((word, how["purpose"]))
        return answer(self, word, **how)

    monkeypatch.setattr(Session, "answer", noted)
    talk(data, keys=["q"])
    words = {"must": "same", "cannot": "different", "unknown": "unknown"}
    assert given == [(words[line[2]], line[4]) for line in lines_of()[1:]]


def test_every_ten_answers_it_says_how_it_stands(talk, data):
    from linkshift.active import Session

    told = talk(data, "--budget", 10, keys=["d"] * 12)
    assert "10 answers: as many as --budget allows." in told
    assert len(pairs_of()) == 10
    X = pd.read_csv(data, **exact_numbers(pd.__version__))[["x", "y"]].to_numpy()
    session = Session(X)
    for _, (a, b, kind, _, purpose) in enumerate(lines_of()[1:]):
        word = {"cannot": "different"}[kind]
        session.answer(word, pair=(int(a), int(b)), purpose=purpose)
    said = " ".join(told.split())
    assert " ".join(str(session.estimate()).split()) in said
    assert " ".join(session.progress().split()) in said


def test_links_made_by_hand_are_gone_on_with(talk, here, data):
    """Other columns, separators and ends of lines stay as they are."""
    (here / "mine.csv").write_bytes(
        b"note;A;b;kind\r\nseen;s00;s01;same\r\n\r\n;s00;s20;d\r\n;s03;s04;unknown"
    )
    told = talk(*BY_NAME, "--links", "mine.csv", keys=["s", "z", "d", "q"])
    assert "mine.csv: 1 answer and 2 links without a question; " in told
    raw = (here / "mine.csv").read_bytes()
    lines = raw.decode().split("\r\n")
    assert lines[:4] == [
        "note;a;b;kind;confidence;purpose",
        "seen;s00;s01;same;;",
        ";s00;s20;d;;",
        ";s03;s04;unknown;;",
    ]
    assert lines[4].startswith(";s")
    assert ";cannot;1;" in lines[4]
    assert lines[5:] == [""]
    links = Links.read_csv("mine.csv")
    assert (len(links.must_ids), len(links.cannot_ids)) == (1, 2)


def test_a_last_line_without_its_end(talk, here, data):
    (here / "a.tsv").write_text("a\tb\tkind\tconfidence\tpurpose\n0\t1\tmust\t1\tlearn")
    talk(data, "--links", "a.tsv", keys=["d"])
    lines = (here / "a.tsv").read_text().splitlines()
    assert lines[1] == "0\t1\tmust\t1\tlearn"
    assert lines[2].split("\t")[2:4] == ["cannot", "1"]


def test_ids_that_csv_has_to_quote(talk, here, frame):
    frame["name"] = [f'a,{i}\rb\n"' for i in range(len(frame))]
    frame.to_parquet("t.parquet")
    args = ("t.parquet", "--id-column", "name")
    talk(*args, keys=["s", "u", "d"])
    assert "t.answers.csv: 3 answers; " in talk(*args, keys=["z", "q"])
    assert set().union(*pairs_of("t.answers.csv")) <= {str(name) for name in frame["name"]}


def test_a_link_to_the_file_stays_a_link(talk, here, data):
    (here / "real.csv").write_text("")
    (here / "data.answers.csv").symlink_to("real.csv")
    talk(data, keys=["s", "d", "z"])
    assert (here / "data.answers.csv").is_symlink()
    assert len(lines_of("real.csv")) == 2


def test_a_file_that_another_program_changes_is_left_alone(talk, here, data, monkeypatch):
    from linkshift.cli.commands import ask

    real = ask._Conversation._ask

    def meddled(self, question, keys):
        if self.n_new == 1:
            with Path("data.answers.csv").open("a") as file:
                file.write("0,1,must,1,\n")
        return real(self, question, keys)

    monkeypatch.setattr(ask._Conversation, "_ask", meddled)
    told = talk(data, keys=["d", "d"], code=2)
    assert "was changed by another program while you answered" in told
    assert len(lines_of()) == 3


def test_an_answer_that_is_refused_is_not_in_the_file(talk, here, data, monkeypatch):
    from linkshift.active import Session

    talk(data, keys=["s"])
    before = (here / "data.answers.csv").read_bytes()

    def refuse(self, word, **how):
        raise ValueError("not today")

    monkeypatch.setattr(Session, "answer", refuse)
    (here / "data.answers.csv").unlink()
    assert "Error: not today" in talk(data, keys=["s"], code=2)
    assert lines_of() == [HEADER]
    (here / "data.answers.csv").write_bytes(before)
    told = talk(data, keys=["q"], code=2)
    assert "data.answers.csv, line 2: not today" in told


def test_what_moved_is_told_of_an_answer_and_of_taking_it_back(talk, data):
    told = talk(data, keys=["d", "z", "q"])
    moved = [line.rpartition("; ")[2] for line in told.splitlines() if " moved." in line]
    assert len(moved) == 2
    assert moved[0].partition(", ")[2] == moved[1].partition(", ")[2]  # the same rows, and back
    assert "no row" not in moved[0]


def test_links_that_contradict_each_other_are_told(talk, here, data, links):
    file = links("s00,s01,must", "s01,s02,must", "s00,s02,cannot", "s20,s21,must")
    told = talk(*BY_NAME, "--links", file, keys=["s", "q"])
    said = " ".join(told.split())
    assert said.count("Warning: Answers contradict each other.") == 1
    assert "Set aside as the least probable: 's00' and 's02' different (a link)." in said
    assert "Against it: 's00' and 's01' same (a link); 's01' and 's02' same (a link)." in said
    assert "take its line out of links.csv" in said
    lines = told.partition("Warning: ")
    assert all(len(line) <= 80 for line in f"Warning: {lines[2]}".splitlines()[:3])


def test_a_pair_that_is_confirmed_counts_once(talk, here, data, links):
    """By row as by id, the last answer to a pair is the one that counts."""
    head = "a,b,kind,confidence,purpose"
    for ids, names in (((), ("0", "1", "20")), (("--id-column", "name"), ("s00", "s01", "s20"))):
        a, b, c = names
        first = (f"{a},{c},must,1,learn", f"{a},{b},must,1,learn")
        file = links(*first, f"{c},{a},cannot,1,confirm", header=head)
        told = talk(data, *ids, "--links", file, "-o", "labels.csv", keys=["q"])
        assert "links.csv: 3 answers; 3 clusters by now." in told
        assert "contradict" not in told
        label = pd.read_csv("labels.csv").iloc[:, -1]
        assert label[0] == label[1] != label[20]


def test_the_transcript_of_the_docs(talk, run):
    page = Path(__file__).parents[2] / "docs" / "command_line.md"
    told = re.search(r"linkshift ask shapes.csv\n```\n.*?```text\n(.*?)```", page.read_text(), re.S)
    keys = re.findall(r"\? why\): (.+)", told[1])
    assert keys == ["same", "why", "same", "different", "undo", "different", "leave"]
    run("datasets", "shapes", "-o", "shapes.csv")
    said = talk("shapes.csv", keys=["q" if key == "leave" else key for key in keys])
    said = "".join(line for line in said.splitlines(True) if not line.startswith("Compiling"))
    assert worded(said) == worded(told[1]), said


def worded(text):
    """Numbers apart: which rows are asked about first hangs on the last bits of an eigenvector,
    and these on the processor."""
    return re.sub(r"[-+]?\d[\d,.%]*", "#", " ".join(text.split()))


# --- what is said ---------------------------------------------------------------------------------


def test_a_question_shows_two_rows(talk, data):
    told = talk(*BY_NAME, keys=["?", "what", "q"])
    assert "Question 1" in told
    assert told.count("* x ") == 2  # once more after the ?
    assert "name" not in told.partition("Question 1")[2].partition("No answers yet")[0]
    assert "u  you do not know: the pair is not asked again" in told
    assert "That is none of the keys" in told


def test_only_the_columns_that_are_named(talk, data):
    shown = talk(data, "--show", "name,x", keys=["q"]).partition("Question 1")[2]
    assert "* name" in shown
    assert "* x " in shown
    assert "* y " not in shown


def test_text_is_wrapped(talk, here, frame):
    frame["note"] = "a long story " * 40
    frame.to_csv("data.csv", index=False)
    told = talk("data.csv", "--text", "note", "--columns", "x,y", keys=["q"])
    assert "(alike in all that is shown)" in told
    body = told.partition("Question 1")[2].partition(PROMPT)[0]
    assert max(map(len, body.splitlines())) <= 80
    assert body.count(" | ") > 10


# --- mistakes -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("args", "said"),
    [
        (["--show", "nam"], "--show: data.csv has no column 'nam'. Did you mean 'name'?"),
        (["--show", "name,"], None),
        (["--show", ","], "--show is empty. Name columns with commas between: --show a,b."),
        (["--text", "nme"], "--text: data.csv has no column 'nme'. Did you mean 'name'?"),
        (["--text", "name", "--show", "x"], "--show and --text both say what is shown"),
        (["--id-column", "nam"], "Did you mean 'name'?"),
        (["--links", "l.json"], "written line by line, to a .csv or .tsv file"),
        (["--links", "data.csv"], "data.csv is the table itself."),
        (["--links", "no/l.csv"], "the folder no does not exist. Create it first: mkdir -p no"),
        (["-o", "l.txt"], "unknown suffix '.txt'"),
        (["-o", "data.answers.csv"], "is where the answers go; name another file."),
        (["--audit", "2"], "--audit"),
        (["--audit", "1"], "--audit 1 would leave no question to learn from."),
        (["--prepare", "--columns", "z"], "has no column 'z'"),
    ],
)
def test_mistakes(talk, refused, here, data, args, said):
    if said is None:
        talk(data, *args, keys=["q"])
    else:
        assert said in refused("ask", data, *args)
    assert not (here / "data.answers.csv").exists()


def test_answers_for_another_table(refused, data, links):
    args = ("ask", *BY_NAME, "--links")
    told = refused(*args, links("s00,s01,must", "s00,zoe,cannot"))
    assert "links.csv, line 3" in told
    assert "'zoe' is not among the 60 sample ids" in told
    told = refused(*args, links("s00,s01,must", "zoe,s00,unknown"))
    assert "links.csv, line 3: 'zoe' is not among the 60 ids of the table." in told
    told = refused(*args, links("0,1,must", "zoe,7,cannot"))
    assert "links.csv is about other rows: none of its ids, such as '0', is among the 60" in told
    assert "Name another file, which may be a new one: --links FILE" in told
    told = refused("ask", data, "--links", links("0,1,must", "1,60,unknown"))
    assert "links.csv, line 3: '60' is no row of the table, which has 60." in told
    assert "row 60 is out of range" in refused("ask", data, "--links", links("0,60,must"))
    told = refused("ask", data, "--links", links("s00,s01,must"))
    assert "Say which column of the data holds the ids: --id-column name." in told
    told = refused("ask", data, "--links", links("0,1,perhaps"))
    assert "line 2: kind must be 'must'" in told
    told = refused("ask", data, "--links", links("0,1,must,spam", header="a,b,kind,purpose"))
    assert "links.csv, line 2: purpose is 'spam'" in told
    assert "learn, audit, confirm" in told


def test_tables_that_have_no_pair(refused, here):
    (here / "one.csv").write_text("x,y\n1,2\n")
    assert "one.csv has one row; it takes two" in refused("ask", "one.csv")
    assert "Write it to a file" in refused("ask", "-")
    assert "does not exist" in refused("ask", "no.csv")
    np.savez("v.npz", shape=np.ones((3, 2)), colour=np.ones((3, 2)))
    assert "holds several matrices" in refused("ask", "v.npz")


def test_texts_without_numbers(refused, here, frame):
    frame["note"] = "a story"
    frame[["name", "note"]].to_csv("t.csv", index=False)
    args = ("ask", "t.csv", "--id-column", "name", "--text", "note")
    for more in ((), ("--prepare",)):
        told = refused(*args, *more)
        assert "t.csv has no more than name and note, and questions go by numbers" in told


def test_ids_that_would_be_lost(refused, here, frame):
    frame["name"] = [f" {name}" for name in frame["name"]]
    frame.to_parquet("t.parquet")
    told = refused("ask", "t.parquet", "--id-column", "name")
    assert "spaces around it are lost there" in told


def test_a_file_that_may_have_been_meant(talk, here, data):
    (here / "anwsers.csv").write_text("a,b,kind\n0,1,must\n")
    told = talk(data, "--links", "answers.csv", keys=["q"])
    assert "answers.csv does not exist, and is a new file. Did you mean 'anwsers.csv'?" in told


# --- interrupted ----------------------------------------------------------------------------------


class Process:
    """The command in a process of its own, read until it asks."""

    def __init__(self, *args):
        command = [sys.executable, "-m", "linkshift.cli", "ask", *args]
        self.process = subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            # A shell has what it starts in the background ignore it, and so would this process.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.said = ""

    def until_asked(self):
        end = time.monotonic() + 120
        said = ""
        while not said.endswith(PROMPT):
            assert time.monotonic() < end, said
            read = os.read(self.process.stderr.fileno(), 65536).decode()
            assert read, said
            said += read

    def write(self, line):
        self.process.stdin.write(f"{line}\n".encode())
        self.process.stdin.flush()

    def stop(self, number):
        self.process.send_signal(number)
        said = self.process.communicate(timeout=60)[1].decode()
        return said, self.process.returncode


@pytest.mark.skipif(sys.platform == "win32", reason="signals of POSIX")
@pytest.mark.parametrize("number", ["SIGINT", "SIGTERM", "SIGKILL"])
def test_whatever_ends_it_no_answer_is_lost(talk, here, data, number):
    process = Process(data)
    for word in ("s", "d"):
        process.until_asked()
        process.write(word)
    process.until_asked()
    said, code = process.stop(getattr(signal, number))
    assert [line[2] for line in lines_of()[1:]] == ["must", "cannot"]
    if number == "SIGINT":
        assert code == 130
        assert "data.answers.csv holds 2 answers" in said
    assert "data.answers.csv: 2 answers; " in talk(data, keys=["q"])


# --- a terminal -----------------------------------------------------------------------------------


class Terminal:
    """The command in a terminal of 80 columns, one key pressed after each prompt."""

    def __init__(self, *args):
        import pty

        self.main, self.number = pty.openpty()
        import fcntl
        import struct
        import termios

        fcntl.ioctl(self.number, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        self.before = termios.tcgetattr(self.number)
        env = {name: text for name, text in os.environ.items() if name != "COLUMNS"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "linkshift.cli", "ask", *args],
            stdin=self.number,
            stdout=self.number,
            stderr=self.number,
            env=env,
            preexec_fn=lambda: (os.setsid(), fcntl.ioctl(0, termios.TIOCSCTTY, 0)),
        )
        self.said = ""

    def press(self, keys):
        """Press a key, once there is a prompt for each one before."""
        self._read(lambda said: said.endswith(PROMPT))
        os.write(self.main, keys.encode())
        self.said += "\0"

    def leave(self):
        import termios

        self._read(lambda said: self.process.poll() is not None)
        settings = termios.tcgetattr(self.number)
        os.close(self.main)
        os.close(self.number)
        return self.said.replace("\r\n", "\n"), self.process.returncode, settings == self.before

    def _read(self, enough):
        end = time.monotonic() + 120
        while True:
            while select.select([self.main], [], [], 0.05)[0]:
                self.said += os.read(self.main, 65536).decode()
            if enough(self.said):
                return
            assert time.monotonic() < end, self.said


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
@pytest.mark.parametrize("last", ["q", "\x03", "\x04"], ids=["q", "Ctrl-C", "Ctrl-D"])
def test_a_terminal(here, data, last):
    terminal = Terminal(data, "-o", "labels.csv")
    for keys in ("s", "D", "\x1b[D", "x", "?", "sd", "z", "u", last):
        terminal.press(keys)
    said, code, is_as_before = terminal.leave()
    assert code == 0, said
    assert is_as_before
    # An arrow to the left is no D, and what is pressed before a question is seen no answer.
    assert [line[2] for line in lines_of()[1:]] == ["must", "cannot", "unknown"]
    assert said.count("That is none of the keys") == 2
    assert f"{PROMPT}\0same\n" in said
    assert "Taken back: row " in said
    assert "Written: labels.csv." in said
    assert len((here / "labels.csv").read_text().splitlines()) == 61
    plain = said.replace("\x1b[0m", "").replace("\x1b[1m", "").replace("\x1b[36m", "")
    questions = plain.split("Question ")[1:]
    assert all(len(line) <= 80 for part in questions[:-1] for line in part.splitlines())


@pytest.mark.skipif(sys.platform == "win32", reason="a terminal of POSIX")
def test_a_terminal_is_as_before_after_sigterm(here, data):
    import termios

    terminal = Terminal(data)
    terminal.press("s")
    terminal._read(lambda said: said.endswith(PROMPT))
    asking = termios.tcgetattr(terminal.number)
    termios.tcsetattr(terminal.number, termios.TCSANOW, terminal.before)  # as a shell does
    terminal.process.send_signal(signal.SIGCONT)
    end = time.monotonic() + 30
    while termios.tcgetattr(terminal.number) != asking:
        assert time.monotonic() < end
        time.sleep(0.01)
    terminal.process.send_signal(signal.SIGTERM)
    said, code, is_as_before = terminal.leave()
    assert code == -signal.SIGTERM, said
    assert is_as_before
    assert [line[2] for line in lines_of()[1:]] == ["must"]
