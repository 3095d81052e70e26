"""The way back: taking out the overrides behind a crash, so that the base's values return."""

from __future__ import annotations

from lclint.config.run import Run
from lclint.core.finding import Fix
from lclint.engine.evaluate import Hit
from lclint.engine.operations import show
from lclint.fixes.trial import GRAVE, Trial

MOST_FIELDS = 12


def take_back(run: Run, hit: Hit, trial: Trial) -> Fix | None:
    """A fix that takes out one of the overrides behind the hit, else all of them; None when neither helps.

    Only where a base says what holds then, and only for what would stop the run: anything else the user meant.
    """
    if run.base is None or hit.case.impact not in GRAVE:
        return None
    places = [] if hit.finding is None else [hit.finding.place.at, *(place.at for place in hit.finding.related)]
    fields = [field for field in dict.fromkeys([*places, *sorted(hit.rule.fields)]) if run.origins.get(field) in ("file", "set") and field in run.base]
    if not fields or len(fields) > MOST_FIELDS:
        return None
    # one override may need another, which the rule does not read (FSDP its checkpoint format)
    others = [field for field, origin in run.origins.items() if origin in ("file", "set") and field in run.base and field not in fields]
    for chosen in [*([field] for field in fields), fields, [*fields, *others][:MOST_FIELDS]]:
        fix = _fix(run, chosen)
        if trial.solves(hit, fix):
            break
    else:
        return None
    # of several, those that need not go stay
    for field in reversed(list(fix.remove)):
        fewer = _fix(run, [other for other in fix.remove if other != field])
        if fewer.remove and trial.solves(hit, fewer):
            fix = fewer
    return fix


def _fix(run: Run, fields: list[str]) -> Fix:
    return Fix(name="take-back", title=_title(run, fields), applicability="unsafe", remove=list(fields))


def _title(run: Run, fields: list[str]) -> str:
    values = ", ".join(f"{field} {show(run.base[field])}" for field in fields if run.base is not None)
    return f"Take the override back: the {run.base_origin} has {values}"
