"""Reports to look into."""

import json
import re

from stc.report import Report

REVIEWS = ["good fun", "bad, bad", "a good bore", "fun film"]
STARS = ["+", "-", "-", "+"]


def data_of(page: Report) -> dict:
    found = re.search(r'<script type="application/json" id="data">(.*?)</script>', page.html, re.S)
    return json.loads(found[1])


def name_of(data: dict, reference: int) -> str:
    name = data["names"][reference]
    return name if isinstance(name, str) else f"{data['names'][name[0]]}={name[1]}"
