"""How the stories of a client are told: each is a function, run in order, named when it has passed."""

import os

STORE = os.environ["FOREBAY_STORE"]
"""The address of a store that anybody may use, as HOST:PORT."""

GUARDED = os.environ["FOREBAY_GUARDED_STORE"]
"""The address of a store that wants USER and TOKEN."""

USER = os.environ["FOREBAY_USER"]
TOKEN = os.environ["FOREBAY_TOKEN"]


def address(text):
    """HOST:PORT as a pair."""
    host, _, port = text.rpartition(":")
    return host, int(port)


def tell(client, stories):
    """Runs the stories; a failed assertion ends the program with its trace."""
    for story in stories:
        story()
        print(f"{client}: {story.__doc__}")
