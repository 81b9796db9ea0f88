"""What `linkshift explain` does: load, explain, draw, tell."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from linkshift.cli import _write
from linkshift.cli._console import Console, InputError
from linkshift.cli._models import SavedModel, read_model, set_threads
from linkshift.cli._scale import Scaling

if TYPE_CHECKING:
    from linkshift.explain.explanation import Explanation


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

    X, labels = saved.training, saved.model.labels_
    if X.shape[1] > 2:
        # As the method saw them: in their own units, one column may be all there is to see.
        cms = saved.about["method"] == "cms"
        scaling = Scaling.of(X, "minmax") if cms else saved.scaling
        X, explanation = scaling.apply(X), _moved(explanation, scaling.apply)
    return plot.explanation(explanation, X, labels=labels).figure


def _in_units_of_the_data(saved: SavedModel, explanation: Explanation) -> Explanation:
    """Undo the scaling where positions are in the space of the columns."""
    return _moved(explanation, saved.scaling.undo)


def _moved(explanation: Explanation, move: Callable[[Any], Any]) -> Explanation:
    if explanation.space != "input" or explanation.path is None:
        return explanation
    mode = None if explanation.mode is None else move(explanation.mode)
    return replace(explanation, path=move(explanation.path), mode=mode)
