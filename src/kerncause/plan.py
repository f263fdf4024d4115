"""What `discover` is to do, settled before any work is done: what does not exist or does not go together is refused."""

from collections.abc import Collection, Mapping
from concurrent.futures import Executor
from dataclasses import dataclass, field, replace
from typing import Any, Literal

from kerncause.baselines import find_baseline
from kerncause.errors import OptionError
from kerncause.independence import IndependenceTest, find_test
from kerncause.knowledge import Knowledge
from kerncause.parallel import worker_count
from kerncause.presets import PRESETS, Extent, Preset, Size, recommended
from kerncause.scores import LocalScore, find_score
from kerncause.screening import how_many
from kerncause.search import SEARCHES, Search, find_search
from kerncause.text import quoted

# Where the command line calls an argument otherwise.
OPTION_NAMES = {
    "score_options": "--engine, --tolerance, --expected-degree or --set",
    "test_options": "--set",
    "method_options": "--set",
}
DEFAULT_SCORE, DEFAULT_SEARCH, DEFAULT_TEST = "learned", "ges", "kci"
BY_SCORE = tuple(name for name, search in SEARCHES.items() if search.by == "score")
OF_METHODS = frozenset({"timeout", "method_options"})
# Options of a score that say how closely and by which means it is computed.
HOW_NOT_WHAT = frozenset({"engine", "tolerance", "memory"})
# With these alone, the rest is still left to the table.
LEFT_OPEN = HOW_NOT_WHAT | {"expected_degree"}


@dataclass(frozen=True, eq=False)
class Plan:
    """What is to be done: a search by a score or by a test, or a method of its own.

    Attributes:
        by: `score`, `test` or `method`.
        score: its name or the object.
        test: its name or the object.
        search: the name of the search.
        knowledge: what the result must obey.
        method: the name of the method.
        preset: the name of the preset.
        options: of the score, the test or the method.
        search_options: of the search, defaults filled in.
        timeout: of the method.
        sizes: which search to take, if that is left to the number of variables.
        asked: the options of the search that were asked for.
        asked_of_score: the options of the score that were asked for.
        is_open: whether nobody named a score, a search, a test or a preset, so that the table decides.
        is_recommended: whether it did.
        why: why these, if nobody asked for them.
    """

    by: Literal["score", "test", "method"]
    score: str | LocalScore | None = None
    test: str | IndependenceTest | None = None
    search: str | None = None
    knowledge: Knowledge = field(default_factory=Knowledge)
    method: str | None = None
    preset: str | None = None
    options: Mapping[str, Any] = field(default_factory=dict)
    search_options: Mapping[str, Any] = field(default_factory=dict)
    timeout: float | None = None
    sizes: tuple[Size, ...] = ()
    asked: Mapping[str, Any] = field(default_factory=dict)
    asked_of_score: Mapping[str, Any] = field(default_factory=dict)
    is_open: bool = False
    is_recommended: bool = False
    why: str | None = None

    @classmethod
    def of(
        cls,
        score: str | LocalScore | None = None,
        search: str | None = None,
        preset: str | None = None,
        workers: int | None = None,
        method: str | None = None,
        test: str | IndependenceTest | None = None,
        search_options: Mapping[str, Any] | None = None,
        score_options: Mapping[str, Any] | None = None,
        test_options: Mapping[str, Any] | None = None,
        method_options: Mapping[str, Any] | None = None,
        timeout: float | None = None,
        knowledge: Knowledge | Mapping[str, Any] | None = None,
    ) -> "Plan":
        """Refuse what cannot be done or does not go together, before any work is done."""
        worker_count(workers)
        if preset is not None and preset not in PRESETS:
            raise OptionError(f"there is no preset {quoted(preset)}: the choices are {', '.join(PRESETS)}")
        of_search = _given(search_options or {})
        how_many(of_search.get("candidates"), 0)  # refuse what is no number
        known = Knowledge.of(knowledge)
        asked = _given(
            {
                "score": score,
                "search": search,
                "preset": preset,
                "test": test,
                "timeout": timeout,
                "knowledge": known or None,
                "score_options": score_options or None,
                "test_options": test_options or None,
                "method_options": method_options or None,
                **of_search,
            }
        )
        if method is not None:
            options = find_baseline(method).settled(method_options or {})
            _refuse(asked, {"method_options", "timeout"}, f"method {method}")
            return cls("method", method=method, options=options, timeout=timeout)
        named = [name for name in ("score", "search", "preset", "test") if name in asked]
        if search is None and preset is None:
            _refuse_without_search(asked, is_open=not named)
        sizes = PRESETS[preset].sizes if preset is not None and search is None else ()
        search = _search_of(preset, search)
        if find_search(search).by == "test":
            return cls._by_test(search, test, test_options, of_search, asked, known)
        searches = {size.search for size in sizes} or ({search} if named else set(BY_SCORE))
        taken = {"search", "preset", "knowledge"}.union(*(_taken_by(SEARCHES[name]) for name in searches))
        _refuse(asked, taken, f"preset {preset}" if sizes else f"search {search}")
        plan = cls._by_score(score, search, preset, score_options, of_search)
        return replace(plan, knowledge=known, sizes=sizes, is_open=not named)

    @classmethod
    def _by_test(
        cls,
        search: str,
        test: str | IndependenceTest | None,
        test_options: Mapping[str, Any] | None,
        of_search: Mapping[str, Any],
        asked: Mapping[str, Any],
        known: Knowledge,
    ) -> "Plan":
        options = find_search(search).options
        _refuse(asked, {"search", "test", "test_options", "knowledge", *options}, f"search {search}")
        test = DEFAULT_TEST if test is None else test
        if isinstance(test, str):
            find_test(test)
        else:
            _refuse_options_of_object("test", test_options, None)
        return cls(
            "test",
            test=test,
            search=search,
            knowledge=known,
            options=test_options or {},
            search_options={**options, **of_search},
        )

    @classmethod
    def _by_score(
        cls,
        score: str | LocalScore | None,
        search: str,
        preset: str | None,
        score_options: Mapping[str, Any] | None,
        of_search: Mapping[str, Any],
    ) -> "Plan":
        score = DEFAULT_SCORE if score is None else score
        if isinstance(score, str):
            find_score(score)
            of_preset = None if preset is None else PRESETS[preset].score_name
            if of_preset not in (None, score):
                raise OptionError(f"preset {preset} means score {of_preset}, not {score}: leave out one of the two")
        else:
            _refuse_options_of_object("score", score_options, preset)
        chosen = _chosen(preset, dict(score_options or {}), dict(of_search))
        return cls(
            "score",
            score=score,
            search=search,
            preset=preset,
            options=chosen.score,
            search_options={**find_search(search).options, **chosen.search},
            asked=of_search,
            asked_of_score=dict(score_options or {}),
        )

    def for_table(self, table: Extent) -> "Plan":
        """Return the same with what follows from the size of the table and the kinds of its variables."""
        if self.is_open:
            return self._recommended(table).for_table(table)
        if self.sizes:
            return self._of_size(table.variables).for_table(table)
        if self.preset is None:
            return self._with_candidates(table)
        options = _chosen(self.preset, dict(self.asked_of_score), {}, table).score
        search_options = {**self.search_options, **self._of_same_search(table.variables), **self.asked}
        return replace(self, options=options, search_options=search_options)._with_candidates(table)

    def _of_same_search(self, count: int) -> Mapping[str, Any]:
        """Return what a preset adds to the search for so many variables, where that very search was named."""
        preset = PRESETS[str(self.preset)]
        size = preset.size_for(count) if preset.sizes else None
        return size.options if size is not None and size.search == self.search else {}

    def _with_candidates(self, table: Extent) -> "Plan":
        if "candidates" not in self.search_options:
            return self
        candidates = how_many(self.search_options["candidates"], table.variables) or self.search_options["candidates"]
        return replace(self, search_options={**self.search_options, "candidates": candidates})

    def _recommended(self, table: Extent) -> "Plan":
        """Return the same with the preset that is recommended for such a table, unless it was asked for something else.

        Then it is the default score and search, and `why` says so.
        """
        row = recommended(table)
        decided = replace(self, is_open=False, is_recommended=True)
        if row.preset is None:
            return decided._default(f"{table}: {row.why}")
        preset = PRESETS[row.preset]
        if what := sorted(set(self.asked_of_score) - LEFT_OPEN):
            return decided._default(f"{', '.join(what)} (--set), which the preset {row.preset} settles by itself")
        search = preset.size_for(table.variables).search
        if unused := sorted(set(self.asked) - find_search(search).options.keys()):
            called = ", ".join(map(_called, unused))
            return decided._default(f"{called}, which search {search} of the preset {row.preset} does not use")
        return replace(decided, preset=row.preset, sizes=preset.sizes, why=f"{table}: {row.why}")

    def _default(self, why: str) -> "Plan":
        """Return the same with the default search, if that takes what was asked for."""
        if not set(self.asked) <= find_search(DEFAULT_SEARCH).options.keys():
            raise _needs_search(self.asked)
        return replace(self, why=why)

    def _of_size(self, count: int) -> "Plan":
        """Return the same with the search that suits so many variables."""
        preset = PRESETS[str(self.preset)]
        size = preset.size_for(count)
        self._refuse_foreign(size.search)
        return replace(
            self,
            search=size.search,
            search_options={**find_search(size.search).options, **preset.search},
            sizes=(),
            why=f"{count} variables: {size.why}" if self.why is None else f"{self.why}; {size.why}",
        )

    def _refuse_foreign(self, search: str) -> None:
        """Refuse options that the search for the table does not take."""
        options = find_search(search).options
        for name in self.asked:
            if name not in options:
                others = [name_ for name_, other in SEARCHES.items() if other.by == "score" and name in other.options]
                same = "" if self.preset is None else f"--preset {self.preset} "
                raise OptionError(
                    f"search {search} is taken for a table of this size, which does not use "
                    f"{_called(name)}: leave it out, or ask for {same}--search {' or '.join(others)}"
                )

    def settings(self, seed: int, workers: int | None, executor: Executor | None) -> dict[str, Any]:
        """Return what is written down with a result."""
        crew = worker_count(workers) if executor is None else type(executor).__name__
        if self.by == "method":
            return {"method": self.method, "seed": seed, "timeout": self.timeout, "method_options": dict(self.options)}
        subject = self.score if self.by == "score" else self.test
        return {
            self.by: subject if isinstance(subject, str) else type(subject).__name__,
            "search": self.search,
            "preset": self.preset,
            "seed": seed,
            "workers": crew,
            "search_options": dict(self.search_options),
            **({} if self.why is None else {"search_because": self.why}),
            "knowledge": self.knowledge.as_json(),
        }


def _search_of(preset: str | None, search: str | None) -> str:
    """Return the search that was asked for, or that a preset means, or the default.

    Where a preset leaves it to the number of variables, any of its searches will do for now.
    """
    meant = None if preset is None else PRESETS[preset].search_name
    if preset is not None and search is None and PRESETS[preset].sizes:
        return PRESETS[preset].sizes[0].search
    by_score = search is not None and find_search(search).by == "score"
    if by_score and meant is not None and search != meant:
        raise OptionError(f"preset {preset} means search {meant}, not {search}: leave out one of the two")
    return search or meant or DEFAULT_SEARCH


def _refuse_without_search(asked: Collection[str], *, is_open: bool) -> None:
    """Refuse what only methods take, or searches that nobody named; any by a score may be meant where it is open."""
    names = set(asked) - {"score", "score_options", "knowledge"}
    possible = BY_SCORE if is_open else (DEFAULT_SEARCH,)
    if not any(names <= SEARCHES[name].options.keys() for name in possible):
        raise _needs_search(names)


def _needs_search(asked: Collection[str]) -> OptionError:
    """Say which search, or that a method, is to be named for what the default search does not take."""
    names = sorted(set(asked) - SEARCHES[DEFAULT_SEARCH].options.keys())
    called, verb = " and ".join(map(_called, names)), "is" if len(names) == 1 else "are"
    if OF_METHODS.intersection(names):
        return OptionError(f"{called} {verb} for methods: name one with --method, or leave it out")
    takers = [name for name, search in SEARCHES.items() if set(asked) <= _taken_by(search)]
    if not takers:
        every = " and ".join(map(_called, sorted(asked)))
        return OptionError(f"no search uses {every} together: leave out one of them")
    return OptionError(f"{called} {verb} for --search {' or '.join(takers)}: name it as well, or leave that out")


def _taken_by(search: Search) -> set[str]:
    return {*search.options, *({"test", "test_options"} if search.by == "test" else {"score", "score_options"})}


def _given(options: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in options.items() if value is not None}


def _refuse_options_of_object(what: str, options: Mapping[str, Any] | None, preset: str | None) -> None:
    """Refuse settings for an object that was made with its own."""
    for name, given in ((f"{what}_options", options), ("preset", preset)):
        if given:
            raise OptionError(f"{name} cannot be given with a {what} that is made already: give it when making one")


def _refuse(asked: Mapping[str, Any], taken: Collection[str], by: str) -> None:
    """Refuse what was asked for and would be ignored."""
    for name in asked:
        if name not in taken:
            raise OptionError(f"{by} does not use {_called(name)}: leave out one of the two")


def _called(name: str) -> str:
    """Return an argument with what the command line calls it."""
    return f"{name} ({OPTION_NAMES.get(name) or '--' + name.replace('_', '-')})"


def _chosen(preset: str | None, score: dict[str, Any], search: dict[str, Any], table: Extent | None = None) -> Preset:
    """Merge what a preset fixes with what was asked for; refuse a contradiction about what is scored.

    Without a table, what the preset means for any table will do.
    """
    if preset is None:
        return Preset(score, search)
    fixed = PRESETS[preset]
    meant = fixed.score if table is None else fixed.score_for(table)
    every = fixed.every_score() if table is None else [meant]
    for asked, possible in ((score, every), (search, [fixed.search])):
        for name in set(asked) & set(possible[0]) - HOW_NOT_WHAT:
            if asked[name] not in [one[name] for one in possible]:
                of_table = "" if table is None or len(fixed.every_score()) == 1 else f" for {table}"
                raise OptionError(
                    f"preset {preset} means {name}={possible[0][name]}{of_table}, not {asked[name]}: "
                    f"leave out the preset or {name}"
                )
    return Preset({**meant, **score}, {**fixed.search, **search})
