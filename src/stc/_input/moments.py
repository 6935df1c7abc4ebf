"""Texts of dates, durations and times of day: the same in every unit, exact to the last digit."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

# Attoseconds, the finest unit of NumPy, in each unit of fixed length.
_ATTOSECONDS = {
    **{unit: 1000**power for power, unit in enumerate(("as", "fs", "ps", "ns", "us", "ms", "s"))},
    **{unit: seconds * 10**18 for unit, seconds in (("m", 60), ("h", 3600), ("D", 86400))},
    "W": 7 * 86400 * 10**18,
}
_MONTHS = {"Y": "months", "M": "months"}
_DAY = _ATTOSECONDS["D"]


def date_text(moment: datetime.datetime | np.datetime64, *, in_utc: bool = False) -> str:
    """Return the text of a moment: a day alone at midnight, else day and time; with a zone, in UTC.

    Parameters
    ----------
    moment
        A moment; pandas' type is one of Python's.
    in_utc
        Whether a moment without a zone is of UTC.
    """
    if isinstance(moment, datetime.datetime):
        if moment.utcoffset() is not None:
            moment = moment.astimezone(datetime.UTC)
            in_utc = False
        text = moment.isoformat(sep=" ")
    else:
        day, _, clock = np.datetime_as_string(moment, unit="as").partition("T")
        seconds, _, digits = clock.partition(".")
        text = f"{day} {seconds}{_fraction(digits)}"
    return f"{text}+00:00" if in_utc else text.removesuffix(" 00:00:00")


def duration_text(duration: datetime.timedelta | np.timedelta64) -> str:
    """Return the text of a duration as Python writes it; months have no fixed length."""
    pandas: Any = getattr(duration, "to_timedelta64", None)
    if pandas is not None:  # with nanoseconds, which Python's type lacks
        duration = pandas()
    if isinstance(duration, datetime.timedelta):
        return datetime.timedelta.__str__(duration)
    unit, count = np.datetime_data(duration.dtype)
    number = int(duration.astype(np.int64)) * count
    if unit not in _ATTOSECONDS:
        return f"{number * 12 if unit == 'Y' else number} {_MONTHS.get(unit, 'units of time')}"
    days, rest = divmod(number * _ATTOSECONDS[unit], _DAY)
    minutes, seconds = divmod(rest, _ATTOSECONDS["m"])
    clock = f"{minutes // 60}:{minutes % 60:02}:{_seconds(seconds, 18)}"
    return f"{days} day{'' if abs(days) == 1 else 's'}, {clock}" if days else clock


def time_text(nanoseconds: int) -> str:
    """Return the text of a time of day, in nanoseconds since midnight."""
    minutes, seconds = divmod(nanoseconds, 60 * 10**9)
    return f"{minutes // 60:02}:{minutes % 60:02}:{_seconds(seconds, 9)}"


def _seconds(units: int, digits: int) -> str:
    """Return the text of seconds in units of so many decimal digits."""
    whole, rest = divmod(units, 10**digits)
    return f"{whole:02}{_fraction(f'{rest:0{digits}}')}"


def _fraction(digits: str) -> str:
    """Return a fraction of a second with 0, 6, 9, ... digits, as Python and pandas write it."""
    significant = digits.rstrip("0")
    width = max(6, -(-len(significant) // 3) * 3)
    return "." + significant.ljust(width, "0") if significant else ""
