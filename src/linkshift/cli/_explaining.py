"""What `linkshift explain` does: load, explain, draw, tell."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkshift.cli import _write
from linkshift.cli._console import Console, InputError
from linkshift.cli._models import SavedModel, read_model, set_threads

if TYPE_CHECKING:
    from linkshift.explanation import Explanation


@dataclass(frozen=True)
class Request:
    """What the user asked for."""

    model: Path
    row: str
    counterfactuals: int
    threads: int | None
    plot: Path | None
    json: bool
    quiet: bool


def run(request: Request) -> None:
    """Explain as requested."""
    console = Console(request.quiet)
    _write.check_targets({"--plot": (request.plot, _write.PICTURE_SUFFIXES)}, [request.model])
    saved = read_model(request.model)
    if not hasattr(saved.model, "explain"):
        raise InputError(
            f"{request.model} was made by --method {saved.about['method']}, in which nothing "
            "moves: there is no way to tell. Its view importances say what each cluster goes by: "
            "linkshift cluster --method groups --json."
        )
    row = saved.row(request.row)
    set_threads(saved.model, request.threads)
    with console.warnings(), console.progress("Leaving out links") as progress:
        explanation = saved.model.explain(
            row, max_counterfactuals=request.counterfactuals, ids=saved.ids, progress=progress
        )
    explanation = _in_units_of_the_data(saved, explanation)
    if request.plot is not None:
        _write.write_figure(request.plot, _draw(saved, explanation))
        console.say(f"Written: {request.plot}.")
    if request.json:
        _write.print_json(
            {
                "model": str(request.model),
                "method": saved.about["method"],
                "versions": _write.versions(),
                **explanation.to_dict(),
            }
        )
    else:
        _write.print_text(f"{explanation}\n")


def _draw(saved: SavedModel, explanation: Explanation) -> Any:
    """Draw it among the rows that the model was made from, in the units of the data."""
    from linkshift import plot

    return plot.explanation(explanation, saved.training, labels=saved.model.labels_).figure


def _in_units_of_the_data(saved: SavedModel, explanation: Explanation) -> Explanation:
    """Undo the scaling where positions are in the space of the columns."""
    if explanation.space != "input" or explanation.path is None:
        return explanation
    undo = saved.scaling.undo
    mode = None if explanation.mode is None else undo(explanation.mode)
    return replace(explanation, path=undo(explanation.path), mode=mode)
