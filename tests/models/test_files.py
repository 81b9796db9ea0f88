"""Model files: what is saved comes back, in another process too, and nothing else gets in."""

import base64
import json
import pickle
import zipfile
import zlib
from collections import UserDict

import numpy as np
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from sklearn.cluster import KMeans
from sklearn.exceptions import NotFittedError
from tests.models.cases import (
    KNOWN,
    MUST,
    NEW,
    SMALL_GROUPS,
    X,
    assert_same,
    distances,
    gaussian_gram,
    packed,
    small_model,
    unpacked,
)

from linkshift import (
    GroupFeatureClustering,
    KernelMeanShift,
    MeanShift,
    MetricMeanShift,
    model_files,
)
from linkshift._core.messages import Refusal
from linkshift.models.files import about, load, save

# About the model ---------------------------------------------------------------------------------


PLAIN = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=10,
)


@settings(
    max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(st.dictionaries(st.text(), PLAIN, max_size=4))
@example({"third": 1 / 3, "least": 5e-324, "most": 1.7976931348623157e308, "zero": [-0.0, 0]})
@example(
    {"Länge": ["größer als ½ µm", "😀", "\x00", "\ud800"], "": {"array": "a0", "float": "nan"}}
)
@example({"whole": [True, 1, 1.0, "1", None, 2**70]})
def test_what_is_told_about_a_model_comes_back(tmp_path, notes):
    save(small_model(), tmp_path / "m", about=notes)
    assert_same(about(tmp_path / "m"), notes)
    assert_same(load(tmp_path / "m"), small_model())


def test_about_is_empty_when_nothing_was_told(tmp_path):
    save(small_model(), tmp_path / "never")
    for name, notes in (("none", None), ("empty", {})):
        save(small_model(), tmp_path / name, about=notes)
        assert (tmp_path / name).read_bytes() == (tmp_path / "never").read_bytes()
        assert about(tmp_path / name) == {}


def test_about_does_not_look_at_the_arrays(tmp_path):
    forge(tmp_path / "m", setting("about", to={"a": 1}), a0=np.zeros(2, dtype="M8[D]"))
    assert about(tmp_path / "m") == {"a": 1}
    assert_refused(tmp_path / "m", "not numbers")


@pytest.mark.parametrize(
    ("notes", "match"),
    [
        ([1], "about is a list; give a dict"),
        ("text", "about is a str; give a dict"),
        (UserDict(a=1), "about is a UserDict; give a dict"),
        ({1: 2}, "about has the key 1; .* Use str keys"),
        ({"a": {None: 2}}, r"about\['a'\] has the key None"),
        ({"a": float("nan")}, r"about\['a'\] is nan; .* Use None or text"),
        ({"a": [1, float("-inf")]}, r"about\['a'\]\[1\] is -inf"),
        ({"a": (1, 2)}, r"about\['a'\] is a tuple.* list\(\.\.\.\)"),
        ({"a": np.float64(1)}, r"about\['a'\] is a float64.* \.tolist\(\)"),
        ({"a": [np.int64(1)]}, r"about\['a'\]\[0\] is a int64"),
        ({"a": np.zeros(2)}, r"about\['a'\] is a ndarray"),
        ({"a": b"bytes"}, r"about\['a'\] is a bytes"),
        ({"a": {1, 2}}, r"about\['a'\] is a set"),
        ({"a": print}, r"about\['a'\] is a builtin_function"),
    ],
)
def test_what_json_does_not_give_back_is_refused(tmp_path, notes, match):
    with pytest.raises(TypeError, match=match):
        save(small_model(), tmp_path / "m", about=notes)
    assert not list(tmp_path.iterdir())


def test_notes_that_hold_themselves_are_refused(tmp_path):
    endless: dict = {"a": []}
    endless["a"].append(endless)
    with pytest.raises(TypeError, match="nested too deeply"):
        save(small_model(), tmp_path / "m", about=endless)


@pytest.mark.parametrize("notes", [None, 3, [1], "text"])
def test_a_header_with_notes_of_another_kind_is_refused(tmp_path, notes):
    forge(tmp_path / "m", setting("about", to=notes))
    assert_refused(tmp_path / "m", "give a dict")
    assert_refused(tmp_path / "m", "give a dict", read=about)


def test_about_refuses_what_load_refuses(tmp_path):
    forge(tmp_path / "m", setting("format_version", to=3))
    assert_refused(tmp_path / "m", "update linkshift", read=about)
    (tmp_path / "m").write_bytes(b"text")
    assert_refused(tmp_path / "m", "no npz archive", read=about)
    text = json.dumps({"format": "linkshift model", "format_version": 2, "versions": {}})[:-1]
    large = np.frombuffer(f'{text}, "about": {{"a": 1e999}}}}'.encode(), dtype=np.uint8)
    forge(tmp_path / "m", header=large)
    assert_refused(tmp_path / "m", "is inf", read=about)
    with pytest.raises(FileNotFoundError):
        about(tmp_path / "none")


# Refused by save ---------------------------------------------------------------------------------


def told(done, all_of_them):
    pass


@pytest.mark.parametrize(
    ("make", "remedy"),
    [
        (lambda: MeanShift(progress=told).fit(X), r"model\.set_params\(progress=None\)"),
        (
            lambda: KernelMeanShift(random_state=np.random.RandomState(0)).fit(X, links=MUST),
            r"model\.set_params\(random_state=None\)",
        ),
        (
            lambda: (
                MetricMeanShift(random_state=np.random.RandomState(0))
                .fit(X, partial_labels=KNOWN)
                .set_params(random_state=None)
            ),
            r"model\.metric_\.set_params\(random_state=None\)",
        ),
        (lambda: KernelMeanShift(gaussian_gram).fit(X, links=MUST), "precomputed"),
        (
            lambda: GroupFeatureClustering(3, metric=distances, **SMALL_GROUPS).fit(X),
            "precomputed",
        ),
        (
            lambda: GroupFeatureClustering(
                3, views=UserDict({"a": [0], "b": [1]}), **SMALL_GROUPS
            ).fit(X),
            r"model\.views is a UserDict.* dict",
        ),
        (lambda: KMeans(2, n_init=1).fit(X), "holds one of"),
        (lambda: type("Own", (MeanShift,), {})().fit(X), "not Own"),
    ],
)
def test_what_is_no_data_is_refused_with_the_remedy(tmp_path, make, remedy):
    with pytest.raises(TypeError, match=remedy):
        save(make(), tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_the_remedy_for_functions_works(tmp_path):
    model = MeanShift(progress=told).fit(X)
    save(model.set_params(progress=None), tmp_path / "m")
    np.testing.assert_array_equal(load(tmp_path / "m").predict(NEW), model.predict(NEW))


def test_a_model_that_was_changed_since_its_fit_is_refused(tmp_path):
    """When it is saved, not when somebody wants it back."""
    model = small_model()
    model.extra_ = 1
    with pytest.raises(TypeError, match=r"model\.extra_ is nothing that a fit has set"):
        save(model, tmp_path / "m")
    for change in ({"labels_": np.array([0, 1])}, {"n_iter_": -1}, {"tol": -1.0}):
        model = small_model()
        vars(model).update(change)
        with pytest.raises(Refusal, match="could not be loaded again"):
            save(model, tmp_path / "m")
    assert not list(tmp_path.iterdir())


def test_a_model_that_is_not_fitted_is_refused(tmp_path):
    with pytest.raises(NotFittedError):
        save(MeanShift(), tmp_path / "m")


# The file ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["model", "model.npz", "model.v1.bin"])
@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_paths_are_taken_as_they_are(tmp_path, name, kind):
    save(small_model(), kind(tmp_path / name))
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert load(kind(tmp_path / name)).n_clusters_ == 2


def test_a_file_is_replaced_whole_or_not_at_all(tmp_path, monkeypatch):
    path = tmp_path / "m"
    save(small_model(), path)
    before = path.read_bytes()

    def fail(*_, **__):
        raise OSError("disk full")

    monkeypatch.setattr(model_files.npy, "write_array", fail)
    with pytest.raises(OSError, match="disk full"):
        save(small_model(), path)
    assert path.read_bytes() == before
    assert list(tmp_path.iterdir()) == [path]


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in "ab":
        save(small_model(), tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_files_that_cannot_be_opened_raise_as_usual(tmp_path):
    with pytest.raises(FileNotFoundError):
        load(tmp_path / "none")
    with pytest.raises(Refusal, match="Make the folder first"):
        save(small_model(), tmp_path / "none" / "m")


# Refused by load ---------------------------------------------------------------------------------


def assert_refused(path, match="cannot be loaded", read=load):
    with pytest.raises(ValueError, match=match) as caught:
        read(path)
    assert type(caught.value) is Refusal
    assert repr(str(path)) in str(caught.value)
    assert "linkshift.model_files.save" in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__context__ is None


def forge(path, change=None, header=None, **members):
    """Change the header of a good file, or its members, and write it with right checksums."""
    save(small_model(), path)
    told, arrays = unpacked(path)
    if change is not None:
        change(told)
    packed(path, told, {**arrays, **members})
    if header is not None:
        with path.open("wb") as stream:
            np.savez(stream, header=header, **arrays)


def setting(*keys, to):
    def change(header):
        node = header
        for key in keys[:-1]:
            node = node[key]
        node[keys[-1]] = to

    return change


MODEL = ("model", "estimator")
FITTED = (*MODEL, "fitted", "dict")
EXTRA = (*MODEL, "parameters", "seeds")


def test_a_forged_file_without_a_change_is_good(tmp_path):
    forge(tmp_path / "m")
    assert_same(load(tmp_path / "m"), small_model())
    forge(tmp_path / "m", setting(*EXTRA, to={"tuple": [1]}))
    assert load(tmp_path / "m").seeds == (1,)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (setting("format", to="other"), "another kind of file"),
        (setting("format_version", to=3), "version 3.*reads version 2; update linkshift"),
        (setting("format_version", to=1), "version 1.*reads version 2 only"),
        (setting("format_version", to="1"), "format version"),
        (setting("format_version", to=True), "format version"),
        (setting("format_version", to=0), "format version"),
        (setting("versions", to=3), "versions"),
        (setting("versions", to={"numpy": 2}), "versions"),
        (setting("model", to=None), "no fitted estimator"),
        (setting("model", to={"array": "a0"}), "no fitted estimator"),
        (setting("model", to={"estimator": 3}), "no fitted estimator"),
        (setting(*MODEL, "class", to="DBSCAN"), "holds a 'DBSCAN'"),
        (setting(*MODEL, "class", to="os.system"), "holds a 'os.system'"),
        (setting(*MODEL, "class", to=["MeanShift"]), "class"),
        (setting(*MODEL, "parameters", to=[]), "parameters"),
        (setting(*MODEL, "parameters", "later", to=1), "had a parameter 'later'"),
        (setting(*MODEL, "fitted", to=None), "no fitted estimator"),
        (setting(*FITTED, to=[]), "no fitted estimator|does not know"),
        (setting(*FITTED, to={}), "lacks the field"),
        (setting(*FITTED, "predict", to=1), "has no field 'predict'"),
        (setting(*FITTED, "bandwidth", to=1), "has no field 'bandwidth'"),
        (setting(*FITTED, "__class__", to=1), "has no field"),
        (setting(*FITTED, "labels_", to=None), "labels_ is of type NoneType"),
        (setting(*FITTED, "n_iter_", to=True), "n_iter_ is of type bool"),
        (setting(*FITTED, "n_iter_", to=-1), "n_iter_ holds numbers"),
        (setting(*FITTED, "bandwidth_", to={"float": "nan"}), "bandwidth_ holds numbers"),
        (setting(*FITTED, "n_features_in_", to=2), "another number"),
        (setting(*FITTED, "n_features_in_", to=None), "another number"),
        (setting(*FITTED, "feature_names_in_", to={"text": ["a", "b"]}), "other names"),
        (setting(*FITTED, "links_", to=None), "do not fit together"),
        (setting(*MODEL, "parameters", "tol", to=-1.0), "The 'tol' parameter"),
        (setting(*MODEL, "parameters", "kernel", to="round"), "The 'kernel' parameter"),
        (setting(*MODEL, "output", to="html"), "an output that"),
        (setting(*MODEL, "requests", to={"dict": {"eval": {"dict": {}}}}), "requests"),
        (setting(*MODEL, "requests", to=[]), "requests"),
        (setting(*EXTRA, to={"array": "a99"}), "'a99' is missing"),
        (setting(*EXTRA, to={"array": "header"}), "'header' is missing"),
        (setting(*EXTRA, to={"array": 3}), "does not know"),
        (setting(*EXTRA, to={"tuple": 3}), "'tuple' that"),
        (setting(*EXTRA, to={"float": "1e3"}), "'float' that"),
        (setting(*EXTRA, to={"text": [1]}), "'text' that"),
        (setting(*EXTRA, to={"dtype": "O"}), "'dtype' that"),
        (setting(*EXTRA, to={"slice": [1]}), "'slice' that"),
        (setting(*EXTRA, to={"range": {"start": 0, "stop": 1, "step": 0}}), "ValueError"),
        (setting(*EXTRA, to={"set": [1]}), "'set' that"),
        (setting(*EXTRA, to={}), "no value"),
        (setting(*EXTRA, to={"tuple": [], "dict": {}}), "no value"),
        (setting(*EXTRA, to={"object": ["subprocess.Popen", {}]}), "'object' that"),
        (setting(*EXTRA, to={"profile": {"name": "flat", "odd": 1}}), "has no field 'odd'"),
        (setting(*EXTRA, to={"profile": {"name": "none", "reach": 1.0}}), "Unknown kernel"),
        (setting(*EXTRA, to={"profile": {"name": "flat", "reach": "far"}}), "reach of the flat"),
        (setting(*EXTRA, to={"links": {"must": [[0, 0]]}}), "lacks the field 'cannot'"),
        (setting(*EXTRA, to={"density": {}}), "lacks the field"),
    ],
)
def test_a_header_that_is_wrong_is_refused(tmp_path, change, match):
    forge(tmp_path / "m", change)
    assert_refused(tmp_path / "m", match)


def test_a_parameter_that_the_file_does_not_have_takes_its_default(tmp_path):
    forge(tmp_path / "m", lambda header: header["model"]["estimator"]["parameters"].pop("tol"))
    assert load(tmp_path / "m").tol == MeanShift().tol


@pytest.mark.parametrize(
    ("header", "match"),
    [
        (np.zeros(3), "not JSON as bytes"),
        (np.array("{}"), "not JSON as bytes"),
        (np.frombuffer(b"{", dtype=np.uint8), "not JSON"),
        (np.frombuffer(b"\xff\xfe\xfd", dtype=np.uint8), "not JSON"),
        (np.frombuffer(b"[NaN]", dtype=np.uint8), "not JSON"),
        (np.frombuffer(b"[1]", dtype=np.uint8), "another kind of file"),
        (np.frombuffer(b"[" * 200_000, dtype=np.uint8), "RecursionError"),
    ],
)
def test_a_header_that_is_no_json_is_refused(tmp_path, header, match):
    forge(tmp_path / "m", header=header)
    assert_refused(tmp_path / "m", match)


class Trap:
    """Leaves a file behind when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


def test_a_pickle_inside_is_refused_and_not_run(tmp_path):
    sprung = tmp_path / "sprung"
    forge(tmp_path / "m", a0=np.array([Trap(sprung)], dtype=object))
    assert_refused(tmp_path / "m", "'a0' holds pickled objects")
    (tmp_path / "m").write_bytes(pickle.dumps(Trap(sprung)))
    assert_refused(tmp_path / "m", "no npz archive")
    forge(tmp_path / "m", header=np.array([Trap(sprung)], dtype=object))
    assert_refused(tmp_path / "m", "'header' holds pickled objects")
    assert not sprung.exists()


@pytest.mark.parametrize(
    "array", [np.zeros(2, dtype="M8[D]"), np.zeros(2, dtype=[("a", int)]), np.array([b"bytes"])]
)
def test_other_kinds_of_arrays_are_refused(tmp_path, array):
    forge(tmp_path / "m", a0=array)
    assert_refused(tmp_path / "m", "not numbers or text|another version")


def test_other_files_are_refused(tmp_path):
    path = tmp_path / "m"
    np.savez(tmp_path / "m.npz", X=X)
    assert_refused(tmp_path / "m.npz", "no member 'header'")
    forge(path, more=X)
    assert_refused(path, "'more' is not part of the model")
    for data in (b"", b"text", b"PK\x03\x04", b"\x93NUMPY"):
        path.write_bytes(data)
        assert_refused(path, "no npz archive")
    forge(path)
    with np.load(path) as stored, path.with_name("packed").open("wb") as stream:
        np.savez_compressed(stream, **stored)
    assert_refused(path.with_name("packed"), "compressed")
    with pytest.warns(UserWarning, match="Duplicate"), zipfile.ZipFile(path, "a") as archive:
        archive.writestr("a0.npy", b"")
    assert_refused(path, "same name")


@pytest.mark.parametrize("shape", [(10**15,), (3,), (-2, -1), (0, 5)])
def test_an_array_of_another_size_than_it_says_is_refused(tmp_path, shape):
    forge(tmp_path / "good")
    with zipfile.ZipFile(tmp_path / "good") as good, zipfile.ZipFile(tmp_path / "m", "w") as bad:
        for info in good.infolist():
            data = good.read(info)
            if info.filename == "a0.npy":
                header = f"{{'descr': '<f8', 'fortran_order': False, 'shape': {shape}, }}"
                text = header.encode().ljust(117) + b"\n"
                data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text + b"\0" * 16
            bad.writestr(info.filename, data)
    assert_refused(tmp_path / "m", "size|damaged")


def test_arrays_of_the_other_byte_order_are_read(tmp_path):
    model = small_model()
    forge(tmp_path / "m", setting(*EXTRA, to={"array": "big"}), big=np.arange(3, dtype=">i4"))
    assert_same(load(tmp_path / "m").seeds, np.arange(3, dtype=np.int32))
    np.testing.assert_array_equal(load(tmp_path / "m").labels_, model.labels_)


# Other versions ----------------------------------------------------------------------------------


# MeanShift(bandwidth=1.0).fit([[0.0], [0.25], [5.0]]) as linkshift 0.1 saved it, packed by zlib.
FORMAT_1_FILE = """
eNq1Vr2L3EYU18U+21xhXLhxp6jZGPaEtBeMbQJ2EULCcWHBBGyCGWalt7vjHY3kmdE5l8sWLtwfuDGkTRnXxl3qpEgq/wkhAR
dJ4Tp5bzR7K6034I/LLMvwfvO+fu89jTTcPXV6O2jWh8Hv+fln//i1FVwMpsBz0LGqDjaCC8HT043eYn/85Vd7wzsbwX5w2MvB
ZLp3Pex9V6e9ftgbl9pqrlip0QHin3FpAHEz5RWg/FGaXLnWv9wP5+G7rq3DCKMU3EbXw0gKNTNTMbZhUeYgo37oD9k+aCNKhU
opgl4yKB4ujchDEqdxEuewn5CxqovqgOBB/HF8hRCTiZmw2xK4JmdRGl+L02iOJ01EcgjGCoxZaidlkhsKFO0BV7dcHNSuuOYF
WMzDKaGKmKgClEuC17YkpRFX+QOR2ymlHSeECMUMQC7UBLFxU84GFd8CQqqWkhBZa91VymRtMB7jkrK0uiZwBlCxitupaWnOQC
tHJRpL7rIt+DdMoDFiOwnlUWBEijrWcN/XVLF75cgsU1BMgZhMR6VugRSKFaAnlGviKFW6nGgwLSUi2BJtKRvlJKU6j4W1kLuq
YXzgtkZrhrn4PBhOnFANdyys1tx1kCeuS0yXtW0XalFidlxjloMywh44+3J0DzJqytfRpx7uI3x7rfPX+4XkxkLCqquhh8mVwj
lo11oDz7yD+V3yanhRSWAPqJp2mXkuCkrIzTRBjTKjMTSr8fYcSNEyHLHjoTtOv5lgzXNRrx4N3FGlIROvB8tAylanGPaG3W6P
AA0NVXbQGkCfAlubg2JezSzMXBAm+QjaoRp51cdONHdE4H6ND2FDJReuCIdzWsPORffrL5+/XFx0Z/Ci48niknvidRb72kvuk/
HVN7rkdvph+l53XLgVdNZvN5r94s0un7+/n/3R4ZMu+Bx5naOT4DM4KT4//QcP++LHWYfH4H/i8X4sjnn8dWOxd3k8evHq5w6P
nbebL/Gm83VCPJZrw+/D3Y0Ptk91Pw3oxU//ttEPzmD5obBqR0/aE8/3TMfuT/TUPHerNjTNR77XXZvnm4Gf7VUbmpz1Ng9RbO
Zo1Ya6tD63L84GvmfD3U13tIm/c8j10jmS/gU6fVld
"""


def test_a_file_of_format_1_is_refused(tmp_path):
    """It holds memory layouts, which nobody can check."""
    (tmp_path / "m").write_bytes(zlib.decompress(base64.b64decode(FORMAT_1_FILE)))
    for read in (load, about):
        assert_refused(tmp_path / "m", "format version 1.*reads version 2 only", read=read)


# MeanShift(bandwidth=1.0).fit([[0.0], [0.25], [5.0]]), with a note, as linkshift 0.1 saves it.
FORMAT_2_FILE = """
eNq1V7+P3EQU3iOQQEJBkRa0uDmQ7lae8dgeB6RQoUhR0EkICRRF1vx4c+ec115sb0IIi9LQR6KJRIMQJcrfQIcESFClpEQUFF
BQw5ux99beLHDhDp9OY795P77vzTcz2r2rZ57eHbXPy6PPX/zm0Z/dc350cXQAQkM1KWZ3tkYvjL441/otx0/feufa3ntbo1uj
u9saalVtXxpvfzQn2zvjbVNWTSWKtKwwAdrfFHkNaK8PxAzw+xXCabTz6s54Mf6vz/m7HlaZisa7NPbyrDisDzLTjKelhtzbGX
eT6S2o6qws0Imisfuq8fPuKshm8Cdk4k803PJtcDGfzu5YM52wSWQttcoOs2Y3B1HZZB6ZJBPiLXCmrWgTQt1kWLOs3JfKRW0L
eddAFG+7Oug9E5WYQoM4nBO6ZPvFFAoHQsyb0jpJUejbmW4O0IiwrCUr0hpAZ8U+2kzbztaafQhoKuZ5bi35vKqGTiqf11gvFb
lF2VRzazwEmKUz0RzUPc9DqApHxTO5cGin4oM0w2C0Bb7FMcWKtqqp4H0LzvYqvVnKegWhSAvI9g9kWfWMtlQ6hWrfYvUdpVlV
7ldQ95wswd5nU+ats09sn03WNKBd13SmGveSojF9t+1kVQm3ZMJ3y4IYQTRzrJAi3g5rZ0oLXIOlvavm1JCuhOHepti6teztoi
tRFOXmKRuTqrIwmYZCwZoP7YX/mxcurpjOclj2ZGGNad2IBiZWdfVEoXCOpHQUHXiPOVZCZ/N1P9b3Qxh11txp+9t739zdxxWK
y2myvCXSf7et7kuqAqG6KMenpZjetpppVsuhs6kF4XbuOncFeV5Pauzcyr83leZCQt4T0hHY9Aht4WSddseC2wh9LbgE6Rrz0F
s4FCj9OW71eiDFRTvnvLs++zhc9143HGlfD3bG5AY6EIiZiJJAaUW1JiRh1ARchJxHwKQQkWBcExAyUL7va98PcEYYUHHEaMjA
s0lQaS515lIjH2qtEEhfMUYTbhRRhCXCSMMUT5LIyIQyGgtgBFjEEpkETAmWhElCZMxDKnkYtqlpH7V/enmDfl7adYNHIQlDEj
AqoyCmOoE4IUSEggYsCBPwqYg4chdAleAQEYiYHzAZKQUaaNCmZoPU1hQaPwYw6KowFzHorIGDoSaJfQNGKsVBMKZ8ajSaCIm1
UBIgZBwPug5y2O9y4PCGIY2kiJOYcsFiH0cJCcVFBMMQEKFR4KskiHjsB0oyu4ySUQ0KsCeEejecSGQ5b88OPATazZFVeNAsnO
73wZ05HuORChSNOOFCSCZVAIqHATFYVvtMchkZZbDvoZOHYaA5w45ppiXnRHmLvcHt/sN3V35d3u5n8XYX/vJmf9D5LMeNNzu2
91g3uxX6iS728fnR4PnxcjtefGPI57UL2fcDPmTJ517nc+8f+WTH42N31wn5DHFHV67XA9z0yXCb4+I+GerHcP/+2eEvA9zBEv
f9zuf+aeCmp6Wfr/9GN82jrw4HPNj/xOPE/W9R/HZ5OQ55fPLoj28HPMIn28/ZcffzKfFYPVvduHd166ndM8PfH/bXhf3vB33p
Ala/Rtbj7Mn2oON7dhD3E2Zqz7n1GHt63Ov22jDm4bOj7ixZj7E7d3OMeW7U7eP1GLtr7neaGsa8hBTbPbQeYxW6OeZnG8M2xV
g1bO7BwwujTht7V59xU+fwb4Y9/fh5+/UXavCJ2A==
"""


def test_a_file_of_format_2_is_read(tmp_path):
    """Whoever breaks this changes the format: raise its version and read the old one too."""
    (tmp_path / "m").write_bytes(zlib.decompress(base64.b64decode(FORMAT_2_FILE)))
    loaded, fresh = load(tmp_path / "m"), MeanShift(bandwidth=1.0).fit([[0.0], [0.25], [5.0]])
    new = [[-0.5], [0.1], [4.6]]
    assert_same(loaded, fresh)
    np.testing.assert_array_equal(loaded.predict(new), fresh.predict(new))
    assert about(tmp_path / "m") == {"note": "first"}
