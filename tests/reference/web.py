"""The slow, literal twin of the replay of a log, of disagreements, and of where rows are."""

from __future__ import annotations


def standing(entries):
    """Entries of actions that answered, linked or named, and that no undo names; in order."""
    gone = {entry.body["action"] for entry in entries if entry.kind == "undo"}
    kinds = ("answer", "link", "name")
    return [entry for entry in entries if entry.kind in kinds and entry.action not in gone]


def without(entries, action):
    """The log as if an action, and what took it back, had never been."""
    return [
        entry
        for entry in entries
        if entry.action != action and not (entry.kind == "undo" and entry.body["action"] == action)
    ]


def undoable(entries):
    actions = [entry.action for entry in standing(entries)]
    return max(actions) if actions else None


def names(entries):
    """Names that stand and that no standing one replaced: (action, name)."""
    there = [entry for entry in standing(entries) if entry.kind == "name"]
    replaced = [entry.body["replaces"] for entry in there]
    return [
        (entry.action, entry.body["name"])
        for entry in there
        if entry.action not in replaced and entry.body["name"] != ""
    ]


def settings(entries):
    found = {}
    for entry in entries:
        if entry.kind == "setting":
            found[entry.body["key"]] = entry.body["value"]
    return found


def disagreements(entries):
    """Pairs, as sets, with who said what last, as sets of (who, word)."""
    answers = [entry for entry in standing(entries) if entry.kind == "answer"]
    pairs = []
    for entry in answers:
        pair = {entry.body["a"], entry.body["b"]}
        if pair not in pairs:
            pairs.append(pair)
    found = []
    for pair in pairs:
        about = [entry for entry in answers if {entry.body["a"], entry.body["b"]} == pair]
        last = {}
        for entry in about:
            last[entry.who] = entry.body["word"]
        said = {(who, word) for who, word in last.items() if word != "unknown"}
        if {word for _, word in said} == {"same", "different"}:
            found.append((pair, said))
    return found


def row_hash(row):
    """Hash one row of floats by whole numbers of Python."""
    import struct

    whole = 2**64
    golden = 0x9E3779B97F4A7C15

    def mixed(bits):
        bits = ((bits ^ (bits >> 30)) * 0xBF58476D1CE4E5B9) % whole
        bits = ((bits ^ (bits >> 27)) * 0x94D049BB133111EB) % whole
        return bits ^ (bits >> 31)

    found = len(row)
    for j, value in enumerate(row):
        value = float(value)
        if value != value:
            bits = 0x7FF8000000000000
        elif value == 0:
            bits = 0
        else:
            (bits,) = struct.unpack("<Q", struct.pack("<d", value))
        found = mixed(found ^ ((bits + mixed(((j + 1) * golden) % whole)) % whole))
    return found


def places_by_numbers(before, now):
    """Where rows without ids are now: the k-th of equal ones is the k-th; None for those gone."""
    taken = set()
    found = []
    for row in before:
        same = [
            i for i, other in enumerate(now) if i not in taken and row_hash(other) == row_hash(row)
        ]
        found.append(same[0] if same else None)
        taken |= {same[0]} if same else set()
    return found
