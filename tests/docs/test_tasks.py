"""Three tasks, done from their pages alone, on files that the pages have not seen."""

from __future__ import annotations

import csv
import json
import os
import re
import subprocess
from pathlib import Path

import pytest

from tests.docs.blocks import ROOT, _shim, blocks

pytestmark = pytest.mark.slow

TICKETS = """\
id,subject,body,product,status
X-1,Heating is cold,The radiator in my flat does not get warm since October,flat,solved
X-2,Noise at night,The neighbours play loud music after midnight,house,open
X-3,Lift out of order,The elevator stops between two floors,house,solved
X-4,Water on the floor,A pipe under the kitchen sink is leaking,flat,open
X-5,Key lost,I need a second key for the front door,house,solved
X-6,Rent,Why was my rent increased in January,money,open
X-7,Radiator stays cold,No heating in the bedroom of my flat,flat,open
"""
OURS = """\
The tenant shall pay the rent on the first day of every month.
Pets may be kept only with the consent of the landlord.
The landlord repairs heating, windows and doors at his own cost.
"""
THEIRS = """\
Repairs of windows, doors and heating are paid by the owner.
Monthly rent is due on the first of the month and paid by the tenant.
"""
SORTED = {
    "music": ["The orchestra plays a symphony", "A new song by the singer", "The concert of the band"],
    "sport": ["The team won the football match", "A runner broke the record", "The coach trains the players"],
    "money": ["The bank lends money to firms", "Shares fell at the exchange", "Inflation and interest rates"],
    "weather": ["Heavy rain and wind tomorrow", "The sun shines all day", "Snow falls in the mountains"],
    "health": ["The doctor treats the patient", "A vaccine against the disease", "Nurses work in the hospital"],
    "school": ["Pupils learn to read", "The teacher gives homework", "Students pass the exam"],
    "space": ["A rocket carries the satellite", "The telescope shows a planet", "Astronauts orbit the earth"],
    "cooking": ["Fry the onions in butter", "Bake the cake in the oven", "A recipe for soup with beans"],
    "cars": ["The engine of the truck", "Drivers wait in the traffic jam", "A garage repairs the vehicle"],
    "animals": ["The dog chases the cat", "Birds build a nest", "The farmer feeds the horses"],
}
NEW = {
    "The pianist gave a concert with the orchestra": "music",
    "The striker scored and the team won the match": "sport",
    "Wind and rain with snow in the mountains": "weather",
    "The surgeon and the nurses treat the patient": "health",
    "A spacecraft carries astronauts to orbit": "space",
    "Boil the beans and fry the onions": "cooking",
}


def commands(page: str) -> list[str]:
    """The lines of a page that a reader types, those that are broken over lines joined."""
    text = (ROOT / "docs/howto" / page).read_text(encoding="utf-8")
    typed = "".join(block.text for block in blocks(text) if block.language == "console")
    return re.findall(r"^\$ (.+)$", typed.replace("\\\n> ", ""), re.MULTILINE)


def run(folder: Path, command: str) -> str:
    environment = dict(os.environ, PATH=f"{_shim(folder)}:{os.environ['PATH']}", COLUMNS="120", NO_COLOR="1")
    typed = ["bash", "-c", f"set -o pipefail; {command}"]
    done = subprocess.run(typed, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


@pytest.mark.parametrize("page", ["tickets.md", "contracts.md", "mails.md"])
def test_a_task_takes_fewer_than_ten_commands(page: str) -> None:
    typed = commands(page)
    assert 3 <= len(typed) < 10
    assert f"]({page})" in (ROOT / "docs/howto/index.md").read_text(encoding="utf-8")


def test_similar_tickets_in_a_csv(tmp_path: Path) -> None:
    (tmp_path / "tickets.csv").write_text(TICKETS, encoding="utf-8")
    (tmp_path / "new.txt").write_text("a pipe in the bathroom is leaking\nloud music at night\n", encoding="utf-8")
    create, ask, solved, like, many, shown = commands("tickets.md")
    run(tmp_path, create)
    assert "X-7" in run(tmp_path, re.sub('"[^"]+"', '"no heating in the flat"', ask)).splitlines()[1]
    assert json.loads(run(tmp_path, re.sub('"[^"]+"', '"my heating is cold"', solved)))["id"] == "X-1"
    why = run(tmp_path, like.replace("T-110", "X-7"))
    assert "X-1" in why.splitlines()[1]
    assert re.search(r"^heating +heating .* (same|both)$", why, re.MULTILINE)
    run(tmp_path, many)
    assert run(tmp_path, shown.replace("T-", "X-")) == "1,1,X-4\n2,1,X-2\n"


def test_why_two_contracts_match(tmp_path: Path) -> None:
    (tmp_path / "ours.txt").write_text(OURS, encoding="utf-8")
    (tmp_path / "theirs.txt").write_text(THEIRS, encoding="utf-8")
    whole, create, match, shown, _, why, page = commands("contracts.md")
    assert 0 < json.loads(run(tmp_path, whole))["value"] < 1
    run(tmp_path, create)
    run(tmp_path, match)
    assert run(tmp_path, shown) == "query,id\n1,doc-3\n2,doc-1\n"
    texts = iter([OURS.splitlines()[2], THEIRS.splitlines()[0]])
    assert "landlord" in run(tmp_path, re.sub('"[^"]+"', lambda _: f'"{next(texts)}"', why))
    run(tmp_path, page)
    assert "tenant" in (tmp_path / "why.html").read_text(encoding="utf-8")


def test_mails_with_ten_labels(tmp_path: Path) -> None:
    with open(tmp_path / "labelled.csv", "w", newline="", encoding="utf-8") as file:
        rows = [(text, label) for label, texts in SORTED.items() for text in texts]
        csv.writer(file).writerows([("text", "label"), *rows])
    with open(tmp_path / "mails.csv", "w", newline="", encoding="utf-8") as file:
        csv.writer(file).writerows([("text",), *((text,) for text in NEW)])
    classify, keep, shown, check = commands("mails.md")
    found = [row["predicted"] for row in csv.DictReader(run(tmp_path, classify).splitlines())]
    assert found == list(NEW.values())
    run(tmp_path, keep)
    assert run(tmp_path, shown).splitlines()[1] == "1,music,"
    assert "30" in run(tmp_path, check)
