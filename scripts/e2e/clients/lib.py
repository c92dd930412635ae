"""What the client programs share.

A program runs the scenario that its argument names, and ends with 0, or with 1 and a line "FAIL: reason".
"""

import os
import sys
import traceback

URL = os.environ["WEIR_URL"]
MODEL = os.environ["WEIR_MODEL"]

PARAMETERS = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
SAID = 'naïve 堰 😀 "quoted" \\back </tool> {"a":1}'
BOTH_CALLS = 'call get_weather {"city":"Paris","days":2}\ncall get_weather {"city":"Łódź"}'
BOTH_INPUTS = [{"city": "Paris", "days": 2}, {"city": "Łódź"}]


def weather(city, days=1):
    """The tool that the scenarios offer. It says what it was called with."""
    return f"18 degrees in {city}, {days} days"


def equal(got, want, what="value"):
    if got != want:
        raise AssertionError(f"{what}: got {got!r}, want {want!r}")


def main(scenarios):
    try:
        print(scenarios[sys.argv[1]]() or "ok")
    except Exception as err:  # whatever it is, it is the reason
        traceback.print_exc()
        print("FAIL: " + type(err).__name__ + ": " + " ".join(str(err).split())[:600], file=sys.stderr)
        sys.exit(1)
