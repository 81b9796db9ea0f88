"""`linkshift cluster`: read, link, scale, cluster, write, tell."""

from __future__ import annotations

import shlex
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

import linkshift
from linkshift._core.text import counted
from linkshift.cli import options as opt
from linkshift.cli.out_of_core import cluster_in_parts, why_in_parts
from linkshift.cli.talking import Console, InputError, kept_links, passed_on, shown_sizes
from linkshift.cli.writing import targets
from linkshift.methods import METHODS, Choice, check_params
from linkshift.methods._checks import SPACES, STARTS
from linkshift.methods.table import CONFLICTS, DISTANCES, check_takes_weights

if TYPE_CHECKING:
    from linkshift.cli.reading.problem import Problem, Source
    from linkshift.cli.writing.results import Result
    from linkshift.tables.scaling import Scaling

AUTO = "auto"
_HELP = {
    "clusters": "How many clusters there are, if you know it; kmeans and groups have to know.",
    "max_clusters": "How many clusters there are at most.",
    "method": "auto: picks one from what is given, and says which and why; "
    + "; ".join(f"{method.name}: {method.help}" for method in METHODS.values()),
    "bandwidth": "How far the kernel sees: larger gives fewer clusters. links: the one that the "
    "links support best. Default: from the data.",
    "kernel": f"{', '.join(opt.KERNELS)}. Default: flat.",
    "neighbours": "A bandwidth for each row: the distance to its K-th neighbour; with consensus, "
    "the neighbours that a row is joined to.",
    "conflicts": "What becomes of links that contradict each other. resolve: the least probable "
    "are set aside, and told; refuse: links are taken as they are, and most methods stop.",
    "space": "Where --method mean-shift moves rows: among the columns (input), in a Gaussian "
    "kernel's space (kernel), or in the graph of neighbours (graph); these suit many columns "
    "and up to some thousand rows. Default: input.",
    "metric": "cosine goes by the directions of rows, not by their lengths, and suits embeddings "
    "and counts; not for the methods metric and groups. Default: euclidean.",
    "init": "First centres of kmeans: drawn at random, drawn far apart (k-means++), or one by one "
    "where they leave the least squared distances (greedy). Default: k-means++.",
    "held_out": "Cut links into N parts and cluster once more without each: how well these links "
    "hold says what those that are used cannot. 0 does without. Default: 5 with --report and ten "
    "links or more, else 0.",
    "view": "A view for --method groups; one option for each. COLUMNS are names, ranges first:last "
    "and patterns such as 'fou_*', with commas between; * alone is all that no other view has. "
    "Each column is in one view. Default: the matrices of an npz file that holds several.",
    "max_iter": "Largest number of steps. Default: 300; 80 for cms, 500 for kernel and skms, 20 "
    "for groups.",
    "labels_like": "Labels of an earlier run, as -o writes them: clusters keep the numbers that "
    "they had there, by the rows in common (by id with --id-column), and new ones get new numbers.",
    "show": "Column that says what rows are, for --report: text, or paths of images.",
    "plot": "Draw the clusters, for groups with the importances of views: .png, .svg or .pdf.",
    "report": "Write a page with all there is to see; it needs no network.",
    "save": "Keep the model, for linkshift predict and linkshift explain.",
    "out_of_core": "Whether to read the table in parts, for tables larger than memory: mean shift "
    "on landmarks, labels to a .parquet file. Default: where its numbers take more than an eighth "
    "of LINKSHIFT_MEMORY_GB.",
    "resume": "Go on with a run out of core that was interrupted.",
}
_SHOWN_CLUSTERS = 12
_PARTS, _ENOUGH_LINKS = 5, 10  # held out for a report
_SHOWN_LINKS = 10  # set aside, of a kind


def cluster(
    ctx: typer.Context,
    data: opt.Data,
    links: opt.LinksFile = None,
    apart_within: opt.ApartWithin = None,
    together_within: opt.TogetherWithin = None,
    columns: opt.Columns = None,
    id_column: opt.IdColumn = None,
    labels_column: opt.LabelsColumn = None,
    weights: opt.Weights = None,
    header: opt.Header = None,
    scale: opt.Scale = "auto",
    prepare: opt.Prepare = False,
    pca: opt.Pca = None,
    method: Annotated[str, opt.word((AUTO, *METHODS), f"{_HELP['method']}.", "NAME")] = AUTO,
    bandwidth: Annotated[str | None, opt.value("NUMBER|links", _HELP["bandwidth"])] = None,
    kernel: Annotated[str | None, opt.word(opt.KERNELS, _HELP["kernel"], "NAME")] = None,
    n_neighbors: Annotated[int | None, opt.value("K", _HELP["neighbours"], min=1)] = None,
    space: Annotated[str | None, opt.word(SPACES, _HELP["space"])] = None,
    metric: Annotated[str | None, opt.word(DISTANCES, _HELP["metric"])] = None,
    clusters: Annotated[int | None, opt.value("K", _HELP["clusters"], min=1)] = None,
    max_clusters: Annotated[int | None, opt.value("K", _HELP["max_clusters"], min=1)] = None,
    init: Annotated[str | None, opt.word(STARTS, _HELP["init"])] = None,
    conflicts: Annotated[str, opt.word(CONFLICTS, _HELP["conflicts"])] = CONFLICTS[0],
    held_out: Annotated[int | None, opt.value("N", _HELP["held_out"], min=0)] = None,
    labels_like: Annotated[Path | None, opt.value("FILE", _HELP["labels_like"])] = None,
    view: Annotated[list[str] | None, opt.value("NAME=COLUMNS", _HELP["view"])] = None,
    max_iter: Annotated[int | None, opt.value("N", _HELP["max_iter"], min=1)] = None,
    seed: Annotated[int, opt.seed] = 0,
    threads: opt.Threads = None,
    output: opt.LabelsOutput = None,
    plot: Annotated[Path | None, opt.value("PNG", _HELP["plot"])] = None,
    report: Annotated[Path | None, opt.value("HTML", _HELP["report"])] = None,
    show: Annotated[str | None, opt.value("COLUMN", _HELP["show"])] = None,
    save: Annotated[Path | None, opt.value("NPZ", _HELP["save"])] = None,
    out_of_core: Annotated[
        bool | None, typer.Option("--out-of-core/--in-memory", help=_HELP["out_of_core"])
    ] = None,
    resume: Annotated[bool, typer.Option("--resume", help=_HELP["resume"])] = False,
    json: opt.Json = False,
    quiet: opt.Quiet = False,
) -> None:
    """Cluster the rows of a table.

    Labels go to stdout or to OUT; what was done is told on stderr.
    """
    console = Console(quiet)
    h = bandwidth_option(bandwidth)
    if why := why_in_parts(data, out_of_core):
        cluster_in_parts(ctx, why, h, console)
        return
    if resume:
        raise InputError("--resume is for tables that are read in parts. Add --out-of-core.")
    given = {"bandwidth": h, "kernel": kernel, "n_neighbors": n_neighbors, "space": space}
    given |= {"metric": metric, "n_clusters": clusters, "max_clusters": max_clusters}
    given |= {"max_iter": max_iter, "init": init}
    params = {name: value for name, value in given.items() if value is not None}
    check_params(method, params | ({"views": view} if view else {}))
    if weights is not None and method != AUTO:  # whose choice is told when it is made
        check_takes_weights(method, method, params)
    if report is None:
        opt.refuse("is for the page of --report. Give both, or leave it out.", show=show)
    written = {"output": output, "plot": plot, "report": report, "save": save}
    targets.check_targets([data, links, labels_like], targets.LABEL_SUFFIXES, **written)
    from linkshift.cli.reading.labels import read_labels_like
    from linkshift.cli.reading.problem import Source

    asked = (prepare, pca, opt.asked_for(ctx, "scale"))
    grouped = tuple(apart_within or ()), tuple(together_within or ())
    read = (id_column, labels_column, header, *asked, *grouped, show, weights)
    source = Source(data, links, columns, *read)
    problem = _read(source, console, method, view or [], n_neighbors)
    result = _cluster(
        source,
        problem,
        console,
        scale if problem.recipe is None else "none",  # the recipe has scaled them
        method,
        conflicts=conflicts,
        held_out=_parts(held_out, problem, report),
        labels_like=None
        if labels_like is None
        else read_labels_like(labels_like, problem, id_column, console),
        sample_weight=problem.weights,
        random_state=seed,
        n_jobs=threads,
        **params,
    )
    _write(ctx, result, console, **written)
    _summarise(result, console)
    console.finish(result.found.seconds, *written.values())
    # Last: a reader that closes the pipe early, such as head, costs no file and no summary.
    _print(result, json=json, labels=output is None)


def _read(
    source: Source, console: Console, method: str, view: list[str], n_neighbors: int | None
) -> Problem:
    """Read what is to be clustered, and refuse what does not fit its rows or views."""
    from linkshift.cli.reading.problem import read_problem

    takes_views: bool | None = method != AUTO and METHODS[method].takes_views
    if method == AUTO:  # else the data decide
        takes_views = True if view else None
    problem = read_problem(source, console, views=tuple(view), takes_views=takes_views)
    if method == AUTO and problem.views is not None and len(problem.views) == 1:
        raise InputError(
            "One view leaves nothing to choose among. Leave --view out (--columns takes some of "
            "the columns), or use --method groups."
        )
    # The library takes as many neighbours as there are.
    if n_neighbors is not None and n_neighbors >= (n_rows := len(problem.X)):
        raise InputError(
            f"--n-neighbors is {n_neighbors}, but each row has only "
            f"{counted(n_rows - 1, 'other')}; take fewer."
        )
    return problem


def _write(
    ctx: typer.Context,
    result: Result,
    console: Console,
    output: Path | None,
    plot: Path | None,
    report: Path | None,
    save: Path | None,
) -> None:
    """Write the files that are asked for."""
    from linkshift.cli.reading.models import write_model
    from linkshift.cli.writing import results
    from linkshift.cli.writing.tables import write_labels

    if output is not None:
        write_labels(output, result.found.labels, result.problem.ids, result.source.id_column)
    if save is not None:
        write_model(save, result.found, results.notes(result))
    if plot is not None:
        results.draw(plot, result)
    if report is not None:
        words = opt.cluster_command(ctx, always=("method", "seed"))
        targets.write_text(report, results.page(result, words, console, report))


def _print(result: Result, *, json: bool, labels: bool) -> None:
    """Print what there is to tell as JSON, or labels where no file has them."""
    from linkshift.cli.writing import results
    from linkshift.cli.writing.tables import labels_text

    if json:
        targets.print_json(results.as_dict(result))
    elif labels:
        problem, source = result.problem, result.source
        targets.print_text(labels_text(result.found.labels, problem.ids, source.id_column))


def bandwidth_option(text: str | None) -> float | str | None:
    """Read the value of --bandwidth."""
    if text is None or text == "links":
        return text
    try:
        number = float(text)
    except ValueError:
        raise InputError(f"--bandwidth takes a number or the word links, not {text!r}.") from None
    if not 0 < number < float("inf"):
        raise InputError(
            f"--bandwidth must be more than 0 and finite, and it is {number:g}. "
            "Leave it out to take it from the data."
        )
    return number


def _cluster(
    source: Source, problem: Problem, console: Console, scale: str, method: Any, **asked: Any
) -> Result:
    from linkshift.cli.reading.links import with_ids
    from linkshift.cli.reading.problem import count_conflicts
    from linkshift.cli.reading.views import by_view
    from linkshift.cli.writing.results import Result
    from linkshift.cli.writing.tables import cluster_sizes
    from linkshift.links import ConflictError

    with console.warnings():
        scaling = _scaling(problem, scale, asked)
    chosen, n_conflicts = METHODS.get(method), 0

    def on_choice(choice: Choice) -> None:
        nonlocal chosen, n_conflicts
        chosen = METHODS[choice.method]
        if method == AUTO:
            console.say(f"Method: {choice.method}, {choice.why}.")
        # Other methods refuse contradictions themselves.
        if asked["conflicts"] == "refuse" and chosen.conflicts == "weighed":
            n_conflicts = count_conflicts(source, problem, console)
        angular = asked.get("metric") == "cosine"
        console.say(_scale_note(scaling, problem, choice.method, angular=angular))

    with console.warnings(), console.progress("Clustering") as progress, passed_on():
        try:
            found = linkshift.cluster(
                by_view(scaling.apply(problem.X), problem.names, problem.views),
                problem.file_links,
                partial_labels=problem.labels,
                method=method,
                scale="none",
                progress=progress,
                on_choice=on_choice,
                **asked,
            )
        except ConflictError as error:
            softened = chosen is not None and chosen.conflicts == "softened"
            raise InputError(_contradiction(source, problem, softened)) from error
    console.say(found.done)
    for kind, pairs in (("must", found.set_aside.must), ("cannot", found.set_aside.cannot)):
        for pair in pairs[:_SHOWN_LINKS].tolist():
            ends = ", ".join(map(repr, with_ids(pair, problem.ids)))
            console.say(f"Set aside: {kind}-link ({ends}).")
    sizes = cluster_sizes(found.labels)
    found = replace(found, **_known(problem, scaling))
    return Result(source, problem, scaling, found, n_conflicts, asked, *sizes)


def _known(problem: Problem, scaling: Scaling) -> dict[str, Any]:
    """Say what the command has done to the columns, as what is found knows it."""
    from linkshift.tables.scaling import Scaling

    names = problem.names
    if problem.views is None:
        return {"columns": names, "scalings": (scaling,), "recipe": problem.recipe}
    place = {name: column for column, name in enumerate(names)}
    parts = [[place[name] for name in view] for view in problem.views.values()]
    return {
        "columns": tuple(name for view in problem.views.values() for name in view),
        "views": problem.views,
        "scalings": tuple(
            Scaling(scaling.kind, scaling.shift[j], scaling.spread[j]) for j in parts
        ),
    }


def _contradiction(source: Source, problem: Problem, softened: bool) -> str:
    """Tell the first contradiction in the user's own names, and what to do."""
    from linkshift.cli.reading.links import named_conflict
    from linkshift.links import ClosedLinks

    assert problem.links is not None
    certain = ClosedLinks(problem.links, len(problem.X)).certain  # some methods refuse only these
    conflicts = certain.conflicts() or problem.links.conflicts()
    first = named_conflict(conflicts[0], problem.ids)
    softer = ", give them confidences below 1" if softened else ""
    which, check = "labels" if source.labels_column is not None else "columns", ""
    if source.links is not None:
        file = shlex.quote(str(source.links))
        which, check = "links", f" (linkshift links check {file} shows all)"
    return (
        f"the {which} contradict each other in {counted(len(conflicts), 'place')}, first: {first}. "
        f"Correct them{check}{softer}, or let --conflicts resolve set the least probable aside."
    )


def _parts(held_out: int | None, problem: Problem, report: Path | None) -> int:
    """How many parts links are cut into to hold each out once."""
    if held_out is None:
        given = problem.file_links
        n_links = 0 if given is None else len(given.must) + len(given.cannot)
        return _PARTS if report is not None and n_links >= _ENOUGH_LINKS else 0
    if held_out == 1:
        raise InputError("--held-out takes 0 or at least 2 parts. Take 5.")
    return held_out


def _scaling(problem: Problem, scale: str, asked: dict[str, Any]) -> Scaling:
    """Find the scaling; that of each view by itself."""
    from linkshift.methods.clustering import scale_for
    from linkshift.tables.scaling import Scaling

    scale = scale_for(scale, asked, made=problem.recipe is not None)
    if problem.views is None:
        return Scaling.of(problem.X, scale, problem.names, weight=problem.weights)
    return Scaling.of_views(problem.X, scale, problem.names, problem.views)


def _scale_note(scaling: Scaling, problem: Problem, method: str, *, angular: bool) -> str:
    """Say how columns are scaled, and when they are not but should be."""
    from linkshift.cli.reading.columns import scale_note

    if problem.recipe is not None:
        return f"Scale: {problem.recipe.scale}, as prepared."
    views = problem.views or {"": problem.names}
    note = scale_note(scaling, problem.X, problem.names, list(views.values()))
    if angular:
        return f"{note[:-1]}; then each row is divided by its length."
    if scaling.kind != "none" and "bandwidth" in METHODS[method].uses:
        return f"{note[:-1]}; the bandwidth is in that unit."
    return note


def _summarise(result: Result, console: Console) -> None:
    """Tell on stderr what came out."""
    found = result.found
    console.say(f"{shown_sizes(result.sizes, 'cluster', result.n_noise)}.{_advice(result)}")
    if result.view_names is not None:
        importances = found.view_importances
        assert importances is not None
        names = result.view_names
        rows = [
            (str(result.clusters[c]), f"{result.sizes[c]:,}", names[v], f"{importances[c, v]:.2f}")
            for c, v in enumerate(importances.argmax(axis=1))
        ]
        console.table(("cluster", "size", "top view", "importance"), rows[:_SHOWN_CLUSTERS])
        if len(rows) > _SHOWN_CLUSTERS:
            console.say(f"{counted(len(rows) - _SHOWN_CLUSTERS, 'more cluster')}: see --json.")
    if result.problem.links is not None:
        links, advice = found.link_report, ""
        weighed = METHODS[found.method].conflicts == "weighed" and not result.n_conflicts
        if weighed and links.cannot_kept < links.n_cannot:
            advice = " It weighs links against neighbours; --method cms keeps all that are certain."
        console.say(f"{kept_links(links)}{advice}")
        if links.held_out is not None:
            console.say(f"{str(links.held_out).capitalize()}.")


def _advice(result: Result) -> str:
    """Say what to turn when the result is of no use."""
    taken, by_neighbours = METHODS[result.found.method].uses, "n_neighbors" in result.asked
    knob = "--bandwidth" if "bandwidth" in taken and not by_neighbours else "--n-neighbors"
    sizes = result.sizes
    rows = result.found.model._fit_X
    if len(sizes) == 1 and sizes[0] > 1 and (rows == rows[0]).all():
        return " All rows are equal."
    if not taken & {"bandwidth", "n_neighbors"}:
        return ""
    if len(sizes) == 1 and sizes[0] > 1:
        return f" For more clusters, take a smaller {knob}."
    if len(sizes) > 2 and len(sizes) > sum(sizes) / 2:
        return f" For fewer clusters, take a larger {knob}."
    return ""
