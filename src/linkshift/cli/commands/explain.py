"""`linkshift explain`: load a saved model, explain a row, draw, tell."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from linkshift.cli import options as opt
from linkshift.cli.talking import Console, InputError, passed_on
from linkshift.cli.writing import targets

if TYPE_CHECKING:
    from linkshift.cli.reading.models import SavedModel

_HELP = {
    "row": "Number of a row, from 0; its id where rows have ids.",
    "what_if": "Leave out up to so many links, one at a time, and say where the row would go.",
    "plot": "Draw its path and its links: .png, .svg or .pdf.",
}


def explain(
    model: opt.Model,
    row: Annotated[str, opt.argument("ROW", _HELP["row"])],
    counterfactuals: Annotated[int, opt.value("N", _HELP["what_if"], min=0)] = 5,
    threads: opt.Threads = None,
    plot: Annotated[Path | None, opt.value("PNG", _HELP["plot"])] = None,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Say why a row is in its cluster: its path, its mode, its links, and what if.

    The row is one of those that the model was made from. The answer goes to stdout.
    """
    targets.check_targets([model], plot=plot)
    from linkshift.cli.reading.models import read_model, set_threads
    from linkshift.cli.writing.figures import write_figure

    console = Console(quiet)
    saved = read_model(model)
    method = saved.about["method"]
    if not hasattr(saved.model, "explain"):
        instead = "Cluster with another method to have rows explained, such as --method consensus."
        if method == "groups":
            instead = (
                "Its view importances say what each cluster goes by: "
                "linkshift cluster --method groups --json."
            )
        raise InputError(
            f"{model} was made by --method {method}, in which nothing moves: there is no path to "
            f"tell of. {instead}"
        )
    index = saved.row(row)
    set_threads(saved.model, threads)
    with console.warnings(), console.progress("Leaving out links") as progress, passed_on():
        explanation = saved.model.explain(
            index, max_counterfactuals=counterfactuals, ids=saved.about["ids"], progress=progress
        )
    if not saved.model._is_cosine():  # rows of length one have no units
        explanation = explanation.moved(saved.scaling.undo)
    explanation = explanation.renumbered(saved.numbers)
    if plot is not None:
        write_figure(plot, _draw(saved, explanation))
        console.finish(None, plot)
    if json:
        about = {"model": str(model), "method": method, "versions": targets.versions()}
        targets.print_json({**about, **explanation.to_dict()})
    else:
        targets.print_text(f"{explanation}\n")


def _draw(saved: SavedModel, explanation: Any) -> Any:
    """Draw it among the rows that the model was made from, in the units of the data."""
    from linkshift import plot

    X, labels = saved.model._fit_X, saved.numbered(saved.model.labels_)
    if saved.model._is_cosine():
        return plot.explanation(explanation, X, labels=labels).figure
    X = saved.scaling.undo(X)
    if X.shape[1] > 2:
        # As the method saw them: in their own units, one column may be all there is to see.
        X, explanation = saved.scaling.apply(X), explanation.moved(saved.scaling.apply)
    return plot.explanation(explanation, X, labels=labels).figure
