"""Raw requests to a server that runs: what the page does, and every attack that it may meet."""

import json
import socket
import time
from contextlib import suppress

import numpy as np
import pytest
from tests.web.pages import Visitor

from linkshift import Session
from linkshift.web.app import static_files
from linkshift.web.guard import policy

PNG = b"\x89PNG\r\n\x1a\n" + bytes(50)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    found = tmp_path_factory.mktemp("data")
    (found / "a.png").write_bytes(PNG)
    (found / "secret.txt").write_text("a secret")
    return found


@pytest.fixture(scope="module")
def serving(folder):
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(centre, 0.5, (20, 2)) for centre in (0, 5, 10)])
    paths = [str(folder / "a.png")] * 59 + [str(folder / "secret.txt")]
    items = [path if i else str(folder / "gone.png") for i, path in enumerate(paths)]
    items[59] = str(folder / "secret.txt")
    from linkshift.web.items import Items

    session = Session(X, ids=[f"r{i}" for i in range(60)])
    shown = Items("image", {"file": items}, session.ids, "file", folder)
    with session.serve(shown, browser=False) as page:
        page.session = session
        yield page


@pytest.fixture(scope="module")
def visitor(serving):
    found = Visitor(serving.address)
    found.ready()
    return found


def refused(answer, *statuses):
    status, headers, body = answer
    assert status in statuses, (status, body)
    assert json.loads(body).keys() == {"error", "remedy"}
    assert b"secret" not in body
    assert b"Traceback" not in body
    for name in ("content-security-policy", "x-content-type-options", "referrer-policy"):
        assert name in headers
    assert "access-control-allow-origin" not in headers
    assert "server" not in headers


def spoken(visitor, *parts, pause=0.0):
    """Send bytes as they are; gives all that comes back until the server closes."""
    with socket.create_connection(("127.0.0.1", visitor.port), timeout=20) as line:
        try:
            for part in parts:
                line.sendall(part)
                time.sleep(pause)
        except (BrokenPipeError, ConnectionResetError):
            pass
        found = b""
        try:
            while chunk := line.recv(2**16):
                found += chunk
        except (TimeoutError, ConnectionResetError):
            pass
        return found


def n_answers(visitor):
    return visitor.get("/api/state")["answers"]


# --- what the page does ---------------------------------------------------------------------------


def test_the_page_and_its_files_are_served(visitor):
    status, headers, body = visitor.raw("GET", "/")
    assert (status, headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert b"<!doctype html>" in body.lower()
    assert headers["cache-control"] == "no-cache"
    # A notebook may show it in a frame; nothing else differs.
    assert headers["content-security-policy"] == policy(framed=True)
    for name in static_files():
        for path in (f"/{name}", f"/static/{name}"):
            status, headers, body = visitor.raw("GET", path)
            assert (status, len(body) > 0) == (200, True)
    mark = headers["etag"]
    status, headers, body = visitor.raw("GET", path, headers={"If-None-Match": mark})
    assert (status, body, headers["etag"]) == (304, b"", mark)
    assert headers["x-content-type-options"] == "nosniff"


def test_modules_are_javascript(visitor):
    _, headers, _ = visitor.raw("GET", "/static/main.js")
    assert headers["content-type"] == "text/javascript; charset=utf-8"


def test_questions_answers_and_undo(serving, visitor):
    state = visitor.ready()
    assert state["n_clusters"] == 3
    before = len(serving.session.log)
    question = visitor.get("/api/next")["questions"][0]
    a, b = question["a"], question["b"]
    word = "same" if a // 20 == b // 20 else "different"
    said = visitor.post("/api/answer", a=a, b=b, word=word, purpose=question["purpose"])
    assert all((q["a"], q["b"]) != (a, b) for q in said["questions"])
    assert len(serving.session.log) == before + 1
    assert serving.session.log[-1]["a"] == f"r{a}"
    visitor.post("/api/undo")
    assert len(serving.session.log) == before


def test_an_image_is_served_by_row_and_column(visitor):
    status, headers, body = visitor.raw("GET", "/api/media/1/0")
    assert (status, headers["content-type"], body) == (200, "image/png", PNG)
    status, headers, body = visitor.raw("GET", "/api/media/1/0", headers={"Range": "bytes=8-9"})
    assert (status, body, headers["content-range"]) == (206, b"\0\0", "bytes 8-9/58")


def test_events_come_as_they_happen(serving, visitor):
    head = f"GET /api/events HTTP/1.1\r\nHost: {visitor.netloc}\r\n"
    request = f"{head}Cookie: {visitor.cookie}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", visitor.port), timeout=20) as line:
        line.sendall(request.encode())
        told = b""
        while b"event: changed" not in told:
            told += line.recv(2**16)
        # Whoever begins to listen is told that all may be new: something may have been before.
        first = json.loads(told.partition(b"data: ")[2].partition(b"\n")[0])
        assert {"labels", "map", "questions", "settings"} <= set(first["what"])
        visitor.post("/api/answer", a=2, b=50, word="different")
        after = b""
        while b'"labels"' not in after:
            after += line.recv(2**16)
    assert b"text/event-stream" in told
    assert b'"what": ["' in after
    visitor.post("/api/undo")


def test_who_listens_no_more_is_forgotten(serving, visitor):
    ears = serving._hosted.desk._ears
    head = f"GET /api/events HTTP/1.1\r\nHost: {visitor.netloc}\r\n"
    before = len(ears)
    for _ in range(5):
        with socket.create_connection(("127.0.0.1", visitor.port), timeout=20) as line:
            line.sendall(f"{head}Cookie: {visitor.cookie}\r\n\r\n".encode())
            assert line.recv(2**10)
    end = time.monotonic() + 20
    while len(ears) > before:
        assert time.monotonic() < end, "somebody is still told"
        time.sleep(0.01)


# --- attacks --------------------------------------------------------------------------------------


def test_without_the_cookie_nothing_is_said(visitor):
    for path in ("/", "/api/state", "/api/labels", "/api/media/1/0", "/static/main.js", "/x"):
        for cookie in (None, f"linkshift_{visitor.port}={visitor.token}", "a=b"):
            refused(visitor.raw("GET", path, headers={"Cookie": cookie}), 401)
    for token in ("", "x", visitor.token[:-1], visitor.token + "x", visitor.token.swapcase()):
        refused(visitor.raw("GET", f"/?token={token}", headers={"Cookie": None}), 401)
    body = {"a": 0, "b": 1, "word": "same"}
    refused(visitor.raw("POST", "/api/answer", body, {"Cookie": None}), 401)


def test_a_foreign_name_of_the_server_is_refused(visitor):
    port = visitor.port
    for host in ("evil.example", f"evil.example:{port}", "127.0.0.1", f"localhost:{port + 1}"):
        for path in ("/", "/api/state", f"/?token={visitor.token}"):
            refused(visitor.raw("GET", path, headers={"Host": host}), 403)


def test_what_another_page_sends_is_refused(visitor):
    before = n_answers(visitor)
    body = {"a": 0, "b": 1, "word": "same"}
    for headers in (
        {"Origin": "http://evil.example"},
        {"Origin": "null"},
        {"Origin": f"http://127.0.0.1:{visitor.port}"},  # not the name that was called
        {"Origin": None},
        {"Sec-Fetch-Site": "cross-site"},
        {"Sec-Fetch-Site": "same-site"},
        {"Origin": "http://evil.example", "Sec-Fetch-Site": "same-origin"},
    ):
        refused(visitor.raw("POST", "/api/answer", body, headers), 403)
    refused(visitor.raw("GET", "/api/state", headers={"Origin": "http://evil.example"}), 403)
    assert n_answers(visitor) == before


def test_forms_are_refused(visitor):
    before = n_answers(visitor)
    data = b'{"a": 0, "b": 1, "word": "same"}'
    for kind in ("application/x-www-form-urlencoded", "text/plain", "multipart/form-data", None):
        refused(visitor.raw("POST", "/api/answer", data, {"Content-Type": kind}), 415)
    assert n_answers(visitor) == before


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"a=0&b=1",
        b"[]",
        b"3",
        b"null",
        b'"x"',
        b"{",
        b'{"a": 0, "b": 1, "word": "sa',
        b"\xff\xfe",
        b"[" * 100_000,
        b'{"a":' * 50_000,
        b'{"a": 0, "b": 1, "word": "same", "confidence": NaN}',
        b'{"a": 1e400, "b": 1, "word": "same"}',
        b'{"a": ' + b"9" * 5000 + b', "b": 1, "word": "same"}',
    ],
    ids=lambda data: data[:12].decode("latin-1") + str(len(data)),
)
def test_what_is_no_json_of_ours_is_refused(visitor, data):
    before = n_answers(visitor)
    refused(visitor.raw("POST", "/api/answer", data), 400)
    assert n_answers(visitor) == before


def test_a_huge_body_is_refused(visitor):
    data = b'{"a": 0, "b": 1, "word": "same", "x": "' + b"x" * 2**20 + b'"}'
    before = n_answers(visitor)
    with suppress(BrokenPipeError, ConnectionResetError):  # it is not even read
        refused(visitor.raw("POST", "/api/answer", data), 413)
    assert n_answers(visitor) == before


def posted(visitor, *more):
    head = [
        "POST /api/answer HTTP/1.1",
        f"Host: {visitor.netloc}",
        f"Cookie: {visitor.cookie}",
        f"Origin: http://{visitor.netloc}",
        "Content-Type: application/json",
        *more,
    ]
    return "\r\n".join([*head, "", ""]).encode()


def test_a_huge_body_in_pieces_is_cut_off(visitor):
    before = n_answers(visitor)
    piece = b"10000\r\n" + b"x" * 2**16 + b"\r\n"
    got = spoken(visitor, posted(visitor, "Transfer-Encoding: chunked"), *([piece] * 40))
    assert got.startswith(b"HTTP/1.1 413")
    assert n_answers(visitor) == before


def test_lengths_that_lie_get_nothing_in(visitor):
    before = n_answers(visitor)
    data = b'{"a": 0, "b": 1, "word": "same"}'
    for more in (
        ["Content-Length: 5", "Content-Length: 32"],
        ["Content-Length: 32", "Transfer-Encoding: chunked"],
        ["Content-Length: -1"],
        ["Content-Length: 99999999999999999999"],
        ["Transfer-Encoding: gzip, chunked"],
    ):
        got = spoken(visitor, posted(visitor, *more, "Connection: close") + data)
        assert got[:13] in (b"HTTP/1.1 400 ", b"HTTP/1.1 413 ", b"HTTP/1.1 501 "), (more, got)
    assert n_answers(visitor) == before


def test_two_hosts_are_refused(visitor):
    for second in (visitor.netloc, "evil.example"):
        head = f"GET /api/state HTTP/1.1\r\nHost: {visitor.netloc}\r\nHost: {second}\r\n"
        got = spoken(visitor, f"{head}Cookie: {visitor.cookie}\r\n\r\n".encode())
        assert got[:13] in (b"HTTP/1.1 400 ", b"HTTP/1.1 403 ")
        assert b"n_rows" not in got
    for head in ("GET /api/state HTTP/1.0\r\n", "GET /api/state HTTP/1.1\r\n"):  # and none
        got = spoken(visitor, f"{head}Cookie: {visitor.cookie}\r\n\r\n".encode())
        assert got[:13] in (b"HTTP/1.1 400 ", b"HTTP/1.1 403 ")


def test_a_second_request_does_not_hide_in_the_first(visitor):
    before = n_answers(visitor)
    inner = posted(visitor, "Content-Length: 32") + b'{"a": 0, "b": 1, "word": "same"}'
    outer = (
        f"GET /api/state HTTP/1.1\r\nHost: {visitor.netloc}\r\nCookie: {visitor.cookie}\r\n"
        f"Content-Length: {len(inner)}\r\nConnection: close\r\n\r\n"
    )
    got = spoken(visitor, outer.encode() + inner)
    assert got.startswith(b"HTTP/1.1 400")
    assert got.count(b"HTTP/1.1") == 1
    assert n_answers(visitor) == before


PATHS = [
    "/static/../guard.py",
    "/static/%2e%2e/guard.py",
    "/static/..%2fguard.py",
    "/static/..%5cguard.py",
    "/static/%2e%2e%2f%2e%2e%2fpyproject.toml",
    "/..%2f..%2fetc/passwd",
    "//etc/passwd",
    "/static//etc/passwd",
    "/etc/passwd",
    "/static/main.js%00.html",
    "/static/main.js/",
    "/static/static/main.js",
    "/static/bundle.py",
    "/static/",
    "/guard.py",
    "/api/media/1/0/../../../secret.txt",
    "/api/media/..%2f..%2fsecret.txt/0",
    "/api/media/1/%2e%2e",
    "/api/media/secret.txt",
    "/api/media/1e0/0",
    "/api/media/-1/0",
    "/api/media/1/0%00",
    "/api/export/..%2f..%2fsecret.txt",
    "/api/export/passwd",
    "/api/export/report.html%00",
    "/api/cluster/0/../../state",
    "/.well-known/x",
    "/api/STATE",
    "file:///etc/passwd",
]


@pytest.mark.parametrize("path", PATHS)
def test_no_path_leads_out(visitor, path):
    refused(visitor.raw("GET", path), 404, 400)


def test_bytes_that_are_no_address_are_refused(visitor):
    for target in (b"/static/\x00", b"/\xff\xfe", b"/api/state\x00", b"/a b"):
        rest = f" HTTP/1.1\r\nHost: {visitor.netloc}\r\nCookie: {visitor.cookie}\r\n\r\n".encode()
        got = spoken(visitor, b"GET " + target + rest)
        assert got[:13] in (b"HTTP/1.1 400 ", b"HTTP/1.1 404 "), (target, got)


def test_media_are_what_their_cell_names_and_nothing_else(visitor):
    for path in ("/api/media/0/0", "/api/media/59/0", "/api/media/1/1", "/api/media/60/0"):
        refused(visitor.raw("GET", path), 404, 400)
    assert visitor.get("/api/rows?rows=59")["rows"][0]["cells"] == [None]


def test_ranges_are_not_abused(visitor):
    many = "bytes=" + ",".join(f"{i}-{i}" for i in range(2000))
    assert visitor.raw("GET", "/api/media/1/0", headers={"Range": many})[2] == PNG
    refused(visitor.raw("GET", "/api/media/1/0", headers={"Range": "bytes=99-"}), 416)
    status, _, body = visitor.raw("GET", "/static/main.js", headers={"Range": "bytes=0-1"})
    assert (status, len(body) > 2) == (200, True)


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "BREW"])
def test_other_methods_are_refused(visitor, method):
    answer = visitor.raw(method, "/api/state", headers={"Origin": f"http://{visitor.netloc}"})
    assert answer[0] == 405
    if method != "HEAD":
        refused(answer, 405)


def test_what_is_read_is_not_written_and_the_other_way_round(visitor):
    refused(visitor.raw("GET", "/api/answer"), 405)
    for path in ("/api/state", "/", "/static/main.js", "/api/events"):
        refused(visitor.raw("POST", path, {}), 404, 405)
    tampered = {"X-HTTP-Method-Override": "POST", "X-Method-Override": "DELETE"}
    refused(visitor.raw("GET", "/api/undo", headers=tampered), 405)


def test_headers_of_proxies_are_not_believed(visitor):
    proxied = {"X-Forwarded-Host": visitor.netloc, "X-Forwarded-For": "127.0.0.1"}
    refused(visitor.raw("GET", "/api/state", headers={**proxied, "Host": "evil.example"}), 403)
    refused(visitor.raw("GET", "/api/state", headers={**proxied, "Cookie": None}), 401)


def test_upgrades_are_not_made(visitor):
    asked = {
        "Connection": "Upgrade",
        "Upgrade": "websocket",
        "Sec-WebSocket-Version": "13",
        "Sec-WebSocket-Key": "AAAAAAAAAAAAAAAAAAAAAA==",
        "Cookie": None,
    }
    refused(visitor.raw("GET", "/api/events", headers=asked), 401)


def test_long_headers_and_queries_are_refused(visitor):
    refused(visitor.raw("GET", f"/api/search?text={'x' * 40_000}"), 414)
    got = spoken(visitor, b"GET / HTTP/1.1\r\nX: " + b"x" * 2**20 + b"\r\n\r\n")
    assert b" 200 " not in got[:20]


def test_nothing_of_the_token_is_told(serving, visitor, capfd):
    for path in ("/", "/api/state", "/static/main.js", f"/?token={visitor.token}"):
        _, headers, body = visitor.raw("GET", path)
        assert visitor.token not in str(headers)
        assert visitor.token.encode() not in body
        assert headers["referrer-policy"] == "no-referrer"
    told = capfd.readouterr()
    assert visitor.token not in told.out + told.err
