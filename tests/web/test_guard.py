"""Who is let in: every check of the guard by itself, on requests that no client would send."""

import asyncio
import json

import pytest

from linkshift.web.guard import MOST_BYTES, Guard, policy

PORT, TOKEN = 8123, "t" * 43
HOST = f"127.0.0.1:{PORT}"
ORIGIN = f"http://{HOST}"
JSON = ("content-type", "application/json")


class Client:
    """Sends a request to a guard; gives status, headers and what came back."""

    def __init__(self, **settings):
        self.reached = []
        self.guard = Guard(self.app, PORT, TOKEN, **settings)
        self.cookie = ("cookie", f"{self.guard.cookie}={self.guard.secret}")

    async def app(self, scope, receive, send):
        message = await receive()
        self.reached.append((scope["path"], message["body"]))
        if scope["path"] == "/boom":
            raise RuntimeError("/home/anna/secret.csv")
        start = {"type": "http.response.start", "status": 200, "headers": [(b"x-own", b"1")]}
        await send(start)
        await send({"type": "http.response.body", "body": b"in"})

    def ask(self, method="GET", target="/api/state", *headers, chunks=(b"",), host=HOST):
        path, _, query = target.partition("?")
        given = [] if host is None else [("host", host)]
        parts = [*chunks]
        scope = {
            "type": "http",
            "method": method,
            "path": path,
            "raw_path": path.encode("latin-1"),
            "query_string": query.encode(),
            "headers": [(k.encode(), v.encode("latin-1")) for k, v in (*given, *headers)],
        }
        said = []

        async def receive():
            body = parts.pop(0) if parts else b""
            return {"type": "http.request", "body": body, "more_body": bool(parts)}

        async def send(message):
            said.append(message)

        asyncio.run(self.guard(scope, receive, send))
        self.n_read = len(chunks) - len(parts)
        start, *rest = said
        body = b"".join(part["body"] for part in rest)
        names = {k.decode(): v.decode() for k, v in start["headers"]}
        return start["status"], names, body


@pytest.fixture
def client():
    return Client()


def refused(answer, status):
    got, headers, body = answer
    assert got == status
    assert headers["content-type"] == "application/json"
    assert json.loads(body).keys() == {"error", "remedy"}
    assert headers["content-security-policy"] == policy()
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["referrer-policy"] == "no-referrer"
    return headers


def test_with_the_cookie_one_is_in(client):
    status, headers, body = client.ask("GET", "/api/state", client.cookie)
    assert (status, body) == (200, b"in")
    assert headers["x-own"] == "1"
    assert headers["content-security-policy"] == policy()
    assert headers["cache-control"] == "no-store"
    assert "access-control-allow-origin" not in headers


def test_the_token_is_exchanged_for_a_cookie(client):
    status, headers, body = client.ask("GET", f"/?token={TOKEN}")
    assert (status, headers["location"], body) == (303, "/", b"")
    name, *rest = headers["set-cookie"].split("; ")
    assert name == f"linkshift_{PORT}={client.guard.secret}"
    assert set(rest) == {"HttpOnly", "SameSite=Strict", "Path=/"}
    assert headers["referrer-policy"] == "no-referrer"
    assert TOKEN not in str(headers)
    assert client.guard.secret != TOKEN
    assert not client.reached


@pytest.mark.parametrize(
    ("method", "target"),
    [
        ("GET", "/"),
        ("GET", f"/?token={TOKEN[:-1]}"),
        ("GET", "/?token="),
        ("GET", f"/?token={TOKEN}&token={TOKEN}"),
        ("GET", f"/api/state?token={TOKEN}"),
        ("GET", f"//?token={TOKEN}"),
        ("HEAD", f"/?token={TOKEN}"),
        ("GET", "/api/state"),
        ("GET", "/static/main.js"),
        ("GET", "/nothing"),
        ("OPTIONS", "/api/state"),
    ],
)
def test_without_the_token_nobody_is_in(client, method, target):
    origin = [("origin", ORIGIN)] if method == "OPTIONS" else []
    refused(client.ask(method, target, *origin), 401)
    assert not client.reached


@pytest.mark.parametrize(
    "cookie",
    [
        "linkshift_8123=",
        "linkshift_8123=wrong",
        f"linkshift_8123={TOKEN}",
        f"linkshift_8124={TOKEN}",
        "linkshift_8123",
        "\xff\xfe",
        "LINKSHIFT_8123={secret}",
        "linkshift_8124={secret}",
        "linkshift_8123={secret}x",
    ],
)
def test_another_cookie_is_none(client, cookie):
    value = cookie.replace("{secret}", client.guard.secret)
    refused(client.ask("GET", "/api/state", ("cookie", value)), 401)
    assert not client.reached


def test_a_cookie_of_the_same_name_that_another_server_set_shuts_nobody_out(client):
    both = f"a=b; linkshift_{PORT}=planted; {client.cookie[1]}"
    assert client.ask("GET", "/api/state", ("cookie", both))[0] == 200


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        f"evil.example:{PORT}",
        f"127.0.0.1.evil.example:{PORT}",
        f"localhost.evil.example:{PORT}",
        "127.0.0.1",
        "127.0.0.1:80",
        f"127.0.0.1:{PORT + 1}",
        f"127.0.0.1:{PORT}0",
        f"127.0.0.1:{PORT}@evil.example",
        f"user@127.0.0.1:{PORT}",
        f"[::1]:{PORT}x",
        f"[::2]:{PORT}",
        f"0.0.0.0:{PORT}",
        f"127.1:{PORT}",
        f"2130706433:{PORT}",
        f"127.0.0.1:{PORT}, evil.example",
        f"127.0.0.1\n:{PORT}",
        f"localhost:{PORT}\n",
        "[::1",
    ],
)
def test_a_foreign_host_is_refused(client, host):
    if host is not None and host.strip() != host:
        host = "x" + host
    refused(client.ask("GET", "/api/state", client.cookie, host=host), 403)
    refused(client.ask("GET", f"/?token={TOKEN}", host=host), 403)
    assert not client.reached


@pytest.mark.parametrize("host", [HOST, f"localhost:{PORT}", f"LocalHost:{PORT}", f"[::1]:{PORT}"])
def test_its_own_names_are_known(client, host):
    assert client.ask("GET", "/api/state", client.cookie, host=host)[0] == 200


def test_two_hosts_are_refused(client):
    for second in (HOST, "evil.example"):
        refused(client.ask("GET", "/api/state", client.cookie, ("host", second)), 403)
        refused(client.ask("GET", "/api/state", client.cookie, ("Host", second)), 403)


FOREIGN = [
    "http://evil.example",
    "null",
    "",
    f"https://{HOST}",
    f"http://127.0.0.1:{PORT + 1}",
    f"http://localhost:{PORT}",
    "http://127.0.0.1",
    f"{ORIGIN}/",
    f"{ORIGIN}.evil.example",
    f"http://user@{HOST}",
    HOST,
]


@pytest.mark.parametrize("origin", FOREIGN)
def test_a_foreign_origin_is_refused(client, origin):
    refused(client.ask("POST", "/api/undo", client.cookie, JSON, ("origin", origin)), 403)
    refused(client.ask("GET", "/api/state", client.cookie, ("origin", origin)), 403)
    assert not client.reached


def test_two_origins_are_refused(client):
    origins = ("origin", ORIGIN), ("origin", ORIGIN)
    refused(client.ask("POST", "/api/undo", client.cookie, JSON, *origins), 403)


@pytest.mark.parametrize("site", ["cross-site", "same-site", "none", "", "Same-Origin"])
def test_a_write_from_another_site_is_refused(client, site):
    for origin in ([], [("origin", ORIGIN)]):
        sent = ("sec-fetch-site", site)
        refused(client.ask("POST", "/api/undo", client.cookie, JSON, sent, *origin), 403)
    assert not client.reached


def test_a_write_that_does_not_say_where_it_is_from_is_refused(client):
    refused(client.ask("POST", "/api/undo", client.cookie, JSON), 403)
    for said in (("origin", ORIGIN), ("sec-fetch-site", "same-origin")):
        assert client.ask("POST", "/api/undo", client.cookie, JSON, said)[0] == 200


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_page_embeds_nothing_but_may_lead_to_the_page(client, site):
    sent = ("sec-fetch-site", site)
    for path in ("/api/labels", "/api/media/1/0", "/static/main.js"):
        refused(client.ask("GET", path, client.cookie, sent), 403)
    assert client.ask("GET", "/", client.cookie, sent)[0] == 200
    assert (
        client.ask("GET", "/api/export/labels.csv", client.cookie, ("sec-fetch-site", "none"))[0]
        == 200
    )


KINDS = [
    "application/x-www-form-urlencoded",
    "multipart/form-data; boundary=a",
    "text/plain",
    "text/plain; application/json",
    "application/json; charset=utf-16",
    "application/json, text/plain",
    "application/jsonp",
    "",
]


@pytest.mark.parametrize("kind", KINDS)
def test_only_json_is_taken(client, kind):
    sent = ("origin", ORIGIN), ("content-type", kind)
    refused(client.ask("POST", "/api/undo", client.cookie, *sent), 415)
    refused(client.ask("POST", "/api/undo", client.cookie, sent[0]), 415)
    refused(client.ask("POST", "/api/undo", client.cookie, *sent, JSON), 415)
    assert not client.reached


def test_packed_bodies_are_refused(client):
    packed = ("content-encoding", "gzip")
    refused(client.ask("POST", "/api/undo", client.cookie, JSON, ("origin", ORIGIN), packed), 415)


@pytest.mark.parametrize("length", [str(MOST_BYTES + 1), "9" * 400, "-1", "1e3", "0x10", "١٢"])
def test_a_length_that_is_too_much_is_refused_unread(client, length):
    try:
        length.encode("latin-1")
    except UnicodeEncodeError:
        length = "ab"
    sent = JSON, ("origin", ORIGIN), ("content-length", length)
    headers = refused(client.ask("POST", "/api/undo", client.cookie, *sent), 413)
    assert headers["connection"] == "close"
    assert client.n_read == 0


def test_a_body_without_end_is_cut_off_whatever_its_length_says(client):
    chunks = [b"x" * 2**16] * 64
    for length in ([], [("content-length", "2")]):
        sent = client.cookie, JSON, ("origin", ORIGIN), *length
        refused(client.ask("POST", "/api/undo", *sent, chunks=chunks), 413)
        assert client.n_read == 17  # the first that is too much
    assert not client.reached


def test_a_length_that_is_said_twice_is_refused(client):
    for second in (("content-length", "2"), ("transfer-encoding", "chunked")):
        sent = client.cookie, JSON, ("origin", ORIGIN), ("content-length", "2"), second
        refused(client.ask("POST", "/api/undo", *sent, chunks=[b"{}"]), 400)
    assert not client.reached


def test_the_longest_body_arrives_whole(client):
    chunks = [b"x" * 2**18] * 4
    sent = client.cookie, JSON, ("origin", ORIGIN)
    assert client.ask("POST", "/api/undo", *sent, chunks=chunks)[0] == 200
    assert len(client.reached[0][1]) == MOST_BYTES


@pytest.mark.parametrize("method", ["HEAD", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "get"])
def test_other_methods_are_refused(client, method):
    headers = refused(client.ask(method, "/api/state", client.cookie, ("origin", ORIGIN)), 405)
    assert headers["allow"] == "GET, POST"
    assert "access-control-allow-methods" not in headers
    assert not client.reached


PATHS = [
    "/../../etc/passwd",
    "/static/../guard.py",
    "/static/%2e%2e/guard.py",
    "/static/..%2fguard.py",
    "/static/..\\guard.py",
    "/static//etc/passwd",
    "//etc/passwd",
    "/static/\x00",
    "/static/%00",
    "/api/media/1/0%00.png",
    "/api/./state",
    "/.git/config",
    "/static/.hidden",
    "/api/state/",
    "/api/state;x=1",
    "http://evil.example/api/state",
    "*",
    "",
    "/\xe4",
    "/api/state\n",
]


@pytest.mark.parametrize("path", PATHS)
def test_paths_are_plain(client, path):
    refused(client.ask("GET", path, client.cookie), 404)
    assert not client.reached


def test_a_long_query_is_refused(client):
    refused(client.ask("GET", f"/api/rows?rows={'1,' * 20_000}", client.cookie), 414)


def test_questions_have_no_body(client):
    for sent in (("content-length", "3"), ("transfer-encoding", "chunked")):
        refused(client.ask("GET", "/api/state", client.cookie, sent, chunks=[b"abc"]), 400)
    assert client.ask("GET", "/api/state", client.cookie, ("content-length", "0"))[0] == 200


def test_an_error_inside_tells_nothing_of_files():
    told = []
    client = Client(told=told.append)
    _, _, body = answer = client.ask("GET", "/boom", client.cookie)
    refused(answer, 500)
    assert b"secret" not in body
    assert [type(error) for error in told] == [RuntimeError]


def test_a_remote_guard_goes_by_any_name_but_not_without_the_token():
    client = Client(remote=True)
    there = "labels.example:9000"
    assert client.ask("GET", "/api/state", client.cookie, host=there)[0] == 200
    refused(client.ask("GET", "/api/state", host=there), 401)
    write = client.cookie, JSON
    for origin in (f"http://{there}", f"https://{there}"):
        assert client.ask("POST", "/api/undo", *write, ("origin", origin), host=there)[0] == 200
    for origin in ("http://evil.example", "http://evil.example:9000", "http://labels.example"):
        refused(client.ask("POST", "/api/undo", *write, ("origin", origin), host=there), 403)
    for host in ("a b", "a/b", "a@b:1", "", "[x]", "a:b"):
        refused(client.ask("GET", "/api/state", client.cookie, host=host), 403)


def test_frames_of_this_machine_only_where_they_were_asked_for():
    usual, framed = Client(), Client(framed=True)
    _, headers, _ = usual.ask("GET", "/", usual.cookie)
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["x-frame-options"] == "DENY"
    _, headers, _ = framed.ask("GET", "/", framed.cookie)
    told = headers["content-security-policy"]
    assert told.endswith("frame-ancestors http://localhost:* http://127.0.0.1:*")
    assert "x-frame-options" not in headers


def test_the_policy_lets_nothing_in_from_elsewhere():
    assert "default-src 'none'" in policy()
    assert "unsafe" not in policy()
    assert "http" not in policy()
    assert "data:" not in policy()


def test_sockets_of_other_kinds_are_closed(client):
    said = []

    async def receive():
        return {"type": "websocket.connect"}

    async def send(message):
        said.append(message)

    asyncio.run(client.guard({"type": "websocket", "headers": []}, receive, send))
    assert said == [{"type": "websocket.close", "code": 1008}]


def test_a_body_that_does_not_come_is_not_waited_for(client, monkeypatch):
    monkeypatch.setattr("linkshift.web.guard._PATIENCE", 0.05)
    said = []

    async def receive():
        await asyncio.sleep(60)

    async def send(message):
        said.append(message)

    headers = [("host", HOST), client.cookie, JSON, ("origin", ORIGIN)]
    scope = {"type": "http", "method": "POST", "path": "/api/undo", "raw_path": b"/api/undo"}
    scope |= {"query_string": b"", "headers": [(k.encode(), v.encode()) for k, v in headers]}
    asyncio.run(client.guard(scope, receive, send))
    assert said[0]["status"] == 408
