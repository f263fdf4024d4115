"""Commands on tables: learn a graph, look at one score, make one test."""

import warnings
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer

import kerncause
from kerncause.baselines import BASELINES
from kerncause.cli.app import app, examples
from kerncause.cli.log import STANDARD_ERROR, logged
from kerncause.cli.options import (
    DataPath,
    DecimalOption,
    DegreeOption,
    DropOption,
    EngineOption,
    ForbidOption,
    GroupOption,
    KindOption,
    KnowledgeOption,
    LevelsOption,
    MissingOption,
    NaOption,
    PresetOption,
    RequireOption,
    ResultPath,
    ScoreOption,
    SepOption,
    SetOption,
    TableOption,
    TierOption,
    ToleranceOption,
    cells,
    given,
    known_from,
    number_or_word,
    read,
    refuse_twice,
    refuse_with_dask,
    settings,
    span,
)
from kerncause.cli.progress import EXPLAINING
from kerncause.cli.screen import INTERRUPTED, Screen, errors
from kerncause.errors import DataWarning
from kerncause.independence import TESTS, make_test
from kerncause.memory import memory_bytes
from kerncause.parallel import connected
from kerncause.plan import DEFAULT_SCORE, Plan
from kerncause.presets import Extent
from kerncause.result import Result
from kerncause.saved import load_result
from kerncause.scores import Comparison, Ledger, make_score
from kerncause.search import SEARCHES
from kerncause.watch import Status


@app.command(
    epilog=examples(
        "kerncause discover data.csv --out result",
        "kerncause discover data.csv --kind zip=categorical --drop id",
        "kerncause discover trial.csv --levels dose=low,avg,high --missing drop",
        "kerncause discover sensors.csv --group position=x,y,z --max-parents 3",
        "kerncause discover data.csv --tier age,sex --tier smoking --tier cancer --forbid 'sex>age'",
        "kerncause discover data.csv --search pc --test kci --alpha 0.01",
        "kerncause discover data.csv --method notears --set threshold=0.2",
        "kerncause discover data.csv --out result --dask tcp://HOST:8786",
    )
)
def discover(
    data: DataPath,
    kind: KindOption = None,
    group: GroupOption = None,
    levels: LevelsOption = None,
    drop: DropOption = None,
    missing: MissingOption = "error",
    na: NaOption = None,
    sep: SepOption = None,
    decimal: DecimalOption = ".",
    score: ScoreOption = None,
    search: Annotated[
        str | None,
        typer.Option(metavar="NAME", help=f"The search: {', '.join(SEARCHES)}. Default: what suits the table."),
    ] = None,
    preset: PresetOption = None,
    engine: EngineOption = None,
    tolerance: ToleranceOption = None,
    expected_degree: DegreeOption = None,
    max_parents: Annotated[
        int | None,
        typer.Option("--max-parents", metavar="K", help="By a score: no variable gets more parents."),
    ] = None,
    turning: Annotated[bool, typer.Option("--turning", help="GES: try turning edges at the end.")] = False,
    restarts: Annotated[
        int | None, typer.Option(metavar="K", help="BOSS: random orders to begin from, after the first. Default: 2.")
    ] = None,
    lookahead: Annotated[
        int | None,
        typer.Option(
            metavar="K",
            help="BOSS: parents added at once where fewer do not gain; exact with --prune: sets of up to so many are "
            "never skipped. Default: 1, or what the preset takes.",
        ),
    ] = None,
    both_ways: Annotated[
        bool, typer.Option("--both-ways", help="BOSS: choose parents by removing them from all, too.")
    ] = False,
    candidates: Annotated[
        str | None,
        typer.Option(
            metavar="K",
            help="GES, BOSS: try edges with K others of each variable, found by a quick look, or all. "
            "Default: all up to 30 variables, 10 above.",
        ),
    ] = None,
    prune: Annotated[
        float | None,
        typer.Option(
            metavar="NATS",
            help="exact: skip parent sets whose subsets all lost more. Default: score all.",
        ),
    ] = None,
    knowledge: KnowledgeOption = None,
    tier: TierOption = None,
    require: RequireOption = None,
    forbid: ForbidOption = None,
    test: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"PC: the test, {', '.join(TESTS)}. Default: kci.")
    ] = None,
    alpha: Annotated[
        float | None, typer.Option(metavar="A", help="PC: a pair is parted above this p-value. Default: 0.05.")
    ] = None,
    max_given: Annotated[
        int | None, typer.Option("--max-given", metavar="K", help="PC: condition on no more variables than this.")
    ] = None,
    method: Annotated[
        str | None, typer.Option(metavar="NAME", help=f"Another method instead of a search: {', '.join(BASELINES)}.")
    ] = None,
    timeout: Annotated[
        float | None, typer.Option(metavar="SECONDS", help="Stop such a method after this long. Default: 3600.")
    ] = None,
    setting: SetOption = None,
    confidence: Annotated[
        int | None,
        typer.Option(metavar="B", help="Learn B more graphs from random halves of the rows, and count their edges."),
    ] = None,
    confidence_rows: Annotated[
        str,
        typer.Option(metavar="HOW", help="Which rows those have: half, or bootstrap (its ties fool kernel scores)."),
    ] = "half",
    resume: Annotated[
        bool, typer.Option("--resume", help="With --out: go on with what a run that was stopped left there.")
    ] = False,
    cache: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Keep local scores in this file; runs may share it. Default: in --out."),
    ] = None,
    time_budget: Annotated[
        str | None,
        typer.Option("--time-budget", metavar="TIME", help="Stop after 90s, 10m or 2h with the best graph so far."),
    ] = None,
    memory_limit: Annotated[
        str | None,
        typer.Option("--memory-limit", metavar="SIZE", help="Take no more than 500M or 4G in all: with fewer workers."),
    ] = None,
    workers: Annotated[
        int | None, typer.Option("--workers", metavar="N", help="Processes to use. Default: one per core.")
    ] = None,
    dask: Annotated[
        str | None,
        typer.Option(
            "--dask", metavar="tcp://HOST:8786", help="The scheduler of a Dask cluster to compute on instead."
        ),
    ] = None,
    seed: Annotated[
        int, typer.Option("--seed", metavar="S", help="Recorded with the result; used by methods that draw.")
    ] = 0,
    out: Annotated[
        Path | None,
        typer.Option("--out", metavar="DIR", help="Write report.html, graph.json, graph.dot and trace.jsonl here."),
    ] = None,
    no_report: Annotated[bool, typer.Option("--no-report", help="With --out: write no report.html.")] = False,
    log_json: Annotated[
        Path | None,
        typer.Option("--log-json", metavar="FILE", help="Append what happens, one JSON object a line; -: to stderr."),
    ] = None,
    quiet: Annotated[bool, typer.Option("--quiet", "-q", help="Print nothing but errors.")] = False,
) -> None:
    """Learn a causal graph from a table.

    Prints how each column was read, then the edges with their gain: what the score loses without the edge, in nats.

    An arrow is a direction that the data decide; a line can go either way, and its gain is that of left causing right.
    """
    screen = Screen(quiet)
    with errors(), logged(log_json) as log, ExitStack() as opened:
        seconds = None if time_budget is None else span("--time-budget", time_budget).total_seconds()
        asked = given(
            max_parents=max_parents,
            turning=turning or None,
            restarts=restarts,
            lookahead=lookahead,
            both_ways=both_ways or None,
            candidates=candidates if candidates is None else number_or_word(candidates),
            prune=prune,
            alpha=alpha,
            max_given=max_given,
        )
        known = known_from(knowledge, tier, require, forbid)
        kernel = given(engine=engine, tolerance=tolerance, expected_degree=expected_degree)
        named = settings(setting)
        refuse_twice(kernel, named)
        by = Plan.of(score, search, preset, workers, method, test, asked, timeout=timeout, knowledge=known).by
        options: dict[str, Any] = {f"{by}_options": {**kernel, **named} if by == "score" else named}
        if by != "score" and kernel:
            options["score_options"] = kernel  # to be refused, not ignored
        plan = Plan.of(score, search, preset, workers, method, test, asked, timeout=timeout, knowledge=known, **options)
        if dask is not None:
            refuse_with_dask(workers=workers, method=method)
        executor = None if dask is None else opened.enter_context(connected(dask))
        if out is not None:
            Result.check_writable(out)  # say so now, not after an hour
        memory_bytes(memory_limit)
        table = read(data, sep, decimal, kind, group, levels, drop, missing, na)
        plan = plan.for_table(Extent.of(table))
        notices = table.notices_for(plan.options)
        screen.table(table, notices)
        screen.plan(plan)
        if candidates is None:
            screen.candidates(plan.search_options.get("candidates"))
        log.started(table, notices, plan.settings(seed, workers, executor))
        watchers, silent = [] if log_json is None else [log.watch], log_json == STANDARD_ERROR
        with (
            screen.progress(*watchers, silent=silent) as watch,
            screen.stopping(by == "score") as interrupted,
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore", DataWarning)  # shown above
            warnings.showwarning = screen.warned
            log.hear_warnings()
            result = kerncause.discover(
                table,
                score,
                search,
                preset,
                seed,
                workers,
                method=method,
                test=test,
                executor=executor,
                timeout=timeout,
                knowledge=known,
                cache=cache,
                confidence=confidence,
                confidence_rows=confidence_rows,
                directory=out,
                resume=resume,
                time_budget=seconds,
                memory_limit=memory_limit,
                stop=interrupted if by == "score" else None,
                watch=watch,
                **asked,
                **options,
            )
            if out is not None:
                if watch is not None:
                    watch(Status(EXPLAINING, 0, len(result.edge_list), result.scores_computed, result.seconds))
                result.save(out, report=not no_report)
        log.finished(result)
        screen.result(result, out, has_report=not no_report)
        if log.problem is not None:
            screen.complain(log.problem)
        if interrupted():
            raise typer.Exit(INTERRUPTED)


@app.command(
    epilog=examples(
        "kerncause score data.csv --target Y --parents A,B",
        """kerncause score data.csv --target Y --parents '"a, with a comma",B'""",
        "kerncause score data.csv --target Y --parents A --score cv --set folds=5",
    )
)
def score(
    data: DataPath,
    target: Annotated[str, typer.Option("--target", metavar="COL", help="The variable to explain.")],
    parents: Annotated[str, typer.Option("--parents", metavar="COL,COL", help="Its parents; none if left out.")] = "",
    kind: KindOption = None,
    group: GroupOption = None,
    levels: LevelsOption = None,
    drop: DropOption = None,
    missing: MissingOption = "error",
    na: NaOption = None,
    sep: SepOption = None,
    decimal: DecimalOption = ".",
    score: ScoreOption = None,
    preset: PresetOption = None,
    engine: EngineOption = None,
    tolerance: ToleranceOption = None,
    expected_degree: DegreeOption = None,
    setting: SetOption = None,
) -> None:
    """Score one variable with a set of parents: the value, the bandwidths, and what each parent gains."""
    with errors():
        name = DEFAULT_SCORE if score is None else score
        kernel = given(engine=engine, tolerance=tolerance, expected_degree=expected_degree)
        named = settings(setting)
        refuse_twice(kernel, named)
        plan = Plan.of(name, preset=preset, score_options={**kernel, **named})
        table = read(data, sep, decimal, kind, group, levels, drop, missing, na)
        ledger = Ledger(make_score(name, table, **plan.for_table(Extent.of(table)).options))
        names = frozenset(cells(parents))
        fit = ledger.fit(target, names)
        without = {parent: Comparison(target, names - {parent}, names) for parent in sorted(names)}
        ledger.prepare(without.values(), settled=True)
        gains = {parent: ledger.gain(comparison) for parent, comparison in without.items()}
        Screen(quiet=False).fit(target, fit, gains)


@app.command(
    epilog=examples(
        "kerncause discover data.csv --out result",
        "kerncause explain result smoking cancer",
    )
)
def explain(
    result: ResultPath,
    source: Annotated[str, typer.Argument(metavar="CAUSE", help="Where the edge begins.")],
    target: Annotated[str, typer.Argument(metavar="EFFECT", help="Where it ends.")],
    data: TableOption = None,
) -> None:
    """Say why an edge is in a result, or why it is not.

    What it gains, what turning it round would cost, its bandwidths, the share it explains, and the next best parents.
    """
    with errors():
        Screen(quiet=False).explanation(load_result(result, data).explain(source, target))


@app.command(
    "test",
    epilog=examples(
        "kerncause test data.csv --x A --y B",
        "kerncause test data.csv --x A --y B --given C,D --test fisher-z",
    ),
)
def independence(
    data: DataPath,
    x: Annotated[str, typer.Option("--x", metavar="COL", help="One variable.")],
    y: Annotated[str, typer.Option("--y", metavar="COL", help="The other.")],
    given_names: Annotated[
        str, typer.Option("--given", metavar="COL,COL", help="The variables to condition on; none if left out.")
    ] = "",
    kind: KindOption = None,
    group: GroupOption = None,
    levels: LevelsOption = None,
    drop: DropOption = None,
    missing: MissingOption = "error",
    na: NaOption = None,
    sep: SepOption = None,
    decimal: DecimalOption = ".",
    test: Annotated[str, typer.Option(metavar="NAME", help=f"The test: {', '.join(TESTS)}.")] = "kci",
    setting: SetOption = None,
) -> None:
    """Test whether two variables are independent given others: the p-value, and what it rests on."""
    with errors():
        Plan.of(search="pc", test=test)
        table = read(data, sep, decimal, kind, group, levels, drop, missing, na)
        found = make_test(test, table, **settings(setting)).test(x, y, cells(given_names))
        Screen(quiet=False).test(x, y, cells(given_names), found)
