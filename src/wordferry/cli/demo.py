"""``wordferry demo``: the main jobs on the data in the package."""

from __future__ import annotations

from wordferry.cli.options import command, option
from wordferry.cli.output import Output, progress_bar


@command(
    option("--json as_json", "JSON lines instead of text; 'step' says what a line is about.", is_flag=True),
    examples=["wordferry demo", "wordferry demo --json | jq -c 'select(.step == \"retrieval\")'"],
)
def demo(as_json: bool) -> None:
    """Find, compare, explain and judge on the sample collection.

    It needs no network: the articles, queries and vectors are in the package.
    """
    from wordferry.demo import run
    from wordferry.demo.page import show

    result = run(progress_bar)
    if as_json:
        Output(True, None).write(result.to_rows())
    else:
        show(result)
