"""The directive ``command-line``: every command and option, as the program itself tells them."""

from collections.abc import Iterator
from typing import Any

import typer
from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command

from linkshift.cli.app import app as commands


def walk(command: Any, path: str, parent: Any = None) -> Iterator[tuple[str, Any, Any]]:
    """Give (path, command, context) of a command and of all below it."""
    context = typer.Context(
        command, info_name=path.split()[-1], parent=parent, **command.context_settings
    )
    yield path, command, context
    for name in getattr(command, "commands", {}):
        yield from walk(command.commands[name], f"{path} {name}", context)


def definitions(title: str, records: list[tuple[str, str]]) -> list[nodes.Node]:
    """Give a heading and a list of names and their meanings; nothing without records."""
    if not records:
        return []
    found = nodes.definition_list(classes=["simple"])
    for name, words in records:
        term = nodes.term("", "", nodes.literal(text=name))
        meaning = nodes.definition("", nodes.paragraph(text=" ".join(words.split())))
        found += nodes.definition_list_item("", term, meaning)
    return [nodes.rubric(text=title), found]


def describe(path: str, command: Any, context: Any) -> Iterator[nodes.Node]:
    """Give what ``--help`` says of one command."""
    usage = " ".join([path, *command.collect_usage_pieces(context)])
    yield nodes.literal_block(usage, usage, language="text")
    for paragraph in (command.help or "").split("\n\n"):
        yield nodes.paragraph(text=" ".join(paragraph.split()))
    parameters = command.get_params(context)
    for title, kind in (("Arguments", "argument"), ("Options", "option")):
        those = [each for each in parameters if each.param_type_name == kind]
        records = [each.get_help_record(context) for each in those]
        yield from definitions(title, [record for record in records if record])
    below = getattr(command, "commands", {})
    summaries = [(f"{path} {name}", each.get_short_help_str(200)) for name, each in below.items()]
    yield from definitions("Commands", summaries)


class CommandLine(SphinxDirective):
    """All commands, a section for each."""

    def run(self) -> list[nodes.Node]:
        """Ask the program."""
        found = []
        for path, command, context in walk(get_command(commands), "linkshift"):
            section = nodes.section(ids=[path.replace(" ", "-")], names=[path])
            section += nodes.title(text=path)
            section += list(describe(path, command, context))
            found.append(section)
        return found


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive."""
    app.add_directive("command-line", CommandLine)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
